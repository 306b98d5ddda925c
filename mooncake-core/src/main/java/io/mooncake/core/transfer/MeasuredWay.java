package io.mooncake.core.transfer;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;

/**
 * A way inside a node, from one of its memories to another, as an engine measured it before the node began. Immutable.
 *
 * @param name for people, at most 64 characters: from where to where, and how
 * @param bytes that were copied, more than 0
 * @param ns what that took, more than 0
 */
public record MeasuredWay(String name, long bytes, long ns) {
    private static final int MAX_NAME = 64;

    /**
     * Checks them.
     *
     * @throws MooncakeException INVALID_ARGUMENT
     */
    public MeasuredWay {
        if (name.isEmpty() || name.length() > MAX_NAME || bytes <= 0 || ns <= 0) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "measured way '" + name + "', " + bytes + " bytes in "
                    + ns + " ns: it has a name of at most " + MAX_NAME + " characters, and figures of more than 0");
        }
    }
}
