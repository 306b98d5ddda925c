package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.rdma.LaneMessage.Keys;
import io.mooncake.rdma.LaneMessage.TableKey;
import java.util.Collections;
import org.junit.jupiter.api.Test;

/** However much a peer says of its regions, a lane keeps a bounded part of it. */
final class KnownRegionsTest {
    private final KnownRegions regions = new KnownRegions();

    private static Keys keys(int region, int count) {
        return new Keys(1, region, 1, 4096, count, 1, Collections.nCopies(count, 7), TableKey.NONE, TableKey.NONE);
    }

    @Test
    void shouldKeepOneObjectForARegion() {
        RdmaRegion one = regions.get(5);
        regions.answer(keys(5, 3));
        assertSame(one, regions.get(5));
        assertEquals(3, one.length());
        assertNotSame(one, regions.get(6));
    }

    @Test
    void shouldKnowABoundedNumberOfRegions() {
        for (int region = 0; region < 100_000; region++) {
            regions.answer(keys(region, 1));
            assertTrue(regions.get(region).isAnswered());
            assertTrue(regions.size() <= KnownRegions.MOST_REGIONS, () -> regions.size() + " regions");
        }
    }

    @Test
    void shouldKnowABoundedNumberOfKeys() {
        int count = LaneMessages.MAX_KEYS;
        for (int region = 0; region < 2000; region++) {
            regions.answer(keys(region, count));
            assertTrue((long) regions.size() * count <= KnownRegions.MOST_KEYS, () -> regions.size() + " regions");
        }
    }

    /** A region that is told again and again is known once. */
    @Test
    void shouldCountTheKeysOfARegionOnce() {
        RdmaRegion one = regions.get(5);
        for (int i = 0; i < 2000; i++) {
            regions.answer(keys(5, LaneMessages.MAX_KEYS));
        }
        assertSame(one, regions.get(5));
    }
}
