package io.mooncake.bench.cli;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.Piece;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Reads the blocks of one other process in random order, each time exactly the version that is known, and looks at every byte. One thread.
 *
 * <p>A content begins with the number of its writing, which its writer counts up: so of two versions of a block by one life the higher one has
 * the higher number, and one version has always the same.
 */
final class PeerReader implements Runnable {
    private static final Duration DEADLINE = Duration.ofSeconds(2);
    private static final Duration LATE = Duration.ofSeconds(3);
    private static final long LOOK_AGAIN_NS = 500_000;

    private final ClusterPeer process;
    private final Node node;
    private final int peer;
    private final Random random;
    private final Seen[] seen = new Seen[ClusterPeer.BLOCKS];
    private volatile long pauseNs = 5_000_000;
    private boolean up;

    /** The highest version of a block that was read, and what it was made of. */
    private record Seen(long writer, long counter, long writing) {}

    PeerReader(ClusterPeer process, Node node, int peer) {
        this.process = process;
        this.node = node;
        this.peer = peer;
        random = new Random(peer);
    }

    int peer() {
        return peer;
    }

    /** Any thread. */
    void pause(long ns) {
        pauseNs = ns;
    }

    @Override
    public void run() {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(ClusterPeer.BLOCK_BYTES, 4096);
            try (Region region = node.register(Memory.of(memory), Access.LOCAL_ONLY)) {
                while (!process.isClosing()) {
                    look(random.nextInt(ClusterPeer.BLOCKS), region, memory);
                    if (pauseNs > 0) {
                        LockSupport.parkNanos(pauseNs);
                    }
                }
            }
        } catch (MooncakeException e) {
            // The node stops, by its input's end or since somebody has its name.
            if (e.kind() != Kind.CLOSED) {
                throw e;
            }
        }
    }

    private void look(int block, Region region, MemorySegment memory) {
        Outcome outcome = read(block, region, memory);
        if (outcome == Outcome.OK) {
            process.read();
        }
        boolean was = up;
        up = outcome == Outcome.OK;
        if (up != was && !process.isClosing()) {
            process.say((up ? "up " : "lost ") + System.nanoTime() + " " + peer + " " + outcome);
        }
    }

    /** Where a version was replaced meanwhile the next one is read, as long as the deadline lasts. */
    private Outcome read(int block, Region region, MemorySegment memory) {
        long startNs = System.nanoTime();
        while (true) {
            BlockRef ref = known(block);
            if (ref == null) {
                return Outcome.ABSENT;
            }
            Outcome outcome = read(ref, region);
            if (outcome == Outcome.OK) {
                verify(block, ref, memory);
            }
            if (outcome != Outcome.STALE || System.nanoTime() - startNs > DEADLINE.toNanos()) {
                return outcome;
            }
            LockSupport.parkNanos(LOOK_AGAIN_NS);
        }
    }

    private @Nullable BlockRef known(int block) {
        List<BlockRef> holders = node.store().locations(ClusterPeer.id(peer, block));
        return holders.isEmpty() ? null : holders.getFirst();
    }

    private Outcome read(BlockRef ref, Region region) {
        Transfer transfer = node.store()
                .prepare(List.of(Piece.of(ref, 0, Piece.WHOLE, Destination.at(region, 0))),
                        TransferOptions.DEFAULT.withTimeout(DEADLINE))
                .submit();
        if (!transfer.await(LATE)) {
            process.say("late " + System.nanoTime() + " " + peer + " " + transfer);
            // The memory is not ours before that.
            transfer.join();
        }
        return transfer.outcome(0);
    }

    private void verify(int block, BlockRef ref, MemorySegment memory) {
        long writing = Content.writing(memory);
        long wrong = Content.firstWrongByte(memory, ClusterPeer.seed(block, ref.node().incarnation()), writing);
        Seen now = new Seen(ref.version().writer(), ref.version().counter(), writing);
        Seen before = seen[block];
        if (wrong >= 0) {
            say("byte " + wrong + " of " + ref + " is " + memory.get(ValueLayout.JAVA_BYTE, wrong));
        } else if (ref.version().writer() != ref.node().incarnation()) {
            say(ref + " was written by another life");
        } else if (before != null && before.writer == now.writer && !agree(before, now)) {
            say(ref + " is made of writing " + writing + ", and " + before + " was read before");
        }
        if (before == null || before.writer != now.writer || before.counter < now.counter) {
            seen[block] = now;
        }
    }

    private static boolean agree(Seen before, Seen now) {
        return Long.signum(now.counter - before.counter) == Long.signum(now.writing - before.writing);
    }

    private void say(String wrong) {
        process.say("wrong " + System.nanoTime() + " " + peer + " " + wrong);
    }
}
