package io.mooncake.core.schedule;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Who does what for a request, and what has to come before it: a graph of steps, each at one node. Immutable.
 *
 * <pre>
 *   prefill node    RESERVE ─▶ TRANSFER cached ─▶ PREFILL ─▶ SEAL ─▶ PREFILL ─▶ SEAL ─────────▶ RELEASE
 *                                                              │                  │                ▲
 *   decode node     RESERVE ─▶ TRANSFER cached ───────────▶ TRANSFER ───────▶ TRANSFER ─▶ DECODE ─▶ RELEASE
 * </pre>
 *
 * <p>What is computed goes over in runs, while the next one is computed. Room is reserved at one node after the other, by their names, so
 * that no two plans wait for each other.
 *
 * @param prefill who computes what is not cached; null when all of it is
 * @param decode who gets all blocks and goes on from there
 * @param steps in an order in which they may be done
 */
public record PlacementPlan(@Nullable NodeId prefill, NodeId decode, List<Step> steps) {
    /** Steps at most. */
    public static final int MAX_STEPS = 4096;

    /** What is done in a step. */
    public enum Action {
        /** Holds the blocks that are there, and sets room aside for the others; all of them or none. */
        RESERVE,
        /** Pulls blocks that are not there from whoever has them. */
        TRANSFER,
        /** Computes blocks that are not there: the caller's work. */
        PREFILL,
        /** Makes what was computed readable, and holds it. */
        SEAL,
        /** Uses all blocks: the caller's work. */
        DECODE,
        /** Gives back what the plan has at the node; the blocks stay as long as there is room. */
        RELEASE;

        /**
         * Whether the caller does it.
         *
         * @return PREFILL, DECODE
         */
        public boolean isComputing() {
            return this == PREFILL || this == DECODE;
        }
    }

    /**
     * One step.
     *
     * @param action what is done
     * @param node where
     * @param from the first block of the request that it is about
     * @param until the one behind the last
     * @param after indexes of the steps that must have been done before, all lower than its own
     */
    public record Step(Action action, NodeId node, int from, int until, List<Integer> after) {
        /** Copies. */
        public Step {
            after = List.copyOf(after);
        }
    }

    /**
     * Copies, and checks that there are not too many steps and that none waits for a later one.
     *
     * @throws MooncakeException INVALID_ARGUMENT
     */
    public PlacementPlan {
        steps = List.copyOf(steps);
        if (steps.size() > MAX_STEPS) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "a plan of " + steps.size()
                    + " steps: give each step more blocks, so that there are at most " + MAX_STEPS);
        }
        for (int i = 0; i < steps.size(); i++) {
            Step step = steps.get(i);
            for (int before : step.after) {
                if (before < 0 || before >= i) {
                    throw new MooncakeException(Kind.INVALID_ARGUMENT, "step " + i + " of a plan, " + step
                            + ", comes after step " + before + ": order them so that it comes after earlier ones only");
                }
            }
            if (step.from < 0 || step.until <= step.from) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT,
                        "step " + i + " of a plan, " + step + ", is about no block: leave it out");
            }
        }
    }
}
