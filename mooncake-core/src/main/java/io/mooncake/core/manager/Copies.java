package io.mooncake.core.manager;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Which blocks there are, and in which tiers. Any thread; looking for one takes no lock and allocates nothing.
 *
 * <pre>
 *   id ──▶ VRAM ──below──▶ DRAM ──below──▶ SLOW       copies of one version, the fastest first; any of them may be missing
 * </pre>
 *
 * <p>Every change is one step of the map at the block's id, so that there is one order of them: whoever takes a chain out of the map has it alone,
 * with everything below.
 */
final class Copies {
    private final ConcurrentHashMap<BlockId, Entry> first = new ConcurrentHashMap<>();

    /** The fastest copy of a block. */
    @Nullable
    Entry get(BlockId id) {
        return first.get(id);
    }

    /** The fastest copy of the version that a reference names, wherever that says it is. */
    @Nullable
    Entry named(BlockRef ref) {
        Entry top = first.get(ref.id());
        return top != null && top.ref.version().equals(ref.version()) ? top : null;
    }

    /** Where a block is, the fastest tier first. */
    List<BlockRef> refs(BlockId id) {
        List<BlockRef> refs = new ArrayList<>(1);
        for (Entry entry = first.get(id); entry != null; entry = entry.below()) {
            refs.add(entry.ref);
        }
        return refs;
    }

    /** Valid bytes of the blocks that are in a tier. Looks at every block. */
    long bytes(Tier tier) {
        long bytes = 0;
        for (Entry top : first.values()) {
            bytes += top.in(tier) == null ? 0 : top.ref.length();
        }
        return bytes;
    }

    /** The fastest copy of each block, as they are at this moment. */
    Collection<Entry> all() {
        return first.values();
    }

    int size() {
        return first.size();
    }

    /** What is there already; null when it is this one now. */
    @Nullable
    Entry putIfAbsent(Entry own) {
        return first.putIfAbsent(own.ref.id(), own);
    }

    /** In the place of all copies of a block. False when others are there. */
    boolean replace(Entry there, Entry own) {
        return first.replace(own.ref.id(), there, own);
    }

    /** Above all copies of a block, of the same version. False when others are there. */
    boolean putAbove(Entry there, Entry own) {
        own.putAbove(there);
        if (replace(there, own)) {
            return true;
        }
        own.putAbove(null);
        return false;
    }

    /** Below those of the same version that are faster. False when there are none, or none any more, or one is in this tier already. */
    boolean putBelow(Entry own) {
        boolean[] done = new boolean[1];
        first.computeIfPresent(own.ref.id(), (_, top) -> {
            if (top.isFasterThan(own.tier) && top.ref.version().equals(own.ref.version())) {
                Entry above = top.lastAbove(own.tier);
                Entry next = above.below();
                if (next == null || next.tier != own.tier) {
                    own.putAbove(next);
                    above.putAbove(own);
                    done[0] = true;
                }
            }
            return top;
        });
        return done[0];
    }

    /** Takes one copy out, wherever it stands; the others stay. False when it is not there any more. */
    boolean takeOut(Entry entry) {
        boolean[] done = new boolean[1];
        first.computeIfPresent(entry.ref.id(), (_, top) -> {
            if (top == entry) {
                done[0] = true;
                return entry.below();
            }
            Entry above = top.isFasterThan(entry.tier) ? top.lastAbove(entry.tier) : top;
            if (above.below() == entry) {
                above.putAbove(entry.below());
                done[0] = true;
            }
            return top;
        });
        return done[0];
    }

    /** Puts a copy in the place of another one in the same tier; the others stay. False when that is not there any more. */
    boolean swap(Entry from, Entry to) {
        boolean[] done = new boolean[1];
        first.computeIfPresent(from.ref.id(), (_, top) -> {
            Entry above = top.isFasterThan(from.tier) ? top.lastAbove(from.tier) : null;
            if (above == null ? top != from : above.below() != from) {
                return top;
            }
            done[0] = true;
            to.putAbove(from.below());
            if (above == null) {
                return to;
            }
            above.putAbove(to);
            return top;
        });
        return done[0];
    }

    /** Takes all copies of a block out. False when this is not the first of them. */
    boolean remove(Entry top) {
        return first.remove(top.ref.id(), top);
    }
}
