package io.mooncake.core.transfer.tcp;

import java.io.IOException;

/** Why a server refuses a connection in the handshake: what its client is told, and what stands in this node's log. */
final class Refusal extends IOException {
    private static final long serialVersionUID = 1L;

    private final int why;
    private final String told;

    /** The client may know everything. */
    Refusal(int why, String text) {
        this(why, text, text);
    }

    Refusal(int why, String told, String logged) {
        super(logged);
        this.why = why;
        this.told = told;
    }

    int why() {
        return why;
    }

    String told() {
        return told;
    }
}
