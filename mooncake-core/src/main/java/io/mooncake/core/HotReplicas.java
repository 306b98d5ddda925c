package io.mooncake.core;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.schedule.HotBlocks;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.Transfer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jctools.queues.varhandle.MpscVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;

/**
 * Copies of other nodes' blocks that are read often from here, within a budget.
 *
 * <pre>
 *   bytes of another node's block read ─▶ counted ── {@value #READS} times its length, of late ─▶ conductor ─▶ a replica, in the background
 *                                                                                     │
 *                            no room in the budget: the coldest copies go; if none is cold, nothing is taken for a while
 * </pre>
 *
 * <p>A copy that is cold goes before all others where memory is short, too, and into no file: another node has the block. One that is the only one
 * left of its block is no copy any more, and stays as any block does. Counting is for any thread, takes no lock and allocates nothing; two blocks
 * of one place in the table count against each other.
 */
final class HotReplicas {
    /** A block is hot when so many times its length was read, whether as a whole or in pieces. */
    static final int READS = 3;
    /** After that what was counted is halved, and a copy that was not used since is cold. */
    static final long WINDOW_NS = 10_000_000_000L;

    private static final TransferOptions BACKGROUND = TransferOptions.DEFAULT.withPriority(Priority.BACKGROUND);
    private static final int PLACES = 4096;
    private static final int MAX_QUEUED = 256;
    /** What is counted of a block, in parts of its length; the rest of the word says whose it is. */
    private static final long COUNT = 0xFFFF;
    private static final int PARTS = 256;
    private static final long HOT = (long) READS * PARTS;

    private final NodeParts node;
    private final NodeStore store;
    private final long budgetBytes;
    private final AtomicLongArray counts = new AtomicLongArray(PLACES);
    private final MpscVarHandleArrayQueue<BlockRef> hot = new MpscVarHandleArrayQueue<>(MAX_QUEUED);

    // The conductor's.
    private final Map<BlockId, Copy> copies = new LinkedHashMap<>();
    private long windowNs;
    /** No copy was cold when one was to go, in this window. */
    private boolean full;

    /** A copy, on its way or here. */
    private static final class Copy {
        final BlockRef from;
        final Transfer coming;
        boolean cold;

        Copy(BlockRef from, Transfer coming) {
            this.from = from;
            this.coming = coming;
        }
    }

    private HotReplicas(NodeParts node, NodeStore store, long budgetBytes) {
        this.node = node;
        this.store = store;
        this.budgetBytes = budgetBytes;
        windowNs = node.life().nowNs();
        node.conductor().alsoLook(this::look);
    }

    /** Null where there is no budget for them. */
    static @Nullable HotReplicas within(long budgetBytes, NodeParts node, NodeStore store) {
        return budgetBytes == 0 ? null : new HotReplicas(node, store, budgetBytes);
    }

    // ---- any thread

    /** So many bytes of a block of another node came into the caller's memory. */
    void read(BlockRef from, long bytes) {
        long hash = from.id().hash();
        int place = (int) (hash & (PLACES - 1));
        long whose = hash & ~COUNT;
        long parts = Math.clamp((long) Math.ceil((double) bytes * PARTS / from.length()), 1, PARTS);
        long before = counts.get(place);
        long count = before & COUNT;
        // Of two at the same time one may be missed.
        if ((before & ~COUNT) != whose) {
            counts.compareAndSet(place, before, count > parts ? before - parts : whose | parts);
        } else if (counts.compareAndSet(place, before, whose | Math.min(COUNT, count + parts))
                && (count + parts) / HOT > count / HOT && hot.offer(from)) {
            node.conductor().wakeup();
        }
    }

    // ---- conductor

    /** Whether nobody here uses a copy that is here, and another node is known to have the block. */
    boolean isCold(BlockRef ref) {
        Copy copy = copies.get(ref.id());
        return copy != null && copy.cold && copy.from.version().equals(ref.version()) && isElsewhere(ref);
    }

    private boolean isElsewhere(BlockRef here) {
        return !node.sources().registry().isPrimary(here);
    }

    private int look(long nowNs) {
        int work = 0;
        if (nowNs - windowNs >= WINDOW_NS) {
            windowNs = nowNs;
            full = false;
            for (int i = 0; i < PLACES; i++) {
                long before = counts.get(i);
                counts.compareAndSet(i, before, (before & ~COUNT) | ((before & COUNT) >>> 1));
            }
            forgetGone();
            for (Copy copy : copies.values()) {
                setCold(copy, lastUseNs(copy, nowNs) - (nowNs - WINDOW_NS) < 0);
            }
        }
        for (BlockRef next = hot.poll(); next != null; next = hot.poll()) {
            work++;
            if (!full && !copies.containsKey(next.id()) && node.blocks().find(next.id()) == null) {
                bring(next, nowNs);
            }
        }
        return work;
    }

    private void bring(BlockRef from, long nowNs) {
        forgetGone();
        full = !makeRoom(from.length(), nowNs);
        if (full) {
            return;
        }
        try {
            Piece piece = Piece.of(from, 0, Piece.WHOLE, Destination.replica());
            copies.put(from.id(), new Copy(from, store.prepare(List.of(piece), BACKGROUND).submit()));
            node.counters().increment(Counter.HOT_REPLICAS);
        } catch (MooncakeException e) {
            // The node is closing, or leaves.
            full = true;
        }
    }

    private boolean makeRoom(long bytes, long nowNs) {
        List<HotBlocks.Copy> here = new ArrayList<>();
        for (Copy copy : copies.values()) {
            here.add(new HotBlocks.Copy(copy.from.id(), copy.from.length(), lastUseNs(copy, nowNs)));
        }
        List<BlockId> go = HotBlocks.makeRoom(bytes, budgetBytes, here, nowNs - WINDOW_NS);
        for (BlockId id : go == null ? List.<BlockId>of() : go) {
            Copy copy = copies.get(id);
            if (copy == null || !node.blocks().replicas().letGo(copy.from)) {
                return false;
            }
            copies.remove(id);
        }
        return go != null;
    }

    private void setCold(Copy copy, boolean cold) {
        if (cold != copy.cold) {
            copy.cold = cold;
            node.blocks().replicas().setCold(copy.from, cold);
        }
    }

    private long lastUseNs(Copy copy, long nowNs) {
        return copy.coming.isDone() ? node.blocks().replicas().lastUse(copy.from, nowNs) : nowNs;
    }

    /** Gone from memory, never come, or the only one by now: no copy any more. */
    private void forgetGone() {
        for (Iterator<Copy> all = copies.values().iterator(); all.hasNext();) {
            Copy copy = all.next();
            if (copy.coming.isDone()) {
                BlockRef here = node.blocks().nearest(copy.from, Tier.DRAM);
                boolean isHere = here != null && node.blocks().isIn(here, Tier.DRAM);
                boolean alone = here != null && !isElsewhere(here);
                if (alone) {
                    setCold(copy, false);
                }
                if (alone || !isHere) {
                    all.remove();
                }
            }
        }
    }
}
