package io.mooncake.core.pool;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;

/**
 * So many slots of one length. Immutable.
 *
 * @param blockBytes the longest block that fits into a slot
 * @param count slots
 */
public record SizeClass(long blockBytes, int count) {
    /**
     * Checks the numbers.
     *
     * @throws MooncakeException CONFIG_ERROR
     */
    public SizeClass {
        if (blockBytes <= 0 || count <= 0) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "size class " + count + " x " + blockBytes + " bytes: both numbers must be positive");
        }
    }

    @Override
    public String toString() {
        return count + " x " + ByteSize.format(blockBytes);
    }
}
