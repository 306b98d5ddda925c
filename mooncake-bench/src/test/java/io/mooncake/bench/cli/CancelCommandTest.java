package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.core.IdleMode;
import io.mooncake.core.ThreadingMode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The command {@code cancel}, in small. */
class CancelCommandTest {
    private static final Pattern SHARE = Pattern.compile("\"inFlightShare\": ([\\d.]+)");

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    @ParameterizedTest
    @CsvSource({"tcp, 2000, 1MiB..8MiB", "shm, 500, 8MiB..32MiB"})
    void shouldFindNoByteOfACanceledPullInAnothersMemory(String engine, String count, String sizes) throws IOException {
        Path json = folder.resolve("figures.json");
        CliRun run = CliRun.of("cancel", "--engine", engine, "--count", count, "--sizes", sizes, "--json",
                json.toString());
        assumeTrue(run.exitCode() != Main.BAD_INPUT, run::err); // not every host has every engine
        assertEquals(Main.OK, run.exitCode(), run::err);
        String text = Files.readString(json);
        assertTrue(text.contains("\"violations\": []") && text.contains("\"unbalanced\": []"), text);
        assertTrue(run.out().contains("memory available again, us, p99"), run::out);
        Matcher share = SHARE.matcher(text);
        assertTrue(share.find(), text);
        // The command's own limit is 0.6; a machine that is busy with something else cancels late.
        assertTrue(Double.parseDouble(share.group(1)) > 0.3, text);
    }

    @Test
    void shouldRefuseAnEngineThatTheServingNodeDoesNotHave() {
        CliRun run = CliRun.of("cancel", "--engine", "pigeon", "--count", "1", "--sizes", "64KiB..64KiB");
        assertEquals(Main.BAD_INPUT, run.exitCode(), run::err);
        assertTrue(run.err().contains("--engine = pigeon is none of tcp, shm, rdma"), run::err);
    }

    @Test
    void shouldSayInOneLineWhatTheServingNodeRefuses() {
        CliRun run = CliRun.of("cancel", "--count", "1", "--sizes", "64KiB..64KiB", "--set", "tcp.bind=0.0.0.0");
        assertEquals(Main.BAD_INPUT, run.exitCode(), run::err);
        assertEquals(1, run.err().lines().count(), run::err);
        assertTrue(run.err().contains("see its error above and correct --set"), run::err);
    }

    @Test
    void shouldSayHowFarPullsHadComeAndHowSoonMemoryIsAvailable() {
        CancelFigures figures = new CancelFigures(new CancelSettings("tcp", 1, 1024, 2048, 1, 1000, 1,
                new NodeSettings(ThreadingMode.SHARED, IdleMode.PARK, Map.of())));
        figures.pulled(10_000);
        figures.pullsTook(5_000);
        figures.canceled(1024, 0, true, 100);
        figures.canceled(1024, 1023, true, 100);
        figures.canceled(1024, 1, true, 100);
        figures.canceled(1024, 1024, true, 200_000);
        figures.canceled(1024, 512, false, 9_000_000);
        assertEquals(5, figures.cancels());
        assertEquals(0.4, figures.inFlightShare(), 1e-9);
        assertEquals(Map.of("no byte", 1L, "every byte", 2L, "0-10 %", 1L, "90-100 %", 1L),
                withoutZeros(figures.progress()));
        assertEquals(2.0, figures.bytesPerNs(), 1e-9);
        assertEquals((3 * 1000 / 2.0 + 1_000_000) / 1e3, figures.limitUs(), 1e-9);
        assertEquals(200, figures.availableUs(99), 1, "one that was not in time does not count");
        assertTrue(figures.isAvailableMet() && !figures.isInFlightMet());
    }

    private static Map<String, Long> withoutZeros(Map<String, Long> all) {
        all.values().removeIf(value -> value == 0);
        return all;
    }
}
