package io.mooncake.core.manager.eviction;

/**
 * The least recently used goes first; of equals the lowest slot.
 *
 * <p>Exact although a use only stores a tick: a heap holds every slot with the tick that it had when it was put there, and a top whose
 * tick has grown since sinks to its place before it is believed. Ticks only grow, so what lies below can't be older than it claims.
 */
final class LruPolicy implements EvictionPolicy {
    private final SlotUse use;
    private final SlotHeap byLastUse = new SlotHeap();

    LruPolicy(SlotUse use) {
        this.use = use;
    }

    @Override
    public void add(int slot) {
        byLastUse.add(slot, use.lastUse(slot), 0);
    }

    @Override
    public void remove(int slot) {
        byLastUse.remove(slot);
    }

    @Override
    public int candidate() {
        while (byLastUse.size() > 0) {
            int slot = byLastUse.slotAt(0);
            long now = use.lastUse(slot);
            if (now == byLastUse.topKey()) {
                return slot;
            }
            byLastUse.lowerTop(now, 0);
        }
        return NONE;
    }
}
