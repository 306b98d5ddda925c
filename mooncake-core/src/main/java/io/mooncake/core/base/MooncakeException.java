package io.mooncake.core.base;

import org.jspecify.annotations.Nullable;

/**
 * The one exception of this library; its {@link Kind} says what went wrong and its {@link Category} what the caller can do.
 *
 * <p>Missing, stale or late blocks are outcomes of a transfer and not exceptions; this is for misuse, bad configuration,
 * exhausted memory and closed nodes. The message names the thing, the value and the remedy.
 */
public final class MooncakeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What the caller can do about it. */
    public enum Category {
        /** The same call may succeed later, or with another peer. */
        RETRY,
        /** The block is not to be had: compute it again. */
        RECOMPUTE,
        /** The call or the configuration is wrong and stays wrong until it is changed. */
        FIX_CONFIG,
        /** The node, store or region is closed. */
        CLOSED
    }

    /** What went wrong. */
    public enum Kind {
        /** An argument that can never be right. */
        INVALID_ARGUMENT(Category.FIX_CONFIG),
        /** A range that is not inside its region or block. */
        OUT_OF_BOUNDS(Category.FIX_CONFIG),
        /** A setting that cannot work. */
        CONFIG_ERROR(Category.FIX_CONFIG),
        /** An operation that the state of the thing does not allow, such as a second commit. */
        ILLEGAL_STATE(Category.FIX_CONFIG),
        /** An operation that this build, device or tier does not have. */
        UNSUPPORTED(Category.FIX_CONFIG),
        /** Another cluster, a refused peer, a region that peers may not read. */
        UNAUTHORIZED(Category.FIX_CONFIG),
        /** The block or the right to write it belongs to a later version now. */
        STALE_VERSION(Category.RECOMPUTE),
        /** The owner is another process life than the reference names. */
        STALE_INCARNATION(Category.RECOMPUTE),
        /** A device failed for good: what it held is gone until the process is started again. */
        DEVICE_LOST(Category.RECOMPUTE),
        /** Somebody else holds the thing. */
        IN_USE(Category.RETRY),
        /** No memory; the message says what holds it. */
        OUT_OF_MEMORY(Category.RETRY),
        /** A bounded queue is full. */
        BACK_PRESSURE(Category.RETRY),
        /** Not done by its deadline. */
        TIMEOUT(Category.RETRY),
        /** The peer refused, reset or never answered. */
        PEER_UNREACHABLE(Category.RETRY),
        /** Bytes that are not this protocol, or another version of it. */
        PROTOCOL_ERROR(Category.FIX_CONFIG),
        /** A file could not be read or written: full, over quota, or the device failed. */
        IO_ERROR(Category.RETRY),
        /** The thing was closed. */
        CLOSED(Category.CLOSED);

        private final Category category;

        Kind(Category category) {
            this.category = category;
        }

        /**
         * What the caller can do about errors of this kind.
         *
         * @return the category
         */
        public Category category() {
            return category;
        }
    }

    /** What went wrong. */
    private final Kind kind;

    /**
     * An error without a cause.
     *
     * @param kind what went wrong
     * @param message the thing, the value and the remedy
     */
    public MooncakeException(Kind kind, String message) {
        this(kind, message, null);
    }

    /**
     * An error with its cause.
     *
     * @param kind what went wrong
     * @param message the thing, the value and the remedy
     * @param cause what was caught, or null
     */
    public MooncakeException(Kind kind, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.kind = kind;
    }

    /** The thing, the value and the remedy; never null. */
    @Override
    public String getMessage() {
        return String.valueOf(super.getMessage());
    }

    /**
     * What went wrong.
     *
     * @return the kind
     */
    public Kind kind() {
        return kind;
    }

    /**
     * What the caller can do about it.
     *
     * @return the category of the kind
     */
    public Category category() {
        return kind.category();
    }
}
