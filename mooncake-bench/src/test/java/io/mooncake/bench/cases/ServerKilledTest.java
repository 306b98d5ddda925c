package io.mooncake.bench.cases;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.NodeSettings;
import io.mooncake.bench.cli.Served;
import io.mooncake.bench.cli.TransferServer;
import io.mooncake.core.BlockStore;
import io.mooncake.core.Destination;
import io.mooncake.core.IdleMode;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The serving process is killed in mid-pull: every outstanding transfer ends within its deadline with the cause, and no destination is
 * ever readable with bytes that did not all arrive.
 */
class ServerKilledTest {
    private static final long BLOCK = 64L << 20;
    private static final int BLOCKS = 4;
    private static final Duration DEADLINE = Duration.ofSeconds(20);

    @Test
    void shouldEndEveryTransferWithTheCauseWhenTheServerIsKilledInMidPull() {
        killInMidPull();
    }

    @Tag("full")
    @RepeatedTest(20)
    void shouldEndEveryTransferWithTheCauseEveryTime() {
        killInMidPull();
    }

    private static void killInMidPull() {
        try (Served server = Served.start(BLOCKS * BLOCK, BLOCK,
                new NodeSettings(ThreadingMode.SHARED, IdleMode.PARK, Map.of()));
                Arena arena = Arena.ofShared();
                Node node = Node.start(NodeConfig.builder("client")
                        .registry(server.registry("tcp"))
                        .blockSize(BLOCK)
                        .poolSize((BLOCKS + 1) * BLOCK)
                        .spareSlots(1)
                        .build())) {
            MemorySegment memory = arena.allocate(BLOCKS * BLOCK, 64);
            try (Region region = node.register(Memory.of(memory), Access.LOCAL_ONLY)) {
                List<Transfer> reads = new ArrayList<>();
                List<Transfer> replicas = new ArrayList<>();
                for (int i = 0; i < BLOCKS; i++) {
                    BlockRef ref = server.blocks().get(i);
                    reads.add(submit(node, Piece.of(ref, 0, Piece.WHOLE, Destination.at(region, i * BLOCK))));
                    replicas.add(submit(node, Piece.of(ref, 0, Piece.WHOLE, Destination.replica())));
                }
                assertTrue(soon(() -> (long) ValueLayout.JAVA_LONG.varHandle().getVolatile(memory, 0L) != 0),
                        "no byte of the first read arrived");
                server.process().kill();

                int lost = 0;
                for (int i = 0; i < BLOCKS; i++) {
                    if (endedWell(reads.get(i))) {
                        assertBytes(memory.asSlice(i * BLOCK, BLOCK), i * BLOCK);
                    } else {
                        lost++;
                    }
                    lost += assertReplica(node.store(), server.blocks().get(i), i * BLOCK, endedWell(replicas.get(i)));
                }
                assertTrue(lost > 0, "the server was killed too late: every transfer was over");
                assertTrue(soon(() -> node.usage().used() == 0 && node.usage().quarantined() == 0),
                        () -> "slots are still out: " + node.usage());
            }
        }
    }

    private static Transfer submit(Node node, Piece piece) {
        return node.store().prepare(List.of(piece), TransferOptions.DEFAULT.withTimeout(DEADLINE)).submit();
    }

    private static boolean endedWell(Transfer transfer) {
        assertTrue(transfer.await(DEADLINE.plusSeconds(1)), () -> transfer + " is over its deadline");
        if (transfer.state() == Transfer.State.COMPLETED) {
            assertEquals(Outcome.OK, transfer.outcome(0));
            return true;
        }
        assertEquals(Transfer.State.FAILED, transfer.state());
        assertEquals(Outcome.UNREACHABLE, transfer.outcome(0));
        assertNotNull(transfer.cause(0), "an unreachable piece says why");
        return false;
    }

    /** Looks at a replica and evicts it; 1 when it is none. */
    private static int assertReplica(BlockStore store, BlockRef ref, long position, boolean arrived) {
        try (BlockView view = store.newView()) {
            assertEquals(arrived, store.acquire(ref.id(), view), "readable exactly when it arrived");
            if (!arrived) {
                return 1;
            }
            assertBytes(view.segment(), position);
        }
        assertEquals(1, store.evict(List.of(ref.id())));
        try (BlockView view = store.newView()) {
            assertFalse(store.acquire(ref.id(), view));
        }
        return 0;
    }

    private static void assertBytes(MemorySegment bytes, long position) {
        for (long at = 0; at < bytes.byteSize(); at += Long.BYTES) {
            if (bytes.get(ValueLayout.JAVA_LONG_UNALIGNED, at) != TransferServer.word(position + at)) {
                throw new AssertionError("a read that was OK has wrong bytes at " + (position + at) + " of the region");
            }
        }
    }

    private static boolean soon(BooleanSupplier condition) {
        long deadline = System.nanoTime() + DEADLINE.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline >= 0) {
                return false;
            }
            Thread.onSpinWait();
        }
        return true;
    }
}
