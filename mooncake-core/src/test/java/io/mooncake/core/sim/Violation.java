package io.mooncake.core.sim;

/** One of the eight invariants does not hold. */
public final class Violation extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Which, 1 to 8, as docs/architecture.md numbers them. */
    private final int invariant;

    Violation(int invariant, String what) {
        super("invariant " + invariant + ": " + what);
        this.invariant = invariant;
    }

    /** Which, 1 to 8. */
    public int invariant() {
        return invariant;
    }
}
