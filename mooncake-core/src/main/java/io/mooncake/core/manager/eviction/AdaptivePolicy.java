package io.mooncake.core.manager.eviction;

/**
 * Adapts between recency and frequency: blocks that one request used, and blocks that several did, each by the time of their last use, and a
 * share between the two that learns from its mistakes. Of the blocks that one request used last, the deepest in its chain goes first.
 *
 * <pre>
 *   add ─▶ once ──used again──▶ often            each: the least recently used first, then the deepest
 *            │ evicted            │ evicted
 *            ▼                    ▼
 *          keys of late         keys of late     comes again soon: the side it left was too small
 * </pre>
 *
 * <p>After "ARC: a self-tuning, low overhead replacement cache" (Megiddo and Modha, FAST 2003), with uses looked at when a block has become
 * the oldest of its side, and with a longer memory: a key costs nothing beside a block, and whatever comes again counts as used often, so that
 * a scan passes through the first side and leaves the second as it was.
 */
final class AdaptivePolicy implements EvictionPolicy {
    /** Keys that each side remembers, for each block that there is. */
    private static final int MEMORY = 4;

    private final SlotUse use;
    private final SlotHeap once = new SlotHeap();
    private final SlotHeap often = new SlotHeap();
    private final Ghosts onceGone = new Ghosts();
    private final Ghosts oftenGone = new Ghosts();
    /** By slot: 1 when its block came again after it was evicted. */
    private final SlotNumbers back = new SlotNumbers();
    /** Of all blocks, the first side's. */
    private double share = 0.5;

    AdaptivePolicy(SlotUse use) {
        this.use = use;
    }

    @Override
    public void add(int slot) {
        long key = use.key(slot);
        long onceAge = onceGone.remove(key);
        long oftenAge = oftenGone.remove(key);
        // Only what as many blocks again would have kept says that a side is too small.
        int blocks = Math.max(1, once.size() + often.size());
        if (onceAge != Ghosts.NOT_HERE && onceAge < blocks) {
            share = Math.min(1, share + 1.0 / blocks);
        } else if (oftenAge != Ghosts.NOT_HERE && oftenAge < blocks) {
            share = Math.max(0, share - 1.0 / blocks);
        }
        back.set(slot, onceAge != Ghosts.NOT_HERE || oftenAge != Ghosts.NOT_HERE ? 1 : 0);
        put(isOften(slot) ? often : once, slot);
    }

    private boolean isOften(int slot) {
        return back.get(slot) > 0 || use.uses(slot) > 0;
    }

    private void put(SlotHeap side, int slot) {
        side.add(slot, tick(slot), -use.depth(slot));
    }

    /** Of the request's beginning: the same for all its blocks. */
    private long tick(int slot) {
        return use.lastUse(slot) - use.depth(slot);
    }

    @Override
    public void remove(int slot) {
        (once.contains(slot) ? once : often).remove(slot);
    }

    @Override
    public void evicted(int slot) {
        Ghosts gone = once.contains(slot) ? onceGone : oftenGone;
        int blocks = once.size() + often.size();
        remove(slot);
        gone.add(use.key(slot), MEMORY * blocks);
    }

    @Override
    public int candidate() {
        while (true) {
            boolean fromOnce = once.size() > 0
                    && (often.size() == 0 || once.size() > share * (once.size() + often.size()));
            SlotHeap side = fromOnce ? once : often;
            if (side.size() == 0) {
                return NONE;
            }
            int slot = side.slotAt(0);
            long now = tick(slot);
            if (fromOnce && isOften(slot)) {
                once.remove(slot);
                put(often, slot);
            } else if (now != side.topKey()) {
                side.lowerTop(now, -use.depth(slot));
            } else {
                return slot;
            }
        }
    }
}
