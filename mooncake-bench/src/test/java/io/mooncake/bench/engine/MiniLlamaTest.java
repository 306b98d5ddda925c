package io.mooncake.bench.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.mooncake.bench.engine.Engine.Context;
import io.mooncake.bench.engine.EngineChoice.Model;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class MiniLlamaTest {
    private static final int[] PROMPT = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};

    private static float[] logits(long seed, int... tokens) {
        try (MiniEngine engine = MiniEngine.of(Model.TINY, seed, 4); Context context = engine.newContext()) {
            return context.compute(tokens);
        }
    }

    /** The bits themselves, so that another JVM, another compiler and the interpreter are all held to the same ones. */
    @Test
    void shouldComputeTheSameBitsOnEveryJvm() {
        assertEquals(-355486046, Arrays.hashCode(logits(1, PROMPT)));
    }

    @Test
    void shouldComputeTheSameBitsTokenByTokenAsAtOnce() {
        try (MiniEngine engine = MiniEngine.of(Model.TINY, 1, 4); Context context = engine.newContext()) {
            float[] last = {};
            for (int token : PROMPT) {
                last = context.compute(token);
            }
            assertArrayEquals(logits(1, PROMPT), last);
        }
    }

    /** Else a block of another prefix would do as well. */
    @Test
    void shouldDependOnEveryTokenAndOnTheirOrder() {
        for (int i = 0; i < PROMPT.length; i++) {
            int[] other = PROMPT.clone();
            other[i]++;
            assertFalse(Arrays.equals(logits(1, PROMPT), logits(1, other)), "token " + i + " makes no difference");
        }
        int[] swapped = PROMPT.clone();
        swapped[0] = PROMPT[1];
        swapped[1] = PROMPT[0];
        assertFalse(Arrays.equals(logits(1, PROMPT), logits(1, swapped)), "order makes no difference");
        assertFalse(Arrays.equals(logits(1, PROMPT), logits(2, PROMPT)), "the seed makes no difference");
    }
}
