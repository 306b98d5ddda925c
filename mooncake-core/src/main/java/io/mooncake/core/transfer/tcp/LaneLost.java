package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.MooncakeException.Kind;
import java.io.IOException;

/** Why a connection ends, where the system has no exception of its own for it. */
final class LaneLost extends IOException {
    private static final long serialVersionUID = 1L;

    private final Kind kind;
    private final boolean stall;

    LaneLost(Kind kind, String message) {
        this(kind, message, false);
    }

    private LaneLost(Kind kind, String message, boolean stall) {
        super(message);
        this.kind = kind;
        this.stall = stall;
    }

    /** The peer said nothing for too long: trying again at once would only wait again. */
    static LaneLost stalled(String message) {
        return new LaneLost(Kind.PEER_UNREACHABLE, message, true);
    }

    Kind kind() {
        return kind;
    }

    boolean isStall() {
        return stall;
    }
}
