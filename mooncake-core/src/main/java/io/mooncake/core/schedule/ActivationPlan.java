package io.mooncake.core.schedule;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Which blocks leave the fast memory now and which come back, where it is known exactly when each is used: activations, which are written at
 * one step and read at a few later ones. Immutable; {@link #of} is a pure function.
 *
 * <pre>
 *   leaves    the furthest next use, as soon as one block fewer a step would be too late for a write that is to come
 *   comes     the nearest next use, as soon as it has a slot that no write takes before that, as many at a time as the way back holds
 * </pre>
 *
 * <p>Steps are the unit of time. What is used no more is dropped by whoever knows that, and never moved.
 *
 * @param leave blocks to be moved out, in this order
 * @param come blocks to be brought back, in this order
 */
public record ActivationPlan(List<Integer> leave, List<Integer> come) {
    /** Copies. */
    public ActivationPlan {
        leave = List.copyOf(leave);
        come = List.copyOf(come);
    }

    /**
     * A block and when it is used next.
     *
     * @param block the caller's number
     * @param nextUse its step
     */
    public record Use(int block, long nextUse) {}

    /**
     * What is known at one moment.
     *
     * @param step now
     * @param slots of the fast memory, all of them
     * @param near blocks that are there and are not moving, those that are being used now left out
     * @param busy slots that are taken otherwise: by blocks that are being used, or are on their way in
     * @param leaving slots of blocks that are on their way out
     * @param far blocks that are only elsewhere, and not on their way in
     * @param coming blocks that are on their way in
     * @param ahead for this step and those that follow: slots that are taken by writes, less those that fall free as blocks are used for the
     *     last time
     * @param out the way out
     * @param back the way back
     */
    public record Moment(long step, int slots, List<Use> near, int busy, int leaving, List<Use> far, int coming,
            List<Integer> ahead, Link out, Link back) {
        /** Copies. */
        public Moment {
            near = List.copyOf(near);
            far = List.copyOf(far);
            ahead = List.copyOf(ahead);
        }
    }

    /**
     * A way, as {@linkplain LinkMeter measured}.
     *
     * @param blocksPerStep that it takes, more than 0
     * @param delaySteps how much longer than that one block is on its way
     * @param window blocks on their way at a time
     */
    public record Link(double blocksPerStep, double delaySteps, int window) {
        /**
         * Checks the numbers.
         *
         * @throws MooncakeException INVALID_ARGUMENT
         */
        public Link {
            if (!(blocksPerStep > 0) || !(delaySteps >= 0) || window < 1) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT, "a way of " + blocksPerStep
                        + " blocks a step, " + window + " at a time, with a delay of " + delaySteps
                        + " steps: the first two must be positive, the delay not negative");
            }
        }
    }

    /**
     * Decides.
     *
     * @param moment what is known
     * @return what to begin now
     */
    public static ActivationPlan of(Moment moment) {
        List<Integer> leave = leave(moment);
        return new ActivationPlan(leave, come(moment));
    }

    private static List<Integer> leave(Moment moment) {
        int wanted = Math.min(moment.out.window - moment.leaving, mustLeave(moment));
        return moment.near.stream()
                .sorted(Comparator.comparingLong(Use::nextUse).reversed())
                .limit(Math.max(0, wanted))
                .map(Use::block)
                .toList();
    }

    /** How many have to be on their way now, beyond those that are, so that every write ahead finds a slot. */
    private static int mustLeave(Moment moment) {
        int taken = moment.near.size() + moment.busy;
        int most = 0;
        for (int k = 0; k < moment.ahead.size(); k++) {
            taken += moment.ahead.get(k);
            // What the way can do by then from the next step on, when it is asked again.
            double steps = Math.max(0, k - 1 - moment.out.delaySteps);
            int inTime = (int) Math.floor(moment.out.blocksPerStep * steps);
            if (taken > moment.slots && taken - moment.slots + moment.leaving > inTime) {
                most = Math.max(most, taken - moment.slots);
            }
        }
        return most;
    }

    private static List<Integer> come(Moment moment) {
        List<Integer> come = new ArrayList<>();
        int free = moment.slots - moment.near.size() - moment.busy - moment.leaving;
        List<Use> nearest = moment.far.stream().sorted(Comparator.comparingLong(Use::nextUse)).toList();
        for (Use use : nearest) {
            if (moment.coming + come.size() >= moment.back.window
                    || free - come.size() - mostTaken(moment, use.nextUse) < 1) {
                break;
            }
            come.add(use.block);
        }
        return come;
    }

    /** The most slots that writes take, beyond those that fall free, at any time before a step. */
    private static int mostTaken(Moment moment, long before) {
        int taken = 0;
        int most = 0;
        for (int k = 0; k < moment.ahead.size() && moment.step + k < before; k++) {
            taken += moment.ahead.get(k);
            most = Math.max(most, taken);
        }
        return most;
    }
}
