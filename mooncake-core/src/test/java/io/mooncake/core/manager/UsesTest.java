package io.mooncake.core.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.block.BlockId;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** In which order uses are known that the clock does not tell apart. */
final class UsesTest {
    private static List<BlockId> ids(String... names) {
        return Stream.of(names).map(BlockId::of).toList();
    }

    private static long lastUse(Fixture f, String name) {
        Entry entry = Fixture.present(f.manager.table.blocks.get(BlockId.of(name)));
        return f.manager.table.words.lastUse(entry.slot);
    }

    @Test
    void requestsOfOneMomentAreInTheirOrder() {
        try (Fixture f = new Fixture(4, 64, 4)) {
            Stream.of("a", "b", "c", "d").forEach(name -> f.put(name, 1, 64));
            f.manager.touch(ids("c", "b", "a"));
            f.manager.touch(ids("d"));
            assertEquals(f.now, lastUse(f, "c"));
            assertTrue(lastUse(f, "c") < lastUse(f, "b"));
            assertTrue(lastUse(f, "b") < lastUse(f, "a"));
            assertTrue(lastUse(f, "a") < lastUse(f, "d"), "the later request");
            f.now += 100;
            f.manager.touch(ids("c"));
            assertEquals(f.now, lastUse(f, "c"), "the clock has overtaken what was given out");
        }
    }
}
