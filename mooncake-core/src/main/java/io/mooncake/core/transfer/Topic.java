package io.mooncake.core.transfer;

import org.jspecify.annotations.Nullable;

/** Whom a control message is for. Its number is part of the protocol: see docs/protocol.md. */
public enum Topic {
    /** The embedding application: {@code Node.send}. */
    APPLICATION(0),
    /** The registry: facts of nodes and blocks. */
    REGISTRY(1),
    /** Engines over one-sided READs, which connect their lanes by it. */
    LANES(2),
    /** Nodes that leave: blocks that others are asked to take. */
    BLOCKS(3),
    /** Nodes that want to read blocks which others have only in a file. */
    WANTED(4),
    /** Nodes that ask others to take blocks, and what became of that. */
    MOVES(5),
    /** Nodes that give others steps of plans, and what became of those. */
    PLANS(6);

    private static final Topic[] BY_NUMBER = {APPLICATION, REGISTRY, LANES, BLOCKS, WANTED, MOVES, PLANS};

    private final int number;

    Topic(int number) {
        this.number = number;
    }

    /**
     * What stands on the wire.
     *
     * @return from 0
     */
    public int number() {
        return number;
    }

    /**
     * Finds a topic.
     *
     * @param number from outside
     * @return null for one that this version does not know
     */
    public static @Nullable Topic of(long number) {
        return number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[(int) number] : null;
    }
}
