package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;

/**
 * What a fabric's queues hold. Immutable.
 *
 * @param completions entries of the completion queue that all lanes share; every posted request takes one until it was polled, since a
 *     broken lane turns each into a completion
 * @param requestsPerLane requests outstanding on one lane
 * @param requestBytes bytes of one request
 */
public record FabricLimits(int completions, int requestsPerLane, long requestBytes) {
    /**
     * Checks the numbers.
     *
     * @throws MooncakeException CONFIG_ERROR
     */
    public FabricLimits {
        if (completions < 1 || requestsPerLane < 1 || requestBytes < Long.BYTES) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "fabric limits: " + completions + " completions and "
                    + requestsPerLane + " requests a lane must be positive, " + requestBytes
                    + " bytes a request at least 8");
        }
    }
}
