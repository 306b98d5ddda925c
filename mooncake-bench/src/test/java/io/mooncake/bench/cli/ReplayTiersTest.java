package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.testing.CCompiler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code replay --tiers}, in small. */
@Timeout(600)
final class ReplayTiersTest {
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    private List<String> args(String... more) {
        List<String> args = new ArrayList<>(List.of("replay", "--capacity", "40", "--requests", "160", "--max-blocks",
                "20", "--json", json().toString()));
        args.addAll(List.of(more));
        return args;
    }

    private Path json() {
        return folder.resolve("figures.json");
    }

    private String run(String... more) throws IOException {
        CliRun _ = ended(more);
        return figures();
    }

    private CliRun ended(String... more) {
        CliRun run = CliRun.of(args(more).toArray(String[]::new));
        assertEquals(Main.OK, run.exitCode(), () -> run.out() + run.err());
        return run;
    }

    private String figures() throws IOException {
        String text = Files.readString(json());
        assertTrue(text.contains("\"verificationErrors\": 0") && text.contains("\"failures\": 0"), text);
        return text;
    }

    /** The same in a process of its own, over the emulated CUDA runtime of the GPU module. */
    private String runOverEmulation(String... more) throws IOException {
        String sources = "../mooncake-cuda/src/test/c/";
        Path library = CCompiler.compile(Files.readString(Path.of(sources + "devices.c")),
                folder.resolve("libcudart-emulated.so"), "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread",
                "-I" + sources, sources + "clock.c", sources + "streams.c", sources + "memory.c", sources + "driver.c");
        try (Child child = Child.start(
                List.of("--enable-native-access=ALL-UNNAMED", "-Dio.mooncake.cuda.library=" + library), Main.class,
                args(more))) {
            List<String> out = child.readAll(PATIENCE);
            assertEquals(Main.OK, child.waitFor(PATIENCE), () -> String.join("\n", out));
        }
        return figures();
    }

    /** Blocks are read out of every tier, here and elsewhere, and every one is right. */
    private static void assertHitsInEveryTier(String text) {
        for (String path : new String[]{"LOCAL_VRAM", "LOCAL_DRAM", "LOCAL_FILE", "REMOTE_PULL", "REMOTE_VRAM",
                "REMOTE_FILE"}) {
            assertTrue(number(text, path) > 0, () -> path + " " + text);
        }
        assertEquals(0, number(text, "DEMOTIONS_FAILED"), text);
    }

    @Test
    void shouldHitInThreeTiersWithMemoryInThePlaceOfADevice() throws IOException {
        assertHitsInEveryTier(run("--nodes", "4", "--tiers", "--file-capacity", "300", "--vram", "dram",
                "--vram-capacity", "16"));
    }

    @Test
    void shouldHitInThreeTiersWithDevices() throws IOException {
        assertHitsInEveryTier(runOverEmulation("--nodes", "4", "--tiers", "--file-capacity", "300", "--vram", "cuda",
                "--vram-capacity", "16"));
    }

    @Test
    void shouldFindInTheFilesWhatWasThereWithDevicesToo() throws IOException {
        String text = runOverEmulation("--processes", "2", "--tiers", "--file-capacity", "300", "--vram", "cuda",
                "--vram-capacity", "16", "--passes", "2", "--restart");
        assertTrue(number(text, "BLOCKS_RECOVERED") > 0, text);
        assertTrue(number(text, "LOCAL_VRAM") > 0 && number(text, "REMOTE_VRAM") > 0, text);
    }

    private static long number(String text, String name) {
        Matcher matcher = Pattern.compile("\"" + name + "\": (\\d+)").matcher(text);
        long last = -1;
        while (matcher.find()) {
            last = Math.max(last, Long.parseLong(matcher.group(1)));
        }
        assertTrue(last >= 0, () -> name + " is not in " + text);
        return last;
    }

    @Test
    void shouldHitMoreWithFilesThanWithout() throws IOException {
        String without = run("--nodes", "4");
        String with = run("--nodes", "4", "--tiers", "--file-capacity", "300");
        assertTrue(number(with, "hits") > number(without, "hits"), with);
        assertTrue(number(with, "LOCAL_FILE") > 0 && number(with, "REMOTE_FILE") > 0, with);
        assertEquals(0, number(with, "DEMOTIONS_FAILED"), with);
    }

    @Test
    void shouldFindInTheFilesWhatWasThereBeforeAllProcessesWereKilled() throws IOException {
        CliRun run = ended("--processes", "3", "--tiers", "--file-capacity", "300", "--passes", "2", "--restart");
        String text = figures();
        Matcher told = Pattern.compile("started them again in [0-9.]+ s: ([0-9,]+) blocks were in their files")
                .matcher(run.err());
        assertTrue(told.find(), run::err);
        long recovered = Long.parseLong(told.group(1).replace(",", ""));
        assertTrue(recovered > 0 && recovered >= number(text, "BLOCKS_RECOVERED"), text);
        assertEquals(0, number(text, "BLOCKS_DAMAGED"), text);
        // What was told last is of the pass after the restart.
        String after = text.substring(text.lastIndexOf("LOCAL_VIEW"));
        assertTrue(number(after, "LOCAL_FILE") > 0 && number(after, "REMOTE_FILE") > 0, text);
    }

    @Test
    void shouldRefuseOptionsThatNeedOthers() {
        for (String[] wrong : new String[][]{{"--restart"}, {"--file-capacity", "9"}, {"--vram", "dram"},
                {"--tiers", "--vram-capacity", "4"}, {"--tiers", "--vram", "dram", "--vram-capacity", "0"},
                {"--tiers", "--restart", "--processes", "2"}, {"--tiers", "--file-capacity", "0"}}) {
            String[] args = new String[wrong.length + 1];
            args[0] = "replay";
            System.arraycopy(wrong, 0, args, 1, wrong.length);
            CliRun run = CliRun.of(args);
            assertEquals(Main.BAD_INPUT, run.exitCode(), run::out);
        }
    }
}
