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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Prefill in one JVM, decode in another one. */
@Timeout(300)
class DisaggCommandTest {
    private static final int BLOCK_TOKENS = 8;
    private static final int BLOCKS = 7;
    private static final int TOKENS = BLOCKS * BLOCK_TOKENS + 3;
    private static final int GENERATE = 4;
    private static final NodeSettings NODES = new NodeSettings(ThreadingMode.SHARED, IdleMode.PARK, Map.of());

    private static Settings settings(By by) {
        return new Settings(new EngineChoice(Kind.MINI, Model.TINY, BLOCK_TOKENS, 3), by, NODES, 8, TOKENS, 0,
                GENERATE, 3);
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

    @Test
    void shouldSayWhatItTook(@TempDir Path folder) throws IOException {
        Path json = folder.resolve("figures.json");
        CliRun run = CliRun.of("disagg", "--model", "tiny", "--tokens", "100", "--prefix", "40", "--block-tokens", "16",
                "--prompts", "2", "--generate", "3", "--json", json.toString());
        assertEquals(Main.OK, run.exitCode(), () -> run.out() + run.err());
        String text = Files.readString(json);
        // Of six blocks a prompt the first two are there since the one before.
        assertTrue(text.contains("\"here\": 4,") && text.contains("\"pulled\": 8,"), text);
        assertTrue(text.contains("\"equal\": true") && text.contains("\"furthestLogits\": 0.0"), text);
        assertTrue(run.out().contains("the same bits") && run.out().contains("random weights"), run::out);
    }
}
