package io.mooncake.core.manager;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.NextUse;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * What decides about every slot: its control word, and beside it, on the same cache line, when it was used last, its fate and its
 * holds. Any thread; allocates nothing.
 *
 * <pre>
 *   word 0   generation:40 | state:4 | pins:20     every change is a CAS
 *   word 1   last use, a tick of the node's clock  opaque: an advice, not an order
 *   word 2   fate                                  why the slot is to be retired; 0 while it is not
 *   word 3   holds                                 pins that belong to holds: they keep a retired block readable by its reference
 * </pre>
 *
 * <p>The generation is the low 40 bits of the guard's. A pin names the generation that it expects, so that a slot that was freed
 * and taken again in between is never pinned by mistake. Pins never wrap: the last one is refused.
 */
public final class ControlWords {
    /** Pins that a slot can have at most. */
    public static final int MAX_PINS = (1 << 20) - 1;

    private static final VarHandle WORDS = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int PIN_BITS = 20;
    private static final int STATE_BITS = 4;
    private static final long STATE_MASK = (1 << STATE_BITS) - 1;
    private static final long GENERATION_MASK = (1L << 40) - 1;

    /** 64 bytes a slot: two slots' words never share a cache line. */
    private static final int STRIDE = 8;
    private static final int LAST_USE = 1;
    private static final int FATE = 2;
    private static final int HOLDS = 3;
    private static final int NEXT_USE = 4;
    /** The tick of the request that brought the block. */
    private static final int BROUGHT = 5;
    /** Requests that used it since; {@link #UNTOUCHED} before the one that brought it has said so. */
    private static final int USES = 6;
    private static final int DEPTH = 7;

    private static final int[] OF_USE = {LAST_USE, NEXT_USE, BROUGHT, USES, DEPTH};
    private static final long UNTOUCHED = -1;
    /** The same, and nobody has asked for the block yet: it was fetched ahead. */
    private static final long AHEAD = -2;

    private final long[] words;

    /**
     * All slots are FREE, of generation 0.
     *
     * @param slots how many
     */
    public ControlWords(int slots) {
        words = new long[Math.multiplyExact(slots, STRIDE)];
    }

    /**
     * Puts a control word together.
     *
     * @param generation which allocation of the slot; its low 40 bits count
     * @param state the slot's state
     * @param pins 0 to {@link #MAX_PINS}
     * @return the word
     */
    public static long word(long generation, BlockState state, int pins) {
        return ((((generation & GENERATION_MASK) << STATE_BITS) | code(state)) << PIN_BITS) | pins;
    }

    private static long code(BlockState state) {
        return switch (state) {
            case FREE -> 0;
            case ALLOCATED -> 1;
            case WRITTEN -> 2;
            case EVICTED -> 3;
        };
    }

    /**
     * Takes the state out of a word.
     *
     * @param word a control word
     * @return its state
     */
    public static BlockState state(long word) {
        return BlockState.of((int) ((word >>> PIN_BITS) & STATE_MASK));
    }

    /**
     * Takes the pins out of a word.
     *
     * @param word a control word
     * @return 0 to {@link #MAX_PINS}
     */
    public static int pins(long word) {
        return (int) word & MAX_PINS;
    }

    /**
     * Takes the generation out of a word.
     *
     * @param word a control word
     * @return the low 40 bits of the generation
     */
    public static long generation(long word) {
        return word >>> (PIN_BITS + STATE_BITS);
    }

    /**
     * Reads a control word.
     *
     * @param slot which
     * @return as it is now
     */
    public long get(int slot) {
        return (long) WORDS.getVolatile(words, slot * STRIDE);
    }

    /**
     * Counts a pin up if the slot is WRITTEN in a generation.
     *
     * @param slot which
     * @param generation the one expected
     * @return false when it is not, or when no pin is left
     */
    public boolean pin(int slot, long generation) {
        int at = slot * STRIDE;
        // A guess instead of a look first: a hot block's cache line then comes over once and not twice.
        long before = word(generation, BlockState.WRITTEN, 0);
        long wanted = before >>> PIN_BITS;
        while (before >>> PIN_BITS == wanted && (before & MAX_PINS) != MAX_PINS) {
            long seen = (long) WORDS.compareAndExchange(words, at, before, before + 1);
            if (seen == before) {
                return true;
            }
            before = seen;
        }
        return false;
    }

    /**
     * Counts a pin down.
     *
     * @param slot which
     * @param generation the one that was pinned
     * @return true when this was the last pin of an EVICTED slot: then, once, the slot is to be marked
     * @throws MooncakeException ILLEGAL_STATE, with nothing changed, when the slot has no pin in that generation
     */
    public boolean unpin(int slot, long generation) {
        int at = slot * STRIDE;
        long written = word(generation, BlockState.WRITTEN, 0) >>> PIN_BITS;
        long evicted = word(generation, BlockState.EVICTED, 0) >>> PIN_BITS;
        // As in pin: a guess, the most likely word.
        long before = word(generation, BlockState.WRITTEN, 1);
        while (true) {
            long rest = before >>> PIN_BITS;
            if ((rest != written && rest != evicted) || (before & MAX_PINS) == 0) {
                throw new MooncakeException(Kind.ILLEGAL_STATE, "slot " + slot + " has no pin in generation "
                        + (generation & GENERATION_MASK) + ": it is " + describe(before)
                        + "; unpin once what was pinned");
            }
            long seen = (long) WORDS.compareAndExchange(words, at, before, before - 1);
            if (seen == before) {
                return rest == evicted && (before & MAX_PINS) == 1;
            }
            before = seen;
        }
    }

    /**
     * FREE to ALLOCATED, by whoever reserved the slot. Forgets the fate of the block before.
     *
     * @param slot which
     * @param generation the new one
     * @return false, with nothing changed, when the slot is not FREE
     */
    public boolean allocated(int slot, long generation) {
        long before = get(slot);
        if (state(before) != BlockState.FREE || pins(before) != 0) {
            return false;
        }
        WORDS.setVolatile(words, slot * STRIDE + FATE, 0L);
        return WORDS.compareAndSet(words, slot * STRIDE, before, word(generation, BlockState.ALLOCATED, 0));
    }

    /**
     * ALLOCATED to WRITTEN, by the slot's writer.
     *
     * @param slot which
     * @param generation the slot's
     * @param pins taken in the same step
     * @return false, with nothing changed, when the slot is not ALLOCATED in that generation
     */
    public boolean written(int slot, long generation, int pins) {
        return WORDS.compareAndSet(words, slot * STRIDE, word(generation, BlockState.ALLOCATED, 0),
                word(generation, BlockState.WRITTEN, pins));
    }

    /**
     * WRITTEN to EVICTED if nobody has a pin: what a policy may do.
     *
     * @param slot which
     * @param generation the slot's
     * @return false, with nothing changed, when the slot is pinned or not WRITTEN in that generation
     */
    public boolean evictedUnpinned(int slot, long generation) {
        return WORDS.compareAndSet(words, slot * STRIDE, word(generation, BlockState.WRITTEN, 0),
                word(generation, BlockState.EVICTED, 0));
    }

    /**
     * WRITTEN to EVICTED unless a hold keeps it; pins stay and are counted down later.
     *
     * @param slot which
     * @param generation the slot's
     * @return false, with nothing changed, when the slot is held or not WRITTEN in that generation
     */
    public boolean evictedUnheld(int slot, long generation) {
        int at = slot * STRIDE;
        long wanted = word(generation, BlockState.WRITTEN, 0) >>> PIN_BITS;
        while (true) {
            long before = (long) WORDS.getVolatile(words, at);
            // A hold counts itself before it pins, so whoever pinned for a hold after this look makes the CAS fail.
            if (before >>> PIN_BITS != wanted || (long) WORDS.getVolatile(words, at + HOLDS) != 0) {
                return false;
            }
            if (WORDS.compareAndSet(words, at, before, word(generation, BlockState.EVICTED, pins(before)))) {
                return true;
            }
        }
    }

    /**
     * ALLOCATED or EVICTED, without a pin, to FREE.
     *
     * @param slot which
     * @param generation the slot's
     * @param from ALLOCATED or EVICTED
     * @return false, with nothing changed, when the slot is not that
     */
    public boolean freed(int slot, long generation, BlockState from) {
        return from.mayBecome(BlockState.FREE) && WORDS.compareAndSet(words, slot * STRIDE, word(generation, from, 0),
                word(generation, BlockState.FREE, 0));
    }

    /**
     * Counts a hold before its pin is taken.
     *
     * @param slot which
     */
    public void holdBegins(int slot) {
        WORDS.getAndAdd(words, slot * STRIDE + HOLDS, 1L);
    }

    /**
     * Counts a hold down, after its pin was given back.
     *
     * @param slot which
     * @return true when the slot is to be marked: it was to be retired, and a hold may have kept it
     */
    public boolean holdEnds(int slot) {
        WORDS.getAndAdd(words, slot * STRIDE + HOLDS, -1L);
        return fate(slot) != 0;
    }

    /**
     * Holds that keep the slot.
     *
     * @param slot which
     * @return 0 and up
     */
    public long holds(int slot) {
        return (long) WORDS.getVolatile(words, slot * STRIDE + HOLDS);
    }

    /**
     * Says why the slot is to be retired.
     *
     * @param slot which
     * @param fate not 0
     */
    public void fate(int slot, long fate) {
        WORDS.setVolatile(words, slot * STRIDE + FATE, fate);
    }

    /**
     * Why the slot is to be retired.
     *
     * @param slot which
     * @return 0 when it is not
     */
    public long fate(int slot) {
        return (long) WORDS.getVolatile(words, slot * STRIDE + FATE);
    }

    /**
     * A new block, by its writer before it is WRITTEN.
     *
     * @param slot which
     * @param tick of the node's clock
     */
    public void brought(int slot, long tick) {
        int at = slot * STRIDE;
        WORDS.setOpaque(words, at + LAST_USE, tick);
        WORDS.setOpaque(words, at + BROUGHT, tick);
        WORDS.setOpaque(words, at + USES, UNTOUCHED);
        WORDS.setOpaque(words, at + DEPTH, 0L);
        WORDS.setOpaque(words, at + NEXT_USE, NextUse.UNKNOWN);
    }

    /**
     * Stores a use.
     *
     * @param slot which
     * @param tick of the node's clock
     */
    public void used(int slot, long tick) {
        WORDS.setOpaque(words, slot * STRIDE + LAST_USE, tick);
    }

    /**
     * Says that a block which was just brought was not asked for.
     *
     * @param slot which
     */
    public void ahead(int slot) {
        WORDS.compareAndSet(words, slot * STRIDE + USES, UNTOUCHED, AHEAD);
    }

    /**
     * Whether the slot's block was fetched ahead, and no request has said that it uses it.
     *
     * @param slot which
     * @return false from the first such use on
     */
    public boolean isAhead(int slot) {
        return (long) WORDS.getOpaque(words, slot * STRIDE + USES) == AHEAD;
    }

    /**
     * Stores a request's use. Two at the same time may count as one.
     *
     * @param slot which
     * @param tick of the node's clock
     * @param depth the block's place in the request
     * @return whether that is the first one of a block that was fetched ahead
     */
    public boolean used(int slot, long tick, int depth) {
        int at = slot * STRIDE;
        long uses = (long) WORDS.getOpaque(words, at + USES);
        if (uses < 0) {
            // The first request to say so is the one that brought the block: that is no reuse.
            WORDS.setOpaque(words, at + BROUGHT, tick);
        }
        WORDS.setOpaque(words, at + USES, Math.max(UNTOUCHED, uses) + 1);
        WORDS.setOpaque(words, at + DEPTH, (long) depth);
        WORDS.setOpaque(words, at + LAST_USE, tick);
        return uses == AHEAD;
    }

    /**
     * How many requests have used the slot since the one that brought its block.
     *
     * @param slot which
     * @return 0 and up; 1 where only uses were stored that were no request's
     */
    public int uses(int slot) {
        int at = slot * STRIDE;
        long uses = (long) WORDS.getOpaque(words, at + USES);
        if (uses > 0) {
            return (int) uses;
        }
        return (long) WORDS.getOpaque(words, at + LAST_USE) == (long) WORDS.getOpaque(words, at + BROUGHT) ? 0 : 1;
    }

    /**
     * The place of the slot's block in the last request that used it, or that was foretold.
     *
     * @param slot which
     * @return 0 and up
     */
    public int depth(int slot) {
        return (int) (long) WORDS.getOpaque(words, slot * STRIDE + DEPTH);
    }

    /**
     * Foretells a use.
     *
     * @param slot which
     * @param nextUse a tick of the node's clock, or a word of {@link NextUse}
     * @param depth the block's place in the request
     */
    public void foretold(int slot, long nextUse, int depth) {
        int at = slot * STRIDE;
        WORDS.setOpaque(words, at + DEPTH, (long) depth);
        WORDS.setVolatile(words, at + NEXT_USE, nextUse);
    }

    /**
     * Foretells a use, unless something else was foretold meanwhile.
     *
     * @param slot which
     * @param before what was foretold
     * @param nextUse as {@link #foretold}
     * @return false, with nothing changed, when it was something else
     */
    public boolean foretoldInstead(int slot, long before, long nextUse) {
        return WORDS.compareAndSet(words, slot * STRIDE + NEXT_USE, before, nextUse);
    }

    /**
     * A block goes on in another slot: what is known of its use goes with it.
     *
     * @param slot where it goes on
     * @param from where it was
     */
    public void inherits(int slot, int from) {
        for (int word : OF_USE) {
            WORDS.setOpaque(words, slot * STRIDE + word, (long) WORDS.getOpaque(words, from * STRIDE + word));
        }
    }

    /**
     * A foretold use whose time is over counts as a use.
     *
     * @param slot which
     * @param nextUse as {@link #nextUse} said
     * @return false, with nothing changed, when something else was foretold meanwhile
     */
    public boolean endNextUse(int slot, long nextUse) {
        int at = slot * STRIDE;
        if (!foretoldInstead(slot, nextUse, NextUse.UNKNOWN)) {
            return false;
        }
        long last = (long) WORDS.getOpaque(words, at + LAST_USE);
        if (nextUse - last > 0) {
            WORDS.setOpaque(words, at + LAST_USE, nextUse);
        }
        return true;
    }

    /**
     * When the slot will be used next.
     *
     * @param slot which
     * @return a tick of the node's clock, or a word of {@link NextUse}
     */
    public long nextUse(int slot) {
        return (long) WORDS.getVolatile(words, slot * STRIDE + NEXT_USE);
    }

    /**
     * When the slot was used last.
     *
     * @param slot which
     * @return a tick of the node's clock
     */
    public long lastUse(int slot) {
        return (long) WORDS.getOpaque(words, slot * STRIDE + LAST_USE);
    }

    /**
     * Writes a word for messages.
     *
     * @param word a control word
     * @return for example {@code WRITTEN with 2 pins in generation 7}
     */
    static String describe(long word) {
        return state(word) + " with " + pins(word) + " pins in generation " + generation(word);
    }
}
