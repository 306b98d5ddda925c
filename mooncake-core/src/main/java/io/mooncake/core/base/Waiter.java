package io.mooncake.core.base;

import java.util.function.BooleanSupplier;

/**
 * How a caller waits for something that agents do: it idles, or, where the caller itself runs the agents (INVOKER), it runs them.
 */
@FunctionalInterface
public interface Waiter {
    /**
     * Waits.
     *
     * @param done asked again and again; must be cheap
     * @param deadlineNs on the node's nano clock
     * @return what done answered last: false when the deadline passed first or the thread was interrupted (its flag stays set)
     */
    boolean await(BooleanSupplier done, long deadlineNs);
}
