package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import java.util.function.LongSupplier;

/** One process life of a node: who it is, what time it is, and whether it is ending. Any thread. */
final class Life {
    final NodeId id;
    private final LongSupplier nanoClock;
    private volatile boolean closing;

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
        if (closing) {
            throw new MooncakeException(Kind.CLOSED, "node " + id + " is closed");
        }
    }

    /** True for whoever closes first. */
    synchronized boolean beginClosing() {
        boolean first = !closing;
        closing = true;
        return first;
    }
}
