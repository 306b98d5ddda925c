package io.mooncake.bench.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.bench.engine.Engine.Context;
import io.mooncake.bench.engine.EngineChoice.Kind;
import io.mooncake.bench.engine.EngineChoice.Model;
import io.mooncake.core.base.MooncakeException;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LlamaCppEngineTest extends EngineAdapterSuite {
    private static final int[] PROMPT = new Random(11).ints(50, 0, 256).toArray();

    @BeforeAll
    static void assumeItIsHere() {
        assumeTrue(LlamaCppEngine.failure() == null, LlamaCppEngine::failure);
    }

    @Override
    Engine newEngine(long seed) {
        return new EngineChoice(Kind.LLAMACPP, Model.TINY, BLOCK_TOKENS, seed).create();
    }

    private static float[] logits(Engine engine, int atOnce, int... tokens) {
        try (Context context = engine.newContext()) {
            float[] last = {};
            for (int from = 0; from < tokens.length; from += atOnce) {
                last = context.compute(Arrays.copyOfRange(tokens, from, Math.min(from + atOnce, tokens.length)));
            }
            assertEquals(tokens.length, context.length());
            return last;
        }
    }

    /** Else a block that was generated token by token would have other bytes than the same tokens of a prompt, under the same name. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7, 16, 49})
    void shouldComputeTheSameBitsHoweverManyTokensAtOnce(int atOnce) {
        try (Engine engine = newEngine(1)) {
            assertArrayEquals(logits(engine, PROMPT.length, PROMPT), logits(engine, atOnce, PROMPT));
        }
    }

    @Test
    void shouldDependOnEveryTokenAndOnTheirOrder() {
        try (Engine engine = newEngine(1)) {
            float[] logits = logits(engine, 50, PROMPT);
            for (int i = 0; i < PROMPT.length; i += 7) {
                int[] other = PROMPT.clone();
                other[i] ^= 1;
                assertFalse(Arrays.equals(logits, logits(engine, 50, other)), "token " + i + " makes no difference");
            }
            int[] swapped = PROMPT.clone();
            swapped[0] = PROMPT[1];
            swapped[1] = PROMPT[0];
            assertFalse(Arrays.equals(logits, logits(engine, 50, swapped)), "order makes no difference");
        }
    }

    /** A context is used again: what the request before it left there must not matter. */
    @Test
    void shouldForgetTheRequestBefore() {
        int[] longer = new Random(12).ints(200, 0, 256).toArray();
        try (Engine engine = newEngine(1); Engine other = newEngine(1)) {
            logits(engine, 64, longer);
            assertArrayEquals(logits(other, 50, PROMPT), logits(engine, 50, PROMPT));
        }
    }

    @Test
    void shouldComputeMoreThanItsLibraryTakesAtOnce() {
        int[] many = new Random(13).ints(2 * 512 + 1, 0, 256).toArray();
        try (Engine engine = newEngine(1)) {
            assertArrayEquals(logits(engine, 256, many), logits(engine, many.length, many));
        }
    }

    /** The library itself would end the process. */
    @Test
    void shouldRefuseWhatItsLibraryCannotCompute() {
        try (Engine engine = newEngine(1); Context context = engine.newContext()) {
            context.compute(1, 2, 3);
            for (int token : new int[]{-1, 256}) {
                MooncakeException unknown = assertThrows(MooncakeException.class, () -> context.compute(4, token));
                assertTrue(unknown.getMessage().contains("token " + token + " must be 0 to 255"), unknown::getMessage);
            }
            MooncakeException tooMany = assertThrows(MooncakeException.class, () -> context.compute(new int[8190]));
            assertTrue(tooMany.getMessage().contains("8190 tokens after 3 are more than the 8192"),
                    tooMany::getMessage);
            assertEquals(3, context.length());
            context.compute(4);
        }
    }
}
