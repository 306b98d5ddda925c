package io.mooncake.core.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.mooncake.core.base.Hop;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.registry.PairFigures;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The table of the choice between holders. */
class CheapestHolderTest {
    private static final NodeId A = new NodeId("a", 1);
    private static final NodeId B = new NodeId("b", 1);

    /** What is known of one holder. */
    private record Known(Hop hop, long ns, boolean due, int load) {}

    private record View(Map<NodeId, Known> known, long bytes) implements ClusterView {
        private Known of(NodeId node) {
            return Objects.requireNonNull(known.get(node));
        }

        @Override
        public NodeId self() {
            return new NodeId("self", 1);
        }

        @Override
        public Hop hop(BlockRef holder) {
            return of(holder.node()).hop;
        }

        @Override
        public long expectedNs(BlockRef holder, long asked) {
            assertEquals(bytes, asked);
            return of(holder.node()).ns;
        }

        @Override
        public boolean isDue(BlockRef holder, long asked) {
            assertEquals(bytes, asked);
            return of(holder.node()).due;
        }

        @Override
        public int load(NodeId node) {
            return of(node).load;
        }

        @Override
        public List<Member> members(Tier tier) {
            return List.of();
        }

        @Override
        public List<BlockRef> holders(BlockId id) {
            return List.of();
        }

        @Override
        public List<PairFigures> figures() {
            return List.of();
        }
    }

    private static BlockRef ref(NodeId node, long counter) {
        return new BlockRef(BlockId.of("k"), new Version(counter, 7), node, 1, 0, 1000, 0, (counter << 4) | 2);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            # a: version, hop, ns, due, load | b: the same                | who
            1 | HOST | 100 | false | 0 | 1 | HOST | 100 | false | 0 | a
            1 | HOST | 100 | false | 0 | 2 | FAR  | 999 | false | 9 | b
            1 | RACK | 100 | false | 0 | 1 | HOST | 999 | false | 9 | b
            1 | RACK | 100 | true  | 0 | 1 | HOST | 999 | false | 9 | b
            1 | NODE | 0   | false | 5 | 1 | HOST | 1   | true  | 0 | a
            1 | RACK | 100 | false | 0 | 1 | RACK | 999 | true  | 0 | b
            1 | RACK | 999 | true  | 0 | 1 | RACK | 100 | false | 0 | a
            1 | RACK | 100 | false | 0 | 1 | RACK | 49  | false | 0 | b
            1 | RACK | 100 | false | 0 | 1 | RACK | 51  | false | 0 | a
            1 | RACK | 100 | false | 1 | 1 | RACK | 100 | false | 0 | b
            1 | RACK | 100 | false | 1 | 1 | RACK | 180 | false | 0 | b
            1 | RACK | 100 | false | 1 | 1 | RACK | 401 | false | 0 | a
            1 | RACK | 100 | false | 9 | 1 | RACK | 401 | false | 0 | b
            1 | RACK | 9223372036854775807 | false | 0 | 1 | RACK | 100 | false | 5 | b
            """)
    void theFirstDifferenceDecides(long version, Hop hop, long ns, boolean due, int load, long otherVersion,
            Hop otherHop, long otherNs, boolean otherDue, int otherLoad, String who) {
        View view = new View(
                Map.of(A, new Known(hop, ns, due, load), B, new Known(otherHop, otherNs, otherDue, otherLoad)), 600);
        BlockRef chosen = Scheduler.cheapestHolder().source(List.of(ref(A, version), ref(B, otherVersion)), 600, view);
        assertEquals(who, Objects.requireNonNull(chosen).node().name());
    }

    @Test
    void noMoreThanTheBlockIsRead() {
        Known known = new Known(Hop.FAR, 1, false, 0);
        View view = new View(Map.of(A, known, B, known), 1000);
        assertEquals(ref(A, 1), Scheduler.cheapestHolder().source(List.of(ref(A, 1), ref(B, 1)), Long.MAX_VALUE, view));
        assertNull(Scheduler.cheapestHolder().source(List.of(), 1, view));
    }
}
