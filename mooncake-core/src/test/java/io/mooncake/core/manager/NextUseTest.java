package io.mooncake.core.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.NextUse;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the manager does with hints. Four slots, of which three may be cached. */
final class NextUseTest {
    private static final long BLOCK = 64;

    private static void put(Fixture fixture, String id) {
        fixture.put(id, 1, BLOCK);
        fixture.settle();
    }

    private static void hint(Fixture fixture, String id, long nextUse) {
        fixture.manager.hint(List.of(BlockId.of(id)), new long[]{nextUse});
        fixture.settle();
    }

    /** In the order in which more blocks push them out. */
    private static List<String> evicted(Fixture fixture) {
        return fixture.events.stream()
                .filter(event -> event.startsWith("POLICY"))
                .map(event -> event.split(" ", -1)[1])
                .toList();
    }

    @Test
    void shouldEvictWhatIsUsedNoMoreThenWhatIsUnknownThenTheFurthest() {
        try (Fixture fixture = new Fixture(4, BLOCK, 3)) {
            List.of("soon", "far", "over").forEach(id -> put(fixture, id));
            long now = fixture.now;
            hint(fixture, "soon", now + 10 * Fixture.MS);
            hint(fixture, "far", now + 20 * Fixture.MS);
            hint(fixture, "over", NextUse.NEVER);
            put(fixture, "unknown");
            assertEquals(List.of("over"), evicted(fixture));
            put(fixture, "known");
            assertEquals(List.of("over", "unknown"), evicted(fixture));
            hint(fixture, "known", now + 15 * Fixture.MS);
            put(fixture, "last");
            assertEquals(List.of("over", "unknown", "last"), evicted(fixture));
            hint(fixture, "next", now + 12 * Fixture.MS);
            put(fixture, "next");
            assertEquals(List.of("over", "unknown", "last", "far"), evicted(fixture));
        }
    }

    @Test
    void shouldKnowTheHintOfABlockThatComesLater() {
        try (Fixture fixture = new Fixture(4, BLOCK, 3)) {
            hint(fixture, "a", NextUse.NEVER);
            hint(fixture, "b", NextUse.NEVER);
            hint(fixture, "b", NextUse.UNKNOWN);
            List.of("x", "b", "a", "y").forEach(id -> put(fixture, id));
            assertEquals(List.of("a"), evicted(fixture));
        }
    }

    @Test
    void shouldTakeAHintWhoseTimeIsOverForAUse() {
        try (Fixture fixture = new Fixture(4, BLOCK, 3)) {
            List.of("a", "b", "c").forEach(id -> put(fixture, id));
            hint(fixture, "a", fixture.now + 2);
            fixture.now += 3;
            // The first eviction finds that the time is over; then a is younger than c.
            List.of("d", "e", "f").forEach(id -> put(fixture, id));
            assertEquals(List.of("b", "c", "a"), evicted(fixture));
        }
    }

    @Test
    void shouldForgetTheOldestHintsOfBlocksThatNeverCome() {
        try (Fixture fixture = new Fixture(4, BLOCK, 3)) {
            for (int i = 0; i < 3_000; i++) {
                hint(fixture, "never" + i, NextUse.NEVER);
            }
            long kept = 4 * 4 + 1024;
            assertEquals(3_000 - kept, fixture.count(Counter.HINTS_DROPPED));
            List.of("x", "never0", "y", "z").forEach(id -> put(fixture, id));
            assertEquals(List.of("x"), evicted(fixture));
            put(fixture, "never2999");
            assertEquals(List.of("x", "never2999"), evicted(fixture));
        }
    }

    @Test
    void shouldRefuseTimesThatAreNotOneForEachBlock() {
        try (Fixture fixture = new Fixture(4, BLOCK, 3)) {
            assertEquals(Kind.INVALID_ARGUMENT,
                    Fixture.kindOf(() -> fixture.manager.hint(List.of(BlockId.of("a")), new long[2])));
        }
    }
}
