package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.MooncakeException.Kind;
import java.io.IOException;

/** Why a connection ends, where the system has no exception of its own for it. */
final class LaneLost extends IOException {
    private static final long serialVersionUID = 1L;

    /** What another lane is good for. */
    private enum Next {
        AT_ONCE, LATER, NEVER
    }

    private final Kind kind;
    private final Next next;

    LaneLost(Kind kind, String message) {
        this(kind, message, Next.AT_ONCE);
    }

    private LaneLost(Kind kind, String message, Next next) {
        super(message);
        this.kind = kind;
        this.next = next;
    }

    /** The peer said nothing for too long: trying again at once would only wait again. */
    static LaneLost stalled(String message) {
        return new LaneLost(Kind.PEER_UNREACHABLE, message, Next.LATER);
    }

    /** The peer is said to be dead: its reads are not tried again. */
    static LaneLost dead(String reason) {
        return new LaneLost(Kind.PEER_UNREACHABLE, "it is dead: " + reason, Next.NEVER);
    }

    Kind kind() {
        return kind;
    }

    boolean isStall() {
        return next == Next.LATER;
    }

    boolean isDeath() {
        return next == Next.NEVER;
    }
}
