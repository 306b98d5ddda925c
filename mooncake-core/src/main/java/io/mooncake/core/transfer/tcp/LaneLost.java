package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.MooncakeException.Kind;
import java.io.IOException;

/** Why a connection ends, where the system has no exception of its own for it. */
final class LaneLost extends IOException {
    private static final long serialVersionUID = 1L;

    private final Kind kind;

    LaneLost(Kind kind, String message) {
        super(message);
        this.kind = kind;
    }

    Kind kind() {
        return kind;
    }
}
