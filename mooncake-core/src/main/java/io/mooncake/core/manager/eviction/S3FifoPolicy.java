package io.mooncake.core.manager.eviction;

/**
 * S3-FIFO, for comparison: a small queue of those that came, a main queue of those that were used again, and the keys of those that left
 * the small one. What was evicted from there and comes again goes to the main queue at once.
 *
 * <p>After "FIFO queues are all you need for cache eviction" (Yang and others, SOSP 2023). Uses are counted where they happen and looked at
 * when the block is the oldest of its queue.
 */
final class S3FifoPolicy implements EvictionPolicy {
    /** The small queue's share of all blocks is one part of so many. */
    private static final int SMALL_SHARE = 10;
    private static final int MAX_USES = 3;

    private final SlotUse use;
    private final SlotQueue small = new SlotQueue();
    private final SlotQueue main = new SlotQueue();
    private final Ghosts ghosts = new Ghosts();
    /** By slot: of its uses, how many do not count any more. */
    private final SlotNumbers spent = new SlotNumbers();

    S3FifoPolicy(SlotUse use) {
        this.use = use;
    }

    @Override
    public void add(int slot) {
        boolean known = ghosts.remove(use.key(slot)) != Ghosts.NOT_HERE;
        spent.set(slot, use.uses(slot));
        (known ? main : small).add(slot);
    }

    @Override
    public void remove(int slot) {
        (small.contains(slot) ? small : main).remove(slot);
    }

    @Override
    public void evicted(int slot) {
        boolean remembered = small.contains(slot);
        remove(slot);
        if (remembered) {
            ghosts.add(use.key(slot), 1 + small.size() + main.size());
        }
    }

    @Override
    public int candidate() {
        while (small.size() + main.size() > 0) {
            boolean fromSmall = main.size() == 0
                    || (small.size() > 0 && small.size() >= (small.size() + main.size()) / SMALL_SHARE);
            SlotQueue queue = fromSmall ? small : main;
            int slot = queue.oldest();
            int uses = Math.min(MAX_USES, use.uses(slot) - spent.get(slot));
            if (uses < 1) {
                return slot;
            }
            queue.remove(slot);
            main.add(slot);
            spent.set(slot, use.uses(slot) - (fromSmall ? 0 : uses - 1));
        }
        return NONE;
    }
}
