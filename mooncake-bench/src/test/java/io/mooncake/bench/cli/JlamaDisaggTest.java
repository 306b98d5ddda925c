package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.DisaggRun.By;
import io.mooncake.bench.cli.DisaggRun.Round;
import io.mooncake.bench.engine.Answer;
import io.mooncake.bench.engine.EngineChoice.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jlama in two JVMs: its processes have the flags that it needs, this one has not. */
class JlamaDisaggTest extends DisaggSuite {
    @Override
    Kind kind() {
        return Kind.JLAMA;
    }

    @Test
    void shouldAnswerWithLayersThatItComputesWhileOthersCome() throws IOException {
        try (DisaggRun run = new DisaggRun(settings(By.LAYERS))) {
            assertEquals(1e-5f, run.decode().tolerance());
            for (int i = 0; i < 2; i++) {
                Round round = run.round(run.prompt(i));
                assertAnswers(run, round.alone(), List.of(0, BLOCKS, 0), round.shared());
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
        try (DisaggRun run = new DisaggRun(settings(By.LAYERS))) {
            int[] prompt = run.prompt(0);
            Answer alone = run.decode().alone(GENERATE, prompt);
            run.prefill().shared(1, prompt);
            // The decode process knows what there is, of a process that answers nothing any more.
            run.decode().explain(run.prefill(), prompt);
            run.prefill().process().signal("STOP");
            run.decode().beginShared(GENERATE, null, prompt);
            assertEquals(BLOCKS, run.decode().pulling());
            run.prefill().process().kill();
            assertAnswers(run, alone, List.of(0, 0, BLOCKS), run.decode().answer());
        }
    }

    /** A piece of a layer is no whole unit, hence compared with no checksum: blocks that have any come whole. */
    @Test
    void shouldComputeTheBlockThatIsDamagedWhereLayersAreAskedFor() throws IOException {
        try (DisaggRun run = new DisaggRun(settings(By.LAYERS, Map.of("pool.checksums", "on")))) {
            int[] prompt = run.prompt(0);
            Answer alone = run.decode().alone(GENERATE, prompt);
            run.prefill().shared(1, prompt);
            assertTrue(run.prefill().damage(3, prompt));
            run.decode().beginShared(GENERATE, run.prefill(), prompt);
            assertAnswers(run, alone, List.of(0, BLOCKS - 1, 1), run.decode().answer());
        }
    }
}
