package io.mooncake.core.manager;

import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Hold;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Pins without an address, ended once: by whoever takes the entries out first. */
final class SlotHold implements Hold {
    private final Holds owner;
    private final List<BlockRef> refs;
    private final long deadlineNs;
    private final AtomicReference<@Nullable List<Entry>> held;

    SlotHold(Holds owner, List<Entry> held, long deadlineNs) {
        this.owner = owner;
        this.deadlineNs = deadlineNs;
        this.held = new AtomicReference<>(held);
        refs = held.stream().map(entry -> entry.ref).toList();
    }

    @Override
    public List<BlockRef> refs() {
        return refs;
    }

    @Override
    public boolean isOpen() {
        return !isEnded() && !isExpired(owner.nowNs());
    }

    boolean isEnded() {
        return held.get() == null;
    }

    boolean isExpired(long nowNs) {
        return deadlineNs - nowNs <= 0;
    }

    int compareDeadline(SlotHold other) {
        return Long.signum(deadlineNs - other.deadlineNs);
    }

    @Override
    public void close() {
        List<Entry> entries = held.getAndSet(null);
        if (entries != null) {
            owner.ended(entries);
        }
    }

    @Override
    public String toString() {
        return "hold of " + refs.size() + " blocks";
    }
}
