package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** One process life of a node: who it is, what time it is, and whether and why it is ending. Any thread. */
final class Life {
    final NodeId id;
    private final LongSupplier nanoClock;
    private volatile boolean leaving;
    private volatile boolean closing;
    private volatile @Nullable String stopped;
    private @Nullable Runnable stopper;

    Life(NodeId id, LongSupplier nanoClock) {
        this.id = id;
        this.nanoClock = nanoClock;
    }

    long nowNs() {
        return nanoClock.getAsLong();
    }

    boolean isClosing() {
        return closing;
    }

    void checkOpen() {
        String why = whyNot();
        if (why != null) {
            throw new MooncakeException(Kind.CLOSED, why);
        }
    }

    /** Refuses new blocks in a node that leaves. */
    void checkTakesBlocks() {
        checkOpen();
        if (leaving) {
            throw new MooncakeException(Kind.CLOSED, "node " + id + " leaves: it takes no block any more");
        }
    }

    void beginLeaving() {
        leaving = true;
    }

    /** Why the node does nothing more; null when it does. */
    @Nullable
    String whyNot() {
        String why = stopped;
        return why != null ? "node " + id + " is stopped: " + why : closing ? "node " + id + " is closed" : null;
    }

    /** True for whoever closes first. */
    synchronized boolean beginClosing() {
        boolean first = !closing;
        closing = true;
        return first;
    }

    /** The node must not go on. */
    synchronized void stop(String why) {
        if (stopped == null) {
            stopped = why;
            if (stopper != null) {
                stopper.run();
            }
        }
    }

    /** What is to be done when it must not go on; must not block. */
    synchronized void onStop(Runnable stops) {
        stopper = stops;
        if (stopped != null) {
            stops.run();
        }
    }
}
