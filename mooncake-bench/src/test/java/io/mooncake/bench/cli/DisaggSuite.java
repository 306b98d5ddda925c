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

/** Prefill in one JVM, decode in another one: what came is used, what did not is computed, and the answer is what it is without the other one. */
@Timeout(300)
abstract class DisaggSuite {
    static final int BLOCKS = 7;
    static final int GENERATE = 4;
    private static final int BLOCK_TOKENS = 8;
    private static final int TOKENS = BLOCKS * BLOCK_TOKENS + 3;

    /** Which engine. */
    abstract Kind kind();

    final Settings settings(By by) {
        return settings(by, Map.of());
    }

    final Settings settings(By by, Map<String, String> nodes) {
        return new Settings(new EngineChoice(kind(), Model.TINY, BLOCK_TOKENS, 3), null, by,
                new NodeSettings(ThreadingMode.SHARED, IdleMode.PARK, nodes), 8, TOKENS, 0, GENERATE, 3);
    }

    /** As the decode process answers alone, with so many blocks from where they are to be. */
    static void assertAnswers(DisaggRun run, Answer alone, List<Integer> herePulledComputed, Answer shared) {
        FirstToken first = shared.firstToken();
        assertEquals(herePulledComputed, List.of(first.here(), first.pulled(), first.computed()),
                "blocks here, pulled, computed");
        float distance = alone.distance(shared);
        assertTrue(distance <= run.decode().tolerance(), () -> "logits are " + distance + " apart");
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
                assertAnswers(run, round.alone(), List.of(here, BLOCKS - here, 0), round.shared());
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
            assertAnswers(run, alone, List.of(3, 0, BLOCKS - 3), run.decode().answer());
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
            assertAnswers(run, alone, List.of(0, BLOCKS - 1, 1), run.decode().answer());
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
            assertAnswers(run, alone, List.of(0, BLOCKS - 1, 1), run.decode().answer());
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
            assertTrue(run.decode().alone(GENERATE, prompt).distance(shared) > run.decode().tolerance());
        }
    }
}
