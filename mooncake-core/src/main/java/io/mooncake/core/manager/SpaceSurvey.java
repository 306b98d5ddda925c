package io.mooncake.core.manager;

import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.PoolSpace;
import io.mooncake.core.pool.RangeBook;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Counts what room each pool has, by looking at every slot: some at a time, so that whoever runs the conductor's thread besides is not kept
 * waiting by a pool of very many. One thread.
 */
public final class SpaceSurvey {
    private static final int SLOTS_AT_A_TIME = 4096;

    private final SlotTable table;
    private List<PoolSpace> counted = new ArrayList<>();
    private int slot;
    private long bytes;
    private long free;
    private long cached;

    SpaceSurvey(SlotTable table) {
        this.table = table;
    }

    /**
     * Looks on.
     *
     * @return one for each pool when the last slot was looked at, and the next call begins anew; null before
     */
    public @Nullable List<PoolSpace> look() {
        for (int left = SLOTS_AT_A_TIME; left > 0; left--) {
            Space space = table.spaces[counted.size()];
            count(space);
            if (++slot == space.end()) {
                RangeBook ranges = space.pool().ranges();
                if (ranges != null) {
                    // At this moment; what is cached was counted a little earlier.
                    bytes = ranges.bytes();
                    free = ranges.freeBytes();
                    cached = Math.min(cached, bytes - free);
                }
                counted.add(new PoolSpace(space.pool().tier(), space.pool().device(), bytes, free, cached));
                bytes = 0;
                free = 0;
                cached = 0;
            }
            if (counted.size() == table.spaces.length) {
                List<PoolSpace> all = counted;
                counted = new ArrayList<>();
                slot = 0;
                return all;
            }
        }
        return null;
    }

    private void count(Space space) {
        long slotBytes = space.pool().slotBytes(slot - space.first());
        long word = table.words.get(slot);
        bytes += slotBytes;
        free += ControlWords.state(word) == BlockState.FREE ? slotBytes : 0;
        cached += ControlWords.state(word) == BlockState.WRITTEN && ControlWords.pins(word) == 0 ? slotBytes : 0;
    }
}
