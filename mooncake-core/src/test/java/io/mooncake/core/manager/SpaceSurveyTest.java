package io.mooncake.core.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.PoolSpace;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.SizeClass;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What room there is: free, cached, and neither. */
final class SpaceSurveyTest {
    private static final int SMALL = 64;
    private static final int LARGE = 128;

    @Test
    void shouldCountEverySlotOnceAFewAtATime() {
        try (Fixture fixture = new Fixture(List.of(new SizeClass(SMALL, 5_000), new SizeClass(LARGE, 1)), 5_001)) {
            SpaceSurvey survey = fixture.manager.survey();
            for (String id : List.of("a", "b", "c")) {
                fixture.put(id, 1, SMALL);
            }
            assertTrue(fixture.manager.acquire(BlockId.of("a"), fixture.view));
            try (BlockWriter writing = fixture.allocate("d", LARGE)) {
                assertEquals(LARGE, writing.length());
                long all = 5_000L * SMALL + LARGE;
                PoolSpace space = new PoolSpace(Tier.DRAM, -1, all, 4_997L * SMALL, 2 * SMALL);
                for (int round = 0; round < 2; round++) {
                    assertNull(survey.look(), "5,001 slots are looked at in two steps");
                    assertEquals(List.of(space), survey.look());
                }
            }
            fixture.view.close();
        }
    }
}
