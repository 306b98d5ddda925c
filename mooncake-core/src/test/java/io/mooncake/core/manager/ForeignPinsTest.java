package io.mooncake.core.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.pool.GuardTable;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Readers of other processes keep a slot, not its id. */
class ForeignPinsTest {
    private static final long LENGTH = 64;

    private final Set<Long> pinned = new HashSet<>();

    private Fixture fixture(int slots) {
        return new Fixture(slots, LENGTH, slots, pinned::contains);
    }

    @Test
    void anEvictedBlockThatIsPinnedElsewhereKeepsItsSlotUntilThatEnds() {
        try (Fixture fixture = fixture(1)) {
            BlockRef ref = fixture.put("x", 1, LENGTH);
            fixture.settle();
            pinned.add(ref.guardOffset());
            fixture.manager.evict(BlockId.of("x"));
            fixture.settle();
            assertEquals(-1, fixture.read("x"), "the id is gone at once");
            assertEquals(BlockState.EVICTED, GuardTable.state(fixture.pool.guards().read(0)),
                    "the guard is raised before anybody is asked");
            assertEquals(1, fixture.manager.usage().used());
            assertThrows(MooncakeException.class, () -> fixture.put("y", 2, LENGTH));
            pinned.clear();
            fixture.put("y", 2, LENGTH);
            assertEquals(2, fixture.read("y"));
        }
    }

    @Test
    void thePolicyPassesOverWhatIsPinnedElsewhere() {
        try (Fixture fixture = fixture(2)) {
            BlockRef older = fixture.put("older", 1, LENGTH);
            fixture.put("newer", 2, LENGTH);
            fixture.settle();
            pinned.add(older.guardOffset());
            fixture.put("third", 3, LENGTH);
            assertEquals(1, fixture.read("older"));
            assertEquals(-1, fixture.read("newer"));
        }
    }

    @Test
    void aSlotThatWasFreedMeanwhileIsNotFreedAgain() {
        try (Fixture fixture = fixture(1)) {
            BlockRef ref = fixture.put("x", 1, LENGTH);
            fixture.settle();
            fixture.manager.acquire(ref, fixture.view);
            pinned.add(ref.guardOffset());
            fixture.manager.evict(BlockId.of("x"));
            fixture.settle();
            fixture.view.close();
            fixture.settle();
            assertEquals(1, fixture.manager.usage().used());
            pinned.clear();
            fixture.settle();
            assertEquals(0, fixture.manager.usage().used());
            fixture.put("x", 2, LENGTH);
            fixture.settle();
            assertEquals(2, fixture.read("x"));
        }
    }

    @Test
    void closingDoesNotWaitForThem() {
        Fixture fixture = fixture(1);
        BlockRef ref = fixture.put("x", 1, LENGTH);
        pinned.add(ref.guardOffset());
        fixture.close();
        assertEquals(0, fixture.manager.usage().used());
    }
}
