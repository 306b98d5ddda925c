package io.mooncake.bench.cli;

import org.jspecify.annotations.Nullable;

/** Input that cannot be used: one line on standard error and exit code 2. */
final class BadInputException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Bad input.
     *
     * @param message the thing, the value and the remedy, in one line
     */
    BadInputException(String message) {
        this(message, null);
    }

    BadInputException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
