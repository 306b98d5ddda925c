package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.TransferEngine;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Two ways as long to one node, and the one that is preferred gets slow: on a clock of the test's. */
class SlowWayTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1000 * MS;
    private static final long USUAL_NS = MS / 10;

    private final TestNodes nodes = new TestNodes();
    private final List<ManualEngine> ways = new ArrayList<>();
    private long clockNs = 1;
    private long firstTakesNs = USUAL_NS;

    private final Node owner = nodes.start("owner", builder -> builder.threading(ThreadingMode.INVOKER));
    private final BlockRef ref = TestNodes.write(owner, BlockId.of("x"), TestNodes.BLOCK, 1);
    private final Node reader = nodes.start("reader", builder -> builder.threading(ThreadingMode.INVOKER)
            .nanoClock(() -> clockNs)
            .engines(this::engines));
    private final Region region = nodes.region(reader, TestNodes.BLOCK);

    private List<TransferEngine> engines(EngineContext context) {
        ways.add(new ManualEngine(context, "first"));
        ways.add(new ManualEngine(context, "second"));
        return List.copyOf(ways);
    }

    @AfterEach
    void close() {
        region.close();
        nodes.close();
    }

    /** Reads the block, and says by which way. */
    private String read() {
        Transfer transfer = TestNodes.prepare(reader, Piece.of(ref, 0, Piece.WHOLE, Destination.at(region, 0)));
        transfer.submit();
        ManualEngine way = ways.stream().filter(engine -> !engine.reads.isEmpty()).findFirst().orElseThrow();
        clockNs += way == ways.getFirst() ? firstTakesNs : USUAL_NS;
        way.arrive(1);
        while (!transfer.isDone()) {
            reader.doWork();
        }
        assertEquals(Transfer.State.COMPLETED, transfer.state());
        clockNs += 100 * MS;
        return way.name();
    }

    @Test
    void aWayThatGotSlowIsLeftAndUsedAgainWhenItIsFast() {
        List<String> before = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            before.add(read());
        }
        assertTrue(before.lastIndexOf("second") < 4, () -> "of two that are as good the first: " + before);

        firstTakesNs = 20 * MS;
        List<String> after = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            after.add(read());
        }
        assertTrue(after.lastIndexOf("first") < 4, after::toString);

        int looks = 0;
        for (long untilNs = clockNs + 40 * SECOND; clockNs < untilNs;) {
            looks += read().equals("first") ? 1 : 0;
        }
        assertTrue(looks >= 3 && looks <= 5, looks + " reads in 40 s by the slow way");
        assertTrue(reader.store().explain(ref.id()).contains("second ("), reader.store().explain(ref.id()));

        firstTakesNs = USUAL_NS;
        long repairedNs = clockNs;
        // Once may be a look; twice is use.
        for (int used = 0; used < 2; used = read().equals("first") ? used + 1 : 0) {
            assertTrue(clockNs - repairedNs < 30 * SECOND, "not used again");
        }
    }
}
