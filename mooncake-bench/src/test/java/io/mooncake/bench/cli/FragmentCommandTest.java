package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.block.FreeRanges;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The command {@code fragment}, and what it is to show. */
@Timeout(240)
final class FragmentCommandTest {
    private static final long MIB = 1 << 20;

    @ParameterizedTest
    @CsvSource({"1,", "2,", "3,", "4, DRAM", "5, DRAM"})
    void shouldMakeOneRangeOfWhatIsFreeWhileEverythingIsRead(long seed, ReplayVram.@Nullable Kind vram)
            throws InterruptedException {
        try (FragmentRun run = new FragmentRun(32 * MIB, 2 * MIB, seed, vram)) {
            run.fragment(400);
            FreeRanges before = run.free();
            assertTrue(before.longest() < before.bytes() / 2, before::toString);
            run.beginReading(1);
            FreeRanges after = run.awaitIdleCompaction(before, FragmentCommand.TARGET, Duration.ofSeconds(100));
            run.endReading();
            assertTrue(after.bytes() >= before.bytes(), after::toString);
            assertTrue(after.longest() >= FragmentCommand.TARGET * after.bytes(), after::toString);
            assertTrue(run.faults().isEmpty(), () -> run.faults().getFirst());
            assertTrue(run.moved() > 0);
            assertEquals(0, run.evictedByPolicy());
        }
    }

    @Test
    void shouldSayWhatItDid(@TempDir Path folder) throws IOException {
        Path json = folder.resolve("figures.json");
        CliRun run = CliRun.of("fragment", "--pool", "16MiB", "--longest", "1MiB", "--operations", "200", "--json",
                json.toString());
        assertEquals(Main.OK, run.exitCode(), () -> run.out() + run.err());
        assertTrue(run.out().contains("after an idle window") && !run.out().contains("MISSED"), run::out);
        assertTrue(Files.readString(json).contains("\"faults\": []"), () -> run.out());
    }

    @Test
    void shouldRefuseBlocksThatAreTooLong() {
        CliRun run = CliRun.of("fragment", "--pool", "16MiB", "--longest", "4MiB");
        assertEquals(Main.BAD_INPUT, run.exitCode(), run::out);
        CliRun nobody = CliRun.of("fragment", "--vram", "dram", "--readers", "0");
        assertEquals(Main.BAD_INPUT, nobody.exitCode(), nobody::out);
    }
}
