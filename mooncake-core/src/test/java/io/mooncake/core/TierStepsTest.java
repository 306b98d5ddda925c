package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Tier;
import io.mooncake.core.sim.HostTier;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Transfer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A block on its way between three tiers of a node that one thread runs, and one thing that happens to it, after each of its duty cycles in turn: the
 * transfer ends, the block is whole wherever it is, and no slot is lost.
 */
@Timeout(120)
final class TierStepsTest {
    private static final long BLOCK = 1 << 20;
    private static final BlockId ID = BlockId.of("block");
    private static final int CYCLES = 24;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path directory;

    private enum Way {
        UP, DOWN
    }

    private enum What {
        CANCEL, EVICT, REPLACE, SINK, CLOSE
    }

    private static void write(Node node, int fill, Placement placement) {
        try (BlockWriter writer = node.store().allocate(ID, BLOCK, placement)) {
            writer.segment().fill((byte) fill);
            writer.commit();
        }
    }

    private static void settle(Node node) {
        for (int i = 0; i < 200; i++) {
            node.doWork();
        }
    }

    private static void happen(Node node, What what, Transfer transfer) {
        switch (what) {
            case CANCEL -> transfer.cancel();
            case EVICT -> node.store().evict(List.of(ID));
            case REPLACE -> write(node, 2, Placement.DRAM);
            case SINK -> node.mover().demote(List.of(ID), Tier.DRAM, TransferOptions.DEFAULT);
            case CLOSE -> node.close();
        }
    }

    private void run(Way way, What what, int at) {
        String told = way + " " + what + " after " + at + " cycles";
        AtomicLong nowNs = new AtomicLong();
        try (TestNodes nodes = new TestNodes()) {
            Path own = Files.createDirectories(directory.resolve(way + "-" + what + "-" + at));
            Node node = nodes.start("a", builder -> builder.threading(ThreadingMode.INVOKER)
                    .nanoClock(() -> nowNs.addAndGet(1_000))
                    .closeTimeout(Duration.ofMillis(200))
                    .sharedMemory(NodeConfig.SHARED_MEMORY_OFF)
                    .blockSize(BLOCK)
                    .poolSize(4 * BLOCK)
                    .vram(() -> HostTier.of(Tier.VRAM, 4, BLOCK))
                    .fileTier(own, 4 * BLOCK));
            write(node, 1, Placement.VRAM);
            if (way == Way.UP) {
                node.mover().demote(List.of(ID), TransferOptions.DEFAULT).join();
                settle(node);
            }
            Transfer transfer = way == Way.UP
                    ? node.mover().promote(List.of(ID), Tier.VRAM, TransferOptions.DEFAULT)
                    : node.mover().demote(List.of(ID), TransferOptions.DEFAULT);
            for (int i = 0; i < at; i++) {
                node.doWork();
            }
            happen(node, what, transfer);
            if (what != What.CLOSE) {
                settle(node);
                assertTrue(transfer.isReleased(), told);
                boolean canceled = way == Way.DOWN && transfer.outcome(0) == Outcome.CANCELED;
                assertTrue(!canceled || tiers(node).contains(Tier.VRAM), () -> told + " " + tiers(node));
                check(node, what, told);
            }
            assertTrue(transfer.isDone(), told);
            Outcome outcome = transfer.outcome(0);
            assertTrue(outcome == Outcome.OK || what != What.SINK, () -> told + " " + outcome);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<Tier> tiers(Node node) {
        return node.parts().blocks().copies(ID).stream().map(ref -> ref.tier()).toList();
    }

    private static void check(Node node, What what, String told) {
        List<Tier> tiers = tiers(node);
        assertEquals(what == What.EVICT, tiers.isEmpty(), told + " " + tiers);
        for (Tier tier : Tier.values()) {
            assertEquals(tiers.contains(tier) ? 1 : 0, node.usage(tier).used(), told + " " + tier);
            assertEquals(0, node.usage(tier).quarantined(), told + " " + tier);
        }
        if (what != What.EVICT) {
            node.mover().promote(List.of(ID), Tier.DRAM, TransferOptions.DEFAULT).join();
            try (BlockView view = node.store().newView()) {
                assertTrue(node.store().acquire(ID, view), told);
                assertTrue(TestNodes.isAll(view.segment(), 0, BLOCK, what == What.REPLACE ? 2 : 1), told);
            }
        }
        node.store().evict(List.of(ID));
        settle(node);
        for (Tier tier : Tier.values()) {
            assertEquals(0, node.usage(tier).used(), told + " " + tier);
        }
    }

    @Test
    void aBlockIsWholeAndNoSlotIsLostWhateverHappensOnItsWay() {
        for (Way way : Way.values()) {
            for (What what : What.values()) {
                for (int at = 0; at < CYCLES; at++) {
                    run(way, what, at);
                }
            }
        }
    }
}
