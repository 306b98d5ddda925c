package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Case C113: a node is closed while threads write, read, look and wait in a callback. Closing returns within its limit, users get
 * CLOSED and nothing else, and the memory is there as long as anybody has it.
 */
class CloseWhileUsedTest {
    private static final long BLOCK = 64 << 10;
    private static final int BLOCKS = 24;
    private static final int USERS = 8;
    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final Set<Outcome> POSSIBLE = EnumSet.of(Outcome.OK, Outcome.ABSENT, Outcome.STALE, Outcome.CANCELED,
            Outcome.UNREACHABLE);
    /** What a busy store answers; anything else than these and CLOSED is a fault. */
    private static final Set<Kind> BUSY = EnumSet.of(Kind.IN_USE, Kind.OUT_OF_MEMORY, Kind.STALE_VERSION);

    @Test
    void C113_usersGetClosedWhenTheNodeIsClosedUnderThem() throws Exception {
        rounds(10);
    }

    @Test
    @Tag("full")
    void C113_usersGetClosedInEveryRound() throws Exception {
        rounds(200);
    }

    private static void rounds(int rounds) throws InterruptedException {
        for (int round = 0; round < rounds; round++) {
            round(round);
        }
    }

    private static void round(int round) throws InterruptedException {
        LocalRegistry registry = new LocalRegistry();
        AtomicReference<@Nullable Throwable> fault = new AtomicReference<>();
        CountDownLatch inCallback = new CountDownLatch(1);
        CountDownLatch closed = new CountDownLatch(1);
        AtomicInteger worked = new AtomicInteger();
        try (Arena arena = Arena.ofShared(); Node other = start("other", registry)) {
            TestNodes.write(other, BlockId.of("far"), BLOCK, 5);
            Node node = start("node", registry);
            Region region = node.register(Memory.of(arena.allocate(USERS * BLOCK, 64)), Access.LOCAL_ONLY);
            node.store()
                    .prepare(List.of(Piece.of(BlockId.of("far"), 0, Piece.WHOLE, Destination.at(region, 0))),
                            TransferOptions.DEFAULT.withCallback(transfer -> {
                                inCallback.countDown();
                                awaitQuietly(closed);
                            }))
                    .submit();
            assertTrue(inCallback.await(LIMIT.toSeconds(), TimeUnit.SECONDS), "no callback in round " + round);
            List<Thread> users = new ArrayList<>();
            for (int i = 0; i < USERS; i++) {
                int user = i;
                users.add(Thread.ofPlatform().start(() -> use(node, region, user, worked, fault)));
            }
            int enough = USERS * (1 + round % 5);
            while (worked.get() < enough && fault.get() == null) {
                Thread.onSpinWait();
            }
            BlockView view = node.store().newView();
            long start = System.nanoTime();
            node.close();
            long tookMs = (System.nanoTime() - start) / 1_000_000;
            closed.countDown();
            region.close();
            for (Thread user : users) {
                user.join(LIMIT.toMillis());
                assertTrue(!user.isAlive(), () -> "a user still waits: " + List.of(user.getStackTrace()));
            }
            assertEquals(null, fault.get(), () -> "round " + round + ": " + fault.get());
            assertTrue(tookMs < LIMIT.toMillis(), "close took " + tookMs + " ms");
            assertEquals(Kind.CLOSED, assertThrows(MooncakeException.class, () -> node.store().newView()).kind());
            assertEquals(Kind.CLOSED,
                    assertThrows(MooncakeException.class, () -> node.store().acquire(BlockId.of("far"), view)).kind());
        }
    }

    private static Node start(String name, LocalRegistry registry) {
        return Node.start(NodeConfig.builder(name)
                .registry(registry)
                .blockSize(BLOCK)
                .poolSize(BLOCKS * BLOCK)
                .allocateTimeout(Duration.ofMillis(200))
                .closeTimeout(LIMIT)
                .build());
    }

    /** Works until it is told CLOSED, which may be at once. */
    private static void use(Node node, Region region, int user, AtomicInteger worked,
            AtomicReference<@Nullable Throwable> fault) {
        BlockStore store = node.store();
        try (BlockView view = store.newView()) {
            Transfer pull = store.prepare(
                    List.of(Piece.of(BlockId.of("far"), 0, Piece.WHOLE, Destination.at(region, user * BLOCK))),
                    TransferOptions.DEFAULT);
            for (int i = 0;; i++) {
                try {
                    step(store, view, pull, BlockId.of("block-" + (user + i) % (2 * BLOCKS)), (user + i) % 4);
                    worked.incrementAndGet();
                } catch (MooncakeException e) {
                    if (!BUSY.contains(e.kind())) {
                        throw e;
                    }
                }
            }
        } catch (Throwable e) {
            if (!(e instanceof MooncakeException mooncake && mooncake.kind() == Kind.CLOSED)) {
                fault.compareAndSet(null, e);
            }
        }
    }

    private static void step(BlockStore store, BlockView view, Transfer pull, BlockId id, int what) {
        switch (what) {
            case 0 -> {
                try (BlockWriter writer = store.allocate(id, BLOCK)) {
                    writer.segment().fill((byte) id.hashCode());
                    writer.commit();
                }
            }
            case 1 -> {
                if (store.acquire(id, view)) {
                    assertFilled(view.segment(), (byte) id.hashCode());
                    view.close();
                }
            }
            case 2 -> {
                pull.submit().join();
                assertTrue(POSSIBLE.contains(pull.outcome(0)),
                        () -> "outcome " + pull.outcome(0) + ", cause " + pull.cause(0));
            }
            default -> {
                try (PrefixMatch match = store.match(List.of(id, BlockId.of("far")), LIMIT)) {
                    assertEquals(2, match.size());
                }
            }
        }
    }

    private static void assertFilled(MemorySegment bytes, byte with) {
        for (long at = 0; at < bytes.byteSize(); at++) {
            if (bytes.get(ValueLayout.JAVA_BYTE, at) != with) {
                throw new AssertionError("a pinned block changed at " + at);
            }
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            // The node is closing and wants its thread back.
            Thread.currentThread().interrupt();
        }
    }
}
