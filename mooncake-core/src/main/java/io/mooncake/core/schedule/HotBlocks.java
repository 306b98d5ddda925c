package io.mooncake.core.schedule;

import io.mooncake.core.block.BlockId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which copies of other nodes' blocks make room for one that is read more. A pure function.
 */
public final class HotBlocks {
    private HotBlocks() {}

    /**
     * A copy that is here because its block was read often.
     *
     * @param id the block
     * @param bytes of it
     * @param lastUseNs when it was used last
     */
    public record Copy(BlockId id, long bytes, long lastUseNs) {}

    /**
     * Finds room within a budget: the copies that were used longest ago go first, and none that is still being used.
     *
     * @param bytes of the block that is to get a copy
     * @param budgetBytes for all copies
     * @param copies that are here
     * @param coldBeforeNs what was not used since then is cold, on the clock of the copies
     * @return the copies that go, none when there is room; null when there is none without those that are being used
     */
    public static @Nullable List<BlockId> makeRoom(long bytes, long budgetBytes, List<Copy> copies, long coldBeforeNs) {
        long room = budgetBytes;
        for (Copy copy : copies) {
            room -= copy.bytes;
        }
        List<BlockId> go = new ArrayList<>();
        // By the difference, since clocks wrap.
        List<Copy> cold = copies.stream()
                .filter(copy -> copy.lastUseNs - coldBeforeNs < 0)
                .sorted(Comparator.comparingLong(copy -> copy.lastUseNs - coldBeforeNs))
                .toList();
        for (int i = 0; room < bytes && i < cold.size(); i++) {
            room += cold.get(i).bytes;
            go.add(cold.get(i).id);
        }
        return room < bytes ? null : List.copyOf(go);
    }
}
