package io.mooncake.core;

import io.mooncake.core.block.BlockRef;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/** Numbers what happens to blocks, in the conductor, and hands it to the listeners through the callbacks. */
final class BlockEvents {
    private final List<Consumer<? super BlockEvent>> listeners = new CopyOnWriteArrayList<>();
    private final Callbacks callbacks;
    private final AtomicLong lastNumber = new AtomicLong();

    BlockEvents(Callbacks callbacks) {
        this.callbacks = callbacks;
    }

    BlockStore.Subscription listen(Consumer<? super BlockEvent> listener) {
        listeners.add(listener);
        return () -> listeners.remove(listener);
    }

    /** By the conductor; while closing, by whoever ends its parts. */
    void raise(BlockEvent.Kind kind, BlockRef ref, String reason) {
        BlockEvent event = new BlockEvent(lastNumber.incrementAndGet(), kind, ref, reason);
        for (Consumer<? super BlockEvent> listener : listeners) {
            // Refused when listeners are too slow: they see a gap in the numbers.
            boolean _ = callbacks.offer(() -> listener.accept(event));
        }
    }
}
