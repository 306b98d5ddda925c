package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.CompletionQueue;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a transfer is carried out. Immutable.
 *
 * @param timeout what each submission has; null = the node's default
 * @param onDone called on the callback executor once a submission, when it is done; null = nothing
 * @param completions where it can be polled once a submission, when it is done; null = nowhere
 * @param priority which transfers that wait for the same peer it goes before
 */
public record TransferOptions(@Nullable Duration timeout, @Nullable Consumer<? super Transfer> onDone,
        @Nullable CompletionQueue completions, Priority priority) {
    /** The node's timeout, no callback, no queue, somebody waits for it. */
    public static final TransferOptions DEFAULT = new TransferOptions(null, null, null, Priority.LOAD);

    /**
     * Checks the timeout.
     *
     * @throws MooncakeException INVALID_ARGUMENT when it is not positive
     */
    public TransferOptions {
        if (timeout != null && (timeout.isNegative() || timeout.isZero())) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "transfer timeout " + timeout + " must be positive");
        }
    }

    /**
     * With a timeout.
     *
     * @param timeout what each submission has, positive
     * @return a copy
     */
    public TransferOptions withTimeout(Duration timeout) {
        return new TransferOptions(timeout, onDone, completions, priority);
    }

    /**
     * With a callback.
     *
     * @param onDone called once a submission
     * @return a copy
     */
    public TransferOptions withCallback(Consumer<? super Transfer> onDone) {
        return new TransferOptions(timeout, onDone, completions, priority);
    }

    /**
     * With a queue to poll.
     *
     * @param completions of the store that prepares it
     * @return a copy
     */
    public TransferOptions withCompletions(CompletionQueue completions) {
        return new TransferOptions(timeout, onDone, completions, priority);
    }

    /**
     * With a priority.
     *
     * @param priority LOAD when somebody waits for it, else BACKGROUND
     * @return a copy
     */
    public TransferOptions withPriority(Priority priority) {
        return new TransferOptions(timeout, onDone, completions, priority);
    }
}
