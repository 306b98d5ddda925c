package io.mooncake.core.manager;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The slots that the conductor is to look at: a stack with one link and one bit a slot, so that marking needs no memory and can't be
 * refused. Marking is for any thread, taking for one.
 *
 * <pre>
 *   link   marked:1 | ... | next slot + 1:32     0 in the low half = end
 * </pre>
 *
 * <p>Marking a slot that is marked already does nothing: the taker clears the bit before it looks at the slot, both by
 * read-modify-writes of the same word, so whatever was done before a mark that found the bit set is seen by that look.
 */
public final class MarkStack {
    /** What {@link #take} answers when nothing is marked. */
    public static final int NONE = -1;

    private static final VarHandle LINKS = MethodHandles.arrayElementVarHandle(long[].class);
    private static final VarHandle HEAD;
    private static final long MARKED = 1L << 63;

    static {
        try {
            HEAD = MethodHandles.lookup().findVarHandle(MarkStack.class, "head", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final long[] links;

    @SuppressWarnings("unused") // by HEAD
    private volatile int head;

    /** The taker's alone: the rest of the chain that it took. */
    private int chain;

    /**
     * Nothing is marked.
     *
     * @param slots how many
     */
    public MarkStack(int slots) {
        links = new long[slots];
    }

    /**
     * Marks a slot.
     *
     * @param slot which
     */
    public void mark(int slot) {
        if (((long) LINKS.getAndBitwiseOr(links, slot, MARKED) & MARKED) != 0) {
            return;
        }
        int below = (int) HEAD.getVolatile(this);
        while (true) {
            LINKS.setOpaque(links, slot, MARKED | below);
            int seen = (int) HEAD.compareAndExchange(this, below, slot + 1);
            if (seen == below) {
                return;
            }
            below = seen;
        }
    }

    /**
     * Takes a marked slot; it may be marked again from then on.
     *
     * @return the slot, or {@link #NONE}
     */
    public int take() {
        if (chain == 0) {
            chain = (int) HEAD.getAndSet(this, 0);
            if (chain == 0) {
                return NONE;
            }
        }
        int slot = chain - 1;
        chain = (int) (long) LINKS.getAndSet(links, slot, 0L);
        return slot;
    }
}
