package io.mooncake.core.block;

/**
 * When a block will be used next, as far as somebody knows: a time on the node's nano clock, or one of the two words here.
 *
 * <p>Blocks whose next use lies furthest ahead leave a tier first, so this decides before anything that was observed does.
 */
public final class NextUse {
    /** Nobody knows: observed reuse decides. */
    public static final long UNKNOWN = Long.MIN_VALUE;
    /** Not any more: it goes before every other. */
    public static final long NEVER = Long.MAX_VALUE;

    private NextUse() {}
}
