package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.rdma.LaneMessage.Keys;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * The regions of a peer that one lane knows: those that it asked for, and those that the peer told unasked. When they are too many all are
 * forgotten, and asked for anew when they are needed, since nobody tells which of them the peer still has. The poller's.
 */
final class KnownRegions {
    static final int MOST_REGIONS = 4096;
    /** Of all of them: 4 MiB. */
    static final int MOST_KEYS = 1 << 20;

    private final Int2ObjectHashMap<RdmaRegion> known = new Int2ObjectHashMap<>();
    private int keys;

    int size() {
        return known.size();
    }

    /** A region; not answered yet when it was not known. */
    RdmaRegion get(int region) {
        RdmaRegion there = known.get(region);
        if (there != null) {
            return there;
        }
        if (known.size() == MOST_REGIONS) {
            forgetAll();
        }
        RdmaRegion made = new RdmaRegion();
        known.put(region, made);
        return made;
    }

    void answer(Keys told) {
        RdmaRegion region = get(told.region());
        keys -= region.keys();
        if (keys + told.keys().size() > MOST_KEYS) {
            forgetAll();
            known.put(told.region(), region);
        }
        keys += told.keys().size();
        region.answer(told);
    }

    void refuse(int region, MooncakeException why) {
        get(region).refuse(why);
    }

    private void forgetAll() {
        known.clear();
        keys = 0;
    }
}
