package io.mooncake.core;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a look-up found, with a hold on what of it is here. */
final class HeldMatch implements PrefixMatch {
    private final Sources sources;
    private final @Nullable BlockRef[] refs;
    private final long[] pendingUntilNs;
    private final int hits;
    private final @Nullable Hold hold;

    HeldMatch(Sources sources, List<BlockId> ids, long ttlNs) {
        this.sources = sources;
        refs = new @Nullable BlockRef[ids.size()];
        pendingUntilNs = new long[ids.size()];
        List<BlockRef> here = new ArrayList<>();
        int[] hereAt = new int[ids.size()];
        int run = 0;
        for (int i = 0; i < refs.length; i++) {
            BlockId id = ids.get(i);
            BlockRef local = sources.blocks().find(id);
            BlockRef ref = local != null ? local : sources.find(id);
            if (ref == null) {
                pendingUntilNs[i] = sources.blocks().pendingUntil(id);
                if (pendingUntilNs[i] == 0) {
                    // Its writer may have committed after the first look.
                    local = sources.blocks().find(id);
                    ref = local;
                }
            }
            refs[i] = ref;
            if (ref != null && run == i) {
                run++;
                if (local != null) {
                    hereAt[here.size()] = i;
                    here.add(local);
                }
            }
        }
        hold = here.isEmpty() ? null : sources.blocks().hold(here, ttlNs);
        for (int k = 0; hold != null && k < hold.refs().size(); k++) {
            // Perhaps it was moved since it was found.
            refs[hereAt[k]] = hold.refs().get(k);
        }
        if (hold == null || hold.refs().size() == here.size()) {
            hits = run;
        } else {
            // A block was evicted between being found and being held: it only shortens the hit.
            hits = hereAt[hold.refs().size()];
            refs[hits] = null;
        }
    }

    @Override
    public int size() {
        return refs.length;
    }

    @Override
    public int hits() {
        return hits;
    }

    @Override
    public Status status(int index) {
        return refs[index] != null ? Status.READY : pendingUntilNs[index] != 0 ? Status.PENDING : Status.ABSENT;
    }

    @Override
    public @Nullable BlockRef ref(int index) {
        return refs[index];
    }

    @Override
    public @Nullable Tier tier(int index) {
        BlockRef ref = refs[index];
        return ref == null ? null : ref.node().equals(sources.costs().self()) ? ref.tier() : Tier.SLOW;
    }

    @Override
    public long cost(int index) {
        BlockRef ref = refs[index];
        return ref == null ? -1 : sources.costs().expectedNs(ref, ref.length());
    }

    @Override
    public long validBytes(int index) {
        BlockRef ref = refs[index];
        return ref == null ? 0 : ref.length();
    }

    @Override
    public long pendingUntilNs(int index) {
        return refs[index] == null ? pendingUntilNs[index] : 0;
    }

    @Override
    public void close() {
        if (hold != null) {
            hold.close();
        }
    }
}
