package io.mooncake.core.manager;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.Stream;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.Tier;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/** One pin, with the address that it gives. Whoever takes the entry out ends the pin: closed twice, it is ended once, in any threads. */
final class PinnedView implements BlockView {
    private static final VarHandle ENTRY;

    static {
        try {
            ENTRY = MethodHandles.lookup().findVarHandle(PinnedView.class, "entry", Entry.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final SlotTable table;
    private final Counters counters;
    private @Nullable Entry entry;

    PinnedView(SlotTable table, Counters counters) {
        this.table = table;
        this.counters = counters;
    }

    boolean isOf(SlotTable other) {
        return table == other;
    }

    void take(Entry pinned) {
        entry = pinned;
    }

    private Entry open() {
        Entry open = entry;
        if (open == null) {
            throw new MooncakeException(Kind.ILLEGAL_STATE, "this view holds no block: acquire one first");
        }
        return open;
    }

    @Override
    public BlockRef ref() {
        return open().ref;
    }

    @Override
    public Tier tier() {
        return open().space.pool().tier();
    }

    @Override
    public int device() {
        return open().space.pool().device();
    }

    @Override
    public long address() {
        return open().address;
    }

    @Override
    public long length() {
        return open().ref.length();
    }

    @Override
    public MemorySegment segment() {
        Entry open = open();
        MemorySegment bytes = open.bytes;
        if (bytes == null) {
            throw new MooncakeException(Kind.UNSUPPORTED, open + " is on device " + device()
                    + ": the host can't address it, use address() there or read it into host memory");
        }
        return bytes;
    }

    @Override
    public boolean isOpen() {
        return entry != null;
    }

    @Override
    public void close() {
        Entry open = (Entry) ENTRY.getAndSet(this, (Entry) null);
        if (open != null) {
            table.unpin(open);
            // Counted here and not when it was taken: the less lies between a pin and its end, the less often the line of a hot
            // block travels.
            counters.increment(Counter.VIEWS);
        }
    }

    @Override
    public void closeAfter(Stream stream) {
        throw new MooncakeException(Kind.UNSUPPORTED,
                open() + " is in tier " + tier() + ", which has no streams: synchronize, then close()");
    }

    @Override
    public String toString() {
        return entry == null ? "empty view" : "view of " + entry;
    }
}
