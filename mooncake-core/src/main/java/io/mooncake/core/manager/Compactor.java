package io.mooncake.core.manager;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.RangeBook;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Moves blocks together until what is free in a pool of ranges is one range: when somebody asks, when a block finds bytes enough but no range,
 * and in idle windows where less than half of what is free is one range. The conductor's, but for {@link #ask} and what is seen of it.
 *
 * <pre>
 *   |aaa|....|bb|cccc|.|d|....      the longest block that fits goes down into the lowest hole: |aaa|bb|..|cccc|.|d|
 *                                   where none does, what stands above the hole goes to the highest place that is free, and comes down next
 * </pre>
 *
 * <p>A move is copy, commit there, switch the table's entry, announce, evict here, free: a block is readable at every step, and who reads
 * the old place finds the block or that its guard has changed. What is pinned, held, leaving, or lent to another process stays; it is looked
 * at again in later passes.
 */
final class Compactor {
    /** So long nothing was written or evicted before a window counts as idle. */
    static final long IDLE_NS = 100_000_000;
    /** From one look, or run, in an idle window to the next; twice as long after each run that stopped at blocks in use and moved none. */
    private static final long LOOK_NS = 1_000_000_000;
    private static final int MAX_DOUBLINGS = 6;
    /** Where compaction has not helped who waits for room, it is not tried again for so long. */
    private static final long AGAIN_NS = 50_000_000;
    private static final int MAX_PASSES = 16;
    /** Another pass moves up to everything that is behind a hole: not for less than one part in so many of what is free. */
    private static final int NOTEWORTHY = 32;
    /** So long, and so often in a run, a reader's end is waited for where he has the block that is in the way. */
    private static final long IN_USE_NS = 5_000_000;
    private static final int MAX_WAITS = 40;

    private final SlotTable table;
    private final Publication publication;
    private final Counters counters;
    private final List<Space> spaces;
    /** By slot: whether its block is announced and nobody has plans with it. */
    private final IntPredicate isSettled;
    private @Nullable Relocator relocator;

    private final AtomicLong asked = new AtomicLong();
    private volatile long answered;
    /** Tiers with a pool that has no room to move a block through, as bits. */
    private volatile int needsScratch;
    private volatile boolean wanted;

    // The run that goes on, or was the last one.
    private boolean running;
    private long answers;
    private int pool;
    private long from;
    private int passes;
    private boolean movedInPass;
    /** In this pass, and in the last passes of the pools before. */
    private boolean lacksScratch;
    private int lackedScratch;
    private boolean isInUse;
    /** Whether the run left a hole because of blocks in use, whether it moved anything, and how many runs before it left one and moved nothing. */
    private boolean leftInUse;
    private boolean movedInRun;
    private int inVain;
    private long waitsForHole;
    private long waitsSinceNs;
    private int waits;
    private long notBeforeNs;
    private long lookAgainNs;
    private long busyNs;
    /** How long a run keeps those who wait for room from having something evicted: less than who allocates waits. */
    private final long patienceNs;
    private long begunNs;
    private @Nullable Move move;

    /** Where it fails, the next one is for a hole behind this one. */
    private record Move(Entry entry, Lease to, Relocator.Copy copy, long endOfHole) {}

    Compactor(SlotTable table, Publication publication, ManagerConfig config, IntPredicate isSettled) {
        this.table = table;
        this.publication = publication;
        this.isSettled = isSettled;
        counters = config.counters();
        spaces = Arrays.stream(table.spaces).filter(space -> space.pool().ranges() != null).toList();
        patienceNs = config.allocateTimeoutNs() / 2;
        notBeforeNs = config.nanoClock().getAsLong();
        lookAgainNs = notBeforeNs;
        busyNs = notBeforeNs;
    }

    void relocateBy(Relocator by) {
        relocator = by;
    }

    /** Any thread: a number that {@link #hasAnswered} once a whole run has ended that began after this. */
    long ask() {
        return asked.incrementAndGet();
    }

    boolean hasAnswered(long ticket) {
        return answered >= ticket || spaces.isEmpty() || relocator == null || table.closed;
    }

    boolean needsScratch(Tier tier) {
        return (needsScratch & bit(tier)) != 0;
    }

    private static int bit(Tier tier) {
        return 1 << tier.ordinal();
    }

    /** Whether it may make room for a block soon: then nothing need be evicted for it. A run may take long, since its copies go behind loads. */
    boolean makesRoom(Space space, long length, long nowNs) {
        RangeBook ranges = space.pool().ranges();
        if (ranges == null || relocator == null || ranges.freeBytes() + movingBytes(space) < length
                || (running ? nowNs - begunNs >= patienceNs : nowNs - notBeforeNs < 0)) {
            return false;
        }
        wanted = true;
        return true;
    }

    /** Of the block that has two places at the moment, of which one will be free. */
    private long movingBytes(Space space) {
        Move going = move;
        return going == null || !going.to.space().equals(space) ? 0 : space.pool().slotBytes(going.to.localSlot());
    }

    /** One step of a run, if there is one. */
    int work(long nowNs, boolean busy) {
        busyNs = busy ? nowNs : busyNs;
        if (spaces.isEmpty()) {
            return 0;
        }
        Move going = move;
        if (going != null) {
            if (!going.copy.isOver()) {
                return 0;
            }
            // The next one when the place that this one left is free.
            move = null;
            end(going);
            return 1;
        }
        if (table.closed || relocator == null || (!running && !begins(nowNs))) {
            return 0;
        }
        isInUse = false;
        move = next(nowNs);
        if (move == null && isInUse) {
            return 0;
        }
        if (move == null) {
            running = false;
            notBeforeNs = nowNs + AGAIN_NS;
            inVain = leftInUse && !movedInRun ? Math.min(MAX_DOUBLINGS, inVain + 1) : 0;
            lookAgainNs = nowNs + (LOOK_NS << inVain);
            needsScratch = lackedScratch;
            answered = answers;
        }
        return 1;
    }

    private boolean begins(long nowNs) {
        boolean isAsked = asked.get() != answered;
        if (!isAsked && !wanted && !isIdleAndFragmented(nowNs)) {
            return false;
        }
        wanted = false;
        running = true;
        begunNs = nowNs;
        answers = asked.get();
        pool = 0;
        passes = 0;
        lackedScratch = 0;
        leftInUse = false;
        movedInRun = false;
        waits = 0;
        beginPass();
        return true;
    }

    private void beginPass() {
        passes++;
        from = 0;
        waitsForHole = -1;
        movedInPass = false;
        lacksScratch = false;
    }

    private boolean isIdleAndFragmented(long nowNs) {
        if (nowNs - busyNs < IDLE_NS || nowNs - lookAgainNs < 0) {
            return false;
        }
        lookAgainNs = nowNs + LOOK_NS;
        for (Space space : spaces) {
            RangeBook ranges = ranges(space);
            // Where readers had what was in the way it goes on in this window, or the next.
            if (ranges.longestFreeBytes() < ranges.freeBytes() / 2 || (leftInUse && isWorthAPass(ranges))) {
                return true;
            }
        }
        return false;
    }

    private static RangeBook ranges(Space space) {
        RangeBook ranges = space.pool().ranges();
        if (ranges == null) {
            throw new IllegalStateException("pool " + space.pool().name() + " has no ranges any more");
        }
        return ranges;
    }

    // ---- what goes where

    /** Begins the next move; null when the run is over, or waits for what is in use. */
    private @Nullable Move next(long nowNs) {
        while (pool < spaces.size()) {
            Space space = spaces.get(pool);
            long hole = ranges(space).nextHole(from);
            if (hole >= 0) {
                Move next = into(space, hole);
                if (next != null) {
                    movedInPass = true;
                    movedInRun = true;
                    return next;
                }
                boolean inTheWay = isInUse;
                isInUse = isInUse && isWorthWaiting(hole, nowNs);
                if (isInUse) {
                    return null;
                }
                leftInUse |= inTheWay;
                from = ranges(space).endOfHole(hole);
            } else if (movedInPass && passes < MAX_PASSES && isWorthAPass(ranges(space))) {
                beginPass();
            } else {
                lackedScratch |= lacksScratch ? bit(space.pool().tier()) : 0;
                pool++;
                passes = 0;
                beginPass();
            }
        }
        return null;
    }

    private boolean isWorthWaiting(long hole, long nowNs) {
        if (hole != waitsForHole) {
            waitsForHole = hole;
            waitsSinceNs = nowNs;
            waits++;
        }
        return waits <= MAX_WAITS && nowNs - waitsSinceNs < IN_USE_NS;
    }

    private static boolean isWorthAPass(RangeBook ranges) {
        long free = ranges.freeBytes();
        return free - ranges.longestFreeBytes() > free / NOTEWORTHY;
    }

    private @Nullable Move into(Space space, long hole) {
        RangeBook ranges = ranges(space);
        long end = ranges.endOfHole(hole);
        Entry fits = longest(space, end, end - hole);
        if (fits != null) {
            int place = ranges.reserveAt(fits.ref.length(), hole);
            // Where every block that there may be is there, none can have a second place.
            lacksScratch |= place == BlockPool.NONE;
            return begin(fits, place, end);
        }
        int above = ranges.slotAt(end);
        Entry inTheWay = above == BlockPool.NONE ? null : movable(space, space.first() + above);
        if (inTheWay == null) {
            isInUse = true;
            return null;
        }
        int scratch = ranges.reserveHighest(inTheWay.ref.length(), end);
        lacksScratch |= scratch == BlockPool.NONE;
        return begin(inTheWay, scratch, end);
    }

    /** The longest block above a hole that fits into it; of equals the highest. Looks at every slot, hence takes no lock for it. */
    private @Nullable Entry longest(Space space, long above, long room) {
        Entry best = null;
        for (int slot = space.first(); slot < space.end(); slot++) {
            Entry entry = isSettled.test(slot) ? table.entry(slot) : null;
            if (entry == null || entry.ref.length() > room || entry.ref.offset() < above) {
                continue;
            }
            boolean better = best == null || entry.ref.length() > best.ref.length()
                    || (entry.ref.length() == best.ref.length() && entry.ref.offset() > best.ref.offset());
            best = better && movable(space, slot) != null ? entry : best;
        }
        return best;
    }

    private @Nullable Entry movable(Space space, int slot) {
        Entry entry = isSettled.test(slot) ? table.entry(slot) : null;
        return entry != null && isFree(space, entry) && table.names(entry) ? entry : null;
    }

    private boolean isFree(Space space, Entry entry) {
        return !space.isPinnedElsewhere(entry.slot) && table.words.holds(entry.slot) == 0
                && table.words.get(entry.slot) == ControlWords.word(entry.generation, BlockState.WRITTEN, 0);
    }

    private @Nullable Move begin(Entry entry, int local, long endOfHole) {
        Relocator by = relocator;
        if (local == BlockPool.NONE || by == null) {
            return null;
        }
        Lease to = table.lease(entry.space, local, entry.ref.id(), entry.ref.length());
        Relocator.Copy copy = by.copy(entry.ref, entry.space.region(), to.offset());
        if (copy == null) {
            table.giveBack(to);
            return null;
        }
        return new Move(entry, to, copy, endOfHole);
    }

    private void end(Move ended) {
        Entry entry = ended.entry;
        if (!ended.copy.isWhole() || table.closed || !isFree(entry.space, entry)
                || !publication.moved(entry, ended.to)) {
            table.giveBack(ended.to);
            from = ended.endOfHole;
            return;
        }
        counters.increment(Counter.BLOCKS_COMPACTED);
        counters.add(Counter.BYTES_COMPACTED, entry.ref.length());
    }
}
