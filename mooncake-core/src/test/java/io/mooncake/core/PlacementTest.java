package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Where new blocks are put. */
@Timeout(120)
final class PlacementTest {
    private final TestNodes nodes = new TestNodes();
    private int put;

    @AfterEach
    void close() {
        nodes.close();
    }

    /** With room for so many blocks and one spare. */
    private Node start(String name, int blocks) {
        return nodes.start(name, builder -> builder.poolSize((blocks + 1) * BLOCK).spareSlots(1));
    }

    /** Each block by what the asking node knows at that moment. */
    private void put(Node asking, Map<NodeId, Node> all, int count) {
        for (int i = 0; i < count; i++) {
            NodeId at = asking.mover().place(BLOCK);
            Node there = Objects.requireNonNull(all.get(at), () -> at + " is not there");
            TestNodes.write(there, BlockId.of("put " + put++), BLOCK, 1);
        }
    }

    @Test
    void C140_shouldFillNodesOfDifferentSizeTogetherAndPutNothingOnOneThatLeft() {
        Node small = start("small", 100);
        Node large = start("large", 400);
        Node asking = large;
        assertTrue(TestWaits.until(() -> asking.parts().sources().costs().members().size() == 2));
        Map<NodeId, Node> both = Map.of(small.id(), small, large.id(), large);
        put(asking, both, 250);
        assertEquals(250, small.usage().used() + large.usage().used());
        assertTrue(Math.abs(small.usage().used() - 50) <= 5, () -> small.usage() + " " + large.usage());
        put(asking, both, 230);
        assertEquals(0, small.counters().get(Counter.EVICTIONS_POLICY) + large.counters().get(Counter.EVICTIONS_POLICY),
                "nothing leaves while there is room");
        small.close();
        put(asking, Map.of(large.id(), large), 50);
        // One that nobody is large enough for.
        assertEquals(Kind.OUT_OF_MEMORY,
                assertThrows(MooncakeException.class, () -> asking.mover().place(1L << 40)).kind());
        for (long bytes : new long[]{0, -1, Long.MIN_VALUE}) {
            assertEquals(Kind.INVALID_ARGUMENT,
                    assertThrows(MooncakeException.class, () -> asking.mover().place(bytes)).kind());
        }
    }
}
