package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.DisaggRun.By;
import io.mooncake.bench.cli.DisaggRun.Round;
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
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Jlama in two JVMs: its processes have the flags that it needs, this one has not. */
@Timeout(300)
class JlamaDisaggTest {
    private static final int BLOCK_TOKENS = 16;
    private static final int BLOCKS = 6;
    private static final int GENERATE = 4;

    private static DisaggRun start(By by) throws IOException {
        return new DisaggRun(new Settings(new EngineChoice(Kind.JLAMA, Model.TINY, BLOCK_TOKENS, 5), null, by,
                new NodeSettings(ThreadingMode.SHARED, IdleMode.PARK, Map.of()), 4, BLOCKS * BLOCK_TOKENS + 5, 0,
                GENERATE, 5));
    }

    private static void assertAnswers(DisaggRun run, Answer alone, int pulled, int computed, Answer shared) {
        FirstToken first = shared.firstToken();
        assertEquals(List.of(pulled, computed), List.of(first.pulled(), first.computed()), "blocks pulled, computed");
        assertTrue(alone.distance(shared) <= run.decode().tolerance(),
                () -> "logits are " + alone.distance(shared) + " apart");
        assertTrue(alone.sameTokens(shared));
    }

    @ParameterizedTest
    @EnumSource(names = {"TCP", "LAYERS"})
    void shouldAnswerWithinItsToleranceWithTheOtherProcessesBlocks(By by) throws IOException {
        try (DisaggRun run = start(by)) {
            assertEquals(1e-5f, run.decode().tolerance());
            for (int i = 0; i < 2; i++) {
                Round round = run.round(run.prompt(i));
                assertAnswers(run, round.alone(), BLOCKS, 0, round.shared());
            }
        }
    }

    @Test
    void shouldTakeTextsAndLoadBothProcessesFromOneDirectory(@TempDir Path folder) throws IOException {
        Path models = folder.resolve("models");
        Path file = Files.writeString(folder.resolve("prompt.txt"), "It was a dark and stormy night; ".repeat(4));
        List<String> args = List.of("disagg", "--engine", "jlama", "--model", "tiny", "--block-tokens", "16",
                "--warm-up",
                "0", "--generate", "2", "--model-dir", models.toString(), "--prompt",
                "Once upon a time there was a König.", "--prompt-file", file.toString());
        for (int i = 0; i < 2; i++) {
            CliRun run = CliRun.of(args.toArray(String[]::new));
            assertEquals(Main.OK, run.exitCode(), () -> run.out() + run.err());
            // 36 and 128 bytes: 2 and 7 blocks before the last token.
            assertTrue(run.out().contains("0, 9, 0") && run.out().contains("2 prompts of up to 128 bytes"), run::out);
            assertTrue(Files.exists(models.resolve("jlama-tiny-1/model.safetensors")));
        }
    }

    @Test
    void shouldComputeEverythingWhenTheLayersDoNotCome() throws IOException {
        try (DisaggRun run = start(By.LAYERS)) {
            int[] prompt = run.prompt(0);
            Answer alone = run.decode().alone(GENERATE, prompt);
            run.prefill().shared(1, prompt);
            // The decode process knows what there is, of a process that answers nothing any more.
            run.decode().explain(run.prefill(), prompt);
            run.prefill().process().signal("STOP");
            run.decode().beginShared(GENERATE, null, prompt);
            assertEquals(BLOCKS, run.decode().pulling());
            run.prefill().process().kill();
            assertAnswers(run, alone, 0, BLOCKS, run.decode().answer());
        }
    }

    @Test
    void shouldComputeTheBlockThatWasEvicted() throws IOException {
        try (DisaggRun run = start(By.TCP)) {
            int[] prompt = run.prompt(0);
            Answer alone = run.decode().alone(GENERATE, prompt);
            run.prefill().shared(1, prompt);
            assertTrue(run.prefill().evict(2, prompt));
            run.decode().beginShared(GENERATE, run.prefill(), prompt);
            assertAnswers(run, alone, BLOCKS - 1, 1, run.decode().answer());
        }
    }
}
