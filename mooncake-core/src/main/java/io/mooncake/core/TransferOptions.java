package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a transfer is carried out. Immutable.
 *
 * @param timeout what each submission has; null = the node's default
 * @param onDone called on the callback executor once a submission, when it is done; null = nothing
 */
public record TransferOptions(@Nullable Duration timeout, @Nullable Consumer<? super Transfer> onDone) {
    /** The node's timeout, no callback. */
    public static final TransferOptions DEFAULT = new TransferOptions(null, null);

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
        return new TransferOptions(timeout, onDone);
    }

    /**
     * With a callback.
     *
     * @param onDone called once a submission
     * @return a copy
     */
    public TransferOptions withCallback(Consumer<? super Transfer> onDone) {
        return new TransferOptions(timeout, onDone);
    }
}
