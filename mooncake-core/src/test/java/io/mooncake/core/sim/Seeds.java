package io.mooncake.core.sim;

import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/** A simulator for those who cannot name its classes because they loaded them twice: a seed to what went wrong, or null. */
public final class Seeds implements LongFunction<@Nullable String> {
    private final Simulator simulator = new Simulator();

    /** For {@link Planted}. */
    public Seeds() {}

    @Override
    public @Nullable String apply(long seed) {
        Throwable failure = simulator.run(seed, null).failure();
        return failure == null ? null : failure.toString();
    }
}
