package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a plan is carried out. Immutable.
 *
 * @param timeout for all of it: then it fails, and every node gives back by itself what it has for it
 * @param onStep called on the callback executor when a step has ended; null = nothing
 * @param onDone called on the callback executor once, when the run has ended; null = nothing
 */
public record PlanOptions(Duration timeout, @Nullable Consumer<? super PlanRun.StepEnd> onStep,
        @Nullable Consumer<? super PlanRun> onDone) {
    /** Two minutes, nobody is told. */
    public static final PlanOptions DEFAULT = new PlanOptions(Duration.ofMinutes(2), null, null);

    /**
     * Checks the timeout.
     *
     * @throws MooncakeException INVALID_ARGUMENT when it is not positive
     */
    public PlanOptions {
        if (timeout.isNegative() || timeout.isZero()) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "plan timeout " + timeout + " must be positive");
        }
    }

    /**
     * With a timeout.
     *
     * @param timeout for all of it, positive
     * @return a copy
     */
    public PlanOptions withTimeout(Duration timeout) {
        return new PlanOptions(timeout, onStep, onDone);
    }

    /**
     * With a callback for each step.
     *
     * @param onStep called when it has ended
     * @return a copy
     */
    public PlanOptions withSteps(Consumer<? super PlanRun.StepEnd> onStep) {
        return new PlanOptions(timeout, onStep, onDone);
    }

    /**
     * With a callback for the end.
     *
     * @param onDone called once
     * @return a copy
     */
    public PlanOptions withCallback(Consumer<? super PlanRun> onDone) {
        return new PlanOptions(timeout, onStep, onDone);
    }
}
