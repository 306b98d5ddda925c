package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Topic;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A node that leaves in order hands its blocks over. */
class LeaveTest {
    private static final int BLOCKS = 12;

    @Test
    void whatNobodyElseHasIsTakenByTheOthers() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            Node c = nodes.start("c");
            for (int i = 0; i < BLOCKS; i++) {
                TestNodes.write(a, BlockId.of("k" + i), BLOCK, i);
            }
            assertEquals(Outcome.OK, b.store().read(Piece.replica(BlockId.of("k0"))));
            TestNodes.announced(b);

            assertEquals(0, a.leave(TestNodes.LONG));

            assertEquals(List.of(b.id(), c.id()),
                    b.nodes().stream().sorted((x, y) -> x.name().compareTo(y.name())).toList());
            Region region = nodes.region(c, BLOCK);
            for (int i = 0; i < BLOCKS; i++) {
                BlockId id = BlockId.of("k" + i);
                assertEquals(1, c.store().locations(id).size(),
                        "one copy more of each, and none of what was there twice");
                assertEquals(Outcome.OK, c.store().read(id, 0, Piece.WHOLE, region, 0));
                assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, BLOCK, i));
            }
            assertTrue(
                    b.counters().get(Counter.BLOCKS_REPLICATED) > 2 && c.counters().get(Counter.BLOCKS_REPLICATED) > 2,
                    "each takes its share");
            assertThrows(MooncakeException.class, () -> a.store().allocate(BlockId.of("late"), BLOCK));
        }
    }

    @Test
    void aLeavingNodeTakesNothingAndNobodyToAskIsNoReasonToWait() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            TestNodes.write(a, BlockId.of("k"), BLOCK, 1);
            assertEquals(1, a.leave(Duration.ofDays(1)));

            Node b = nodes.start("b", builder -> builder.threading(ThreadingMode.INVOKER));
            Node c = nodes.start("c", builder -> builder.threading(ThreadingMode.INVOKER));
            TestNodes.write(b, BlockId.of("k"), BLOCK, 1);
            // Nobody runs c.
            assertEquals(1, b.leave(Duration.ofMillis(50)));
            assertEquals(List.of(), c.store().locations(BlockId.of("k")));
        }
    }

    @Test
    void whatIsNoOfferIsDropped() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            BlockRef ofB = TestNodes.write(b, BlockId.of("k"), BLOCK, 1);
            assertTrue(a.parts().control().send(b.id(), Topic.BLOCKS, ByteBuffer.wrap(new byte[200])));
            assertTrue(TestWaits.until(() -> b.counters().get(Counter.MESSAGES_DROPPED) == 1));
            // Somebody else's block is not a's to offer.
            Node c = nodes.start("c");
            assertTrue(a.parts().control().send(c.id(), Topic.BLOCKS, ByteBuffer.wrap(ofB.toBytes())));
            BlockRef ofA = TestNodes.write(a, BlockId.of("l"), BLOCK, 1);
            assertTrue(a.parts().control().send(c.id(), Topic.BLOCKS, ByteBuffer.wrap(ofA.toBytes())));
            assertTrue(TestWaits.until(() -> c.counters().get(Counter.BLOCKS_REPLICATED) == 1));
            assertEquals(1, b.store().locations(BlockId.of("k")).size());
        }
    }
}
