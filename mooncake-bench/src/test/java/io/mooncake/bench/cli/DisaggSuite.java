package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.DisaggRun.By;
import io.mooncake.bench.cli.DisaggRun.Settings;
import io.mooncake.bench.engine.Answer;
import io.mooncake.bench.engine.EngineChoice;
import io.mooncake.bench.engine.EngineChoice.Kind;
import io.mooncake.bench.engine.EngineChoice.Model;
import io.mooncake.bench.engine.FirstToken;
import io.mooncake.core.IdleMode;
import io.mooncake.core.ThreadingMode;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Prefill in one JVM, decode in another one, with an engine that computes the same bits on both. */
@Timeout(300)
abstract class DisaggSuite {
    private static final int BLOCK_TOKENS = 8;
    private static final int BLOCKS = 7;
    private static final int TOKENS = BLOCKS * BLOCK_TOKENS + 3;
    private static final int GENERATE = 4;

    /** Which engine. */
    abstract Kind kind();

    private Settings settings(By by) {
        return settings(by, Map.of());
    }

    private Settings settings(By by, Map<String, String> nodes) {
        return new Settings(new EngineChoice(kind(), Model.TINY, BLOCK_TOKENS, 3), null, by,
                new NodeSettings(ThreadingMode.SHARED, IdleMode.PARK, nodes), 8, TOKENS, 0, GENERATE, 3);
    }

    private static void assertAnswers(Answer alone, int here, int pulled, int computed, Answer shared) {
        FirstToken first = shared.firstToken();
        assertEquals(List.of(here, pulled, computed), List.of(first.here(), first.pulled(), first.computed()),
                "blocks here, pulled, computed");
        assertEquals(0, alone.distance(shared), "distance of the logits");
        assertTrue(alone.sameTokens(shared));
    }

    @ParameterizedTest
    @EnumSource(names = {"TCP", "SHM", "VIEW"})
    void shouldAnswerTheSameWithTheOtherProcessesBlocks(By by) throws IOException {
        try (DisaggRun run = new DisaggRun(settings(by))) {
            for (int i = 0; i < 2; i++) {
                int[] prompt = run.prompt(i);
                DisaggRun.Round round = run.round(prompt);
                FirstToken first = round.shared().firstToken();
                // What is used in place may be either: the other's memory is not mapped here yet when it is asked for first.
                int here = by == By.VIEW ? first.here() : 0;
                assertAnswers(round.alone(), here, BLOCKS - here, 0, round.shared());
            }
        }
    }

    @Test
    void shouldComputeWhatHadNotComeWhenThePrefillProcessWasKilled() throws IOException {
        try (DisaggRun run = new DisaggRun(settings(By.TCP))) {
            int[] prompt = run.prompt(0);
            Answer alone = run.decode().alone(GENERATE, prompt);
            run.prefill().shared(1, prompt);
            run.decode().beginShared(GENERATE, run.prefill(), Arrays.copyOf(prompt, 3 * BLOCK_TOKENS + 1));
            assertEquals(3, run.decode().pulling());
            assertEquals(3, run.decode().answer().firstToken().pulled());
            // From now on it answers nothing, so that the pull is under way when it is killed.
            run.prefill().process().signal("STOP");
            run.decode().beginShared(GENERATE, null, prompt);
            assertEquals(BLOCKS - 3, run.decode().pulling());
            run.prefill().process().kill();
            assertAnswers(alone, 3, 0, BLOCKS - 3, run.decode().answer());
        }
    }

    @Test
    void shouldComputeTheBlockThatWasEvicted() throws IOException {
        try (DisaggRun run = new DisaggRun(settings(By.TCP))) {
            int[] prompt = run.prompt(0);
            Answer alone = run.decode().alone(GENERATE, prompt);
            run.prefill().shared(1, prompt);
            assertTrue(run.prefill().evict(4, prompt));
            run.decode().beginShared(GENERATE, run.prefill(), prompt);
            assertEquals(BLOCKS - 1, run.decode().pulling());
            assertAnswers(alone, 0, BLOCKS - 1, 1, run.decode().answer());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, BLOCKS - 1})
    void shouldComputeTheBlockThatIsDamaged(int block) throws IOException {
        try (DisaggRun run = new DisaggRun(settings(By.TCP, Map.of("pool.checksums", "on")))) {
            int[] prompt = run.prompt(0);
            Answer alone = run.decode().alone(GENERATE, prompt);
            run.prefill().shared(1, prompt);
            assertTrue(run.prefill().damage(block, prompt));
            run.decode().beginShared(GENERATE, run.prefill(), prompt);
            assertEquals(BLOCKS, run.decode().pulling());
            assertAnswers(alone, 0, BLOCKS - 1, 1, run.decode().answer());
        }
    }

    /** Else the test before could not fail. */
    @Test
    void shouldSeeTheDamageInTheLogitsWhereNobodyLooksForIt() throws IOException {
        try (DisaggRun run = new DisaggRun(settings(By.TCP))) {
            int[] prompt = run.prompt(0);
            run.prefill().shared(1, prompt);
            assertTrue(run.prefill().damage(2, prompt));
            run.decode().beginShared(GENERATE, run.prefill(), prompt);
            Answer shared = run.decode().answer();
            assertEquals(BLOCKS, shared.firstToken().pulled());
            assertTrue(run.decode().alone(GENERATE, prompt).distance(shared) > 0);
        }
    }
}
