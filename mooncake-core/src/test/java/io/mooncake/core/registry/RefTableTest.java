package io.mooncake.core.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The table against a map. */
class RefTableTest {
    private static final NodeId NODE = new NodeId("a", 1);

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void doesWhatAMapDoes(long seed) {
        Random random = new Random(seed);
        RefTable table = new RefTable();
        Map<BlockId, BlockRef> map = new HashMap<>();
        // From nearly empty to nearly full of what there is, and back.
        for (int step = 0; step < 20_000; step++) {
            String name = "block " + random.nextInt(300);
            BlockId id = BlockId.of(name);
            int phase = step / 2_000 % 2;
            if (random.nextInt(10) < (phase == 0 ? 7 : 3)) {
                BlockRef ref = DeltaCodecTest.ref(NODE, name, step + 1, step);
                assertEquals(map.put(id, ref), table.put(ref), "seed " + seed + ", step " + step);
            } else {
                map.remove(id);
                table.remove(id);
                assertNull(table.get(id), "seed " + seed + ", step " + step);
            }
            assertEquals(map.size(), table.size(), "seed " + seed + ", step " + step);
        }
        map.forEach((id, ref) -> assertEquals(ref, table.get(id), "seed " + seed));
        Set<BlockRef> all = new HashSet<>();
        table.forEach(all::add);
        assertEquals(Set.copyOf(map.values()), all, "seed " + seed);
        table.clear();
        assertEquals(0, table.size());
        assertNull(table.get(BlockId.of("block 1")));
    }
}
