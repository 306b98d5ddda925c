package io.mooncake.core.manager;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.Stream;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.StreamOrder;
import io.mooncake.core.transfer.SharedBlock;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * One pin, with the address that it gives: of a block here, or of one in the memory of a peer on this host. Whoever takes the entry, or the
 * shared block, out ends the pin: closed twice, it is ended once, in any threads.
 */
final class PinnedView implements BlockView {
    private static final VarHandle ENTRY;
    private static final VarHandle SHARED;

    static {
        try {
            ENTRY = MethodHandles.lookup().findVarHandle(PinnedView.class, "entry", Entry.class);
            SHARED = MethodHandles.lookup().findVarHandle(PinnedView.class, "shared", SharedBlock.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final SlotTable table;
    private final Counters counters;
    private @Nullable Entry entry;
    private @Nullable SharedBlock shared;
    /** Of the shared block. */
    private @Nullable BlockRef sharedRef;

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

    void take(SharedBlock pinned, BlockRef ref) {
        sharedRef = ref;
        shared = pinned;
    }

    private static MooncakeException empty() {
        return new MooncakeException(Kind.ILLEGAL_STATE, "this view holds no block: acquire one first");
    }

    private SharedBlock openShared() {
        SharedBlock open = shared;
        if (open == null) {
            throw empty();
        }
        return open;
    }

    @Override
    public BlockRef ref() {
        Entry open = entry;
        if (open != null) {
            return open.ref;
        }
        BlockRef ref = sharedRef;
        if (shared == null || ref == null) {
            throw empty();
        }
        return ref;
    }

    @Override
    public Tier tier() {
        Entry open = entry;
        if (open != null) {
            return open.space.pool().tier();
        }
        openShared();
        return Tier.DRAM;
    }

    @Override
    public int device() {
        Entry open = entry;
        if (open != null) {
            return open.space.pool().device();
        }
        openShared();
        return -1;
    }

    @Override
    public long address() {
        Entry open = entry;
        return open != null ? open.address : openShared().segment().address();
    }

    @Override
    public long length() {
        return ref().length();
    }

    @Override
    public MemorySegment segment() {
        Entry open = entry;
        if (open == null) {
            return openShared().segment();
        }
        MemorySegment bytes = open.bytes;
        if (bytes == null) {
            throw new MooncakeException(Kind.UNSUPPORTED, open + " is on device " + device()
                    + ": the host can't address it, use address() there or read it into host memory");
        }
        return bytes;
    }

    @Override
    public boolean isOpen() {
        return entry != null || shared != null;
    }

    @Override
    public void close() {
        Entry open = (Entry) ENTRY.getAndSet(this, (Entry) null);
        if (open != null) {
            table.unpin(open);
            // Counted here and not when it was taken: the less lies between a pin and its end, the less often the line of a hot
            // block travels.
            counters.increment(Counter.VIEWS);
        } else if (shared != null) {
            closeShared();
        }
    }

    private void closeShared() {
        SharedBlock open = (SharedBlock) SHARED.getAndSet(this, (SharedBlock) null);
        if (open != null) {
            open.unpin();
            counters.increment(Counter.VIEWS);
        }
    }

    @Override
    public void closeAfter(Stream stream) {
        Entry open = entry;
        StreamOrder order = open == null ? null : open.space.pool().streams();
        if (order == null) {
            throw new MooncakeException(Kind.UNSUPPORTED,
                    this + " is in tier " + tier() + ", which has no streams: synchronize, then close()");
        }
        StreamOrder.Work before = order.mark(stream);
        Entry mine = (Entry) ENTRY.getAndSet(this, (Entry) null);
        if (mine != null) {
            table.streamEnds.add(before, () -> {
                table.unpin(mine);
                counters.increment(Counter.VIEWS);
            });
        }
    }

    @Override
    public String toString() {
        return isOpen() ? "view of block " + ref().id() + " " + ref().version() : "empty view";
    }
}
