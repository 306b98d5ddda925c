package io.mooncake.core.manager.eviction;

import io.mooncake.core.block.NextUse;

/**
 * The next use decides where it is known: blocks that are used no more go first, then those of which nothing is known, as another policy
 * says, then the one whose next use lies furthest ahead; of equals the deepest in its chain.
 */
final class NextUsePolicy implements EvictionPolicy {
    private final SlotUse use;
    private final EvictionPolicy observed;
    private final SlotHeap furthestFirst = new SlotHeap();
    private final SlotHeap over = new SlotHeap();

    NextUsePolicy(SlotUse use, EvictionPolicy observed) {
        this.use = use;
        this.observed = observed;
    }

    @Override
    public void add(int slot) {
        long nextUse = use.nextUse(slot);
        if (nextUse == NextUse.UNKNOWN) {
            observed.add(slot);
        } else if (nextUse == NextUse.NEVER) {
            over.add(slot, 0, -use.depth(slot));
        } else {
            // Times are compared by their difference, so the negative of one stands for "the later, the sooner it goes".
            furthestFirst.add(slot, -nextUse, -use.depth(slot));
        }
    }

    @Override
    public void remove(int slot) {
        if (furthestFirst.contains(slot)) {
            furthestFirst.remove(slot);
        } else if (over.contains(slot)) {
            over.remove(slot);
        } else {
            observed.remove(slot);
        }
    }

    @Override
    public void evicted(int slot) {
        if (furthestFirst.contains(slot) || over.contains(slot)) {
            remove(slot);
        } else {
            observed.evicted(slot);
        }
    }

    @Override
    public void changed(int slot) {
        boolean wasObserved = !furthestFirst.contains(slot) && !over.contains(slot);
        if (!wasObserved || use.nextUse(slot) != NextUse.UNKNOWN) {
            remove(slot);
            add(slot);
        }
    }

    @Override
    public int candidate() {
        if (over.size() > 0) {
            return over.slotAt(0);
        }
        int slot = observed.candidate();
        if (slot != NONE) {
            return slot;
        }
        return furthestFirst.size() > 0 ? furthestFirst.slotAt(0) : NONE;
    }
}
