package io.mooncake.core;

import java.util.function.BooleanSupplier;

/** Waiting in tests: on a condition, never for a time. */
final class TestWaits {
    private static final long LIMIT_NS = 20_000_000_000L;

    private TestWaits() {}

    static boolean until(BooleanSupplier done) {
        return new Waits(System::nanoTime).await(done, System.nanoTime() + LIMIT_NS);
    }
}
