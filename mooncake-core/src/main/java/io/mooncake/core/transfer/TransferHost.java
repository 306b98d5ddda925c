package io.mooncake.core.transfer;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import java.util.function.BooleanSupplier;

/** What a transfer needs of its node. */
public interface TransferHost {
    /**
     * Refuses a submission to a closed node.
     *
     * @throws MooncakeException CLOSED
     */
    void checkOpen();

    /**
     * The node's clock.
     *
     * @return nanoseconds
     */
    long nowNs();

    /**
     * Runs agents in the waiting thread, where it is the one that runs them.
     *
     * @param done when to stop
     * @param deadlineNs when to stop at the latest
     * @return false where other threads run the agents: then the caller is to wait
     */
    boolean pump(BooleanSupplier done, long deadlineNs);

    /**
     * Has {@link Transfer#runCallback} called by a node thread; cannot be refused.
     *
     * @param transfer whose
     */
    void dispatch(Transfer transfer);

    /**
     * Counts.
     *
     * @param counter what
     */
    void count(Counter counter);
}
