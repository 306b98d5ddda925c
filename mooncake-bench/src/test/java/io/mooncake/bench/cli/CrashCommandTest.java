package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The command {@code crash}, in small; and that it sees what it is there to see. */
@Timeout(600)
final class CrashCommandTest {
    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    @Test
    void shouldLoseNothingThatWasDurable() throws IOException {
        run(8);
    }

    @Test
    @Tag("full")
    void shouldLoseNothingThatWasDurableInTwoHundredKills() throws IOException {
        run(200);
    }

    private void run(int kills) throws IOException {
        Path json = folder.resolve("figures.json");
        CliRun run = CliRun.of("crash", "--count", Integer.toString(kills), "--json", json.toString());
        assertEquals(Main.OK, run.exitCode(), () -> run.out() + run.err());
        String text = Files.readString(json);
        assertTrue(text.contains("\"killed\": " + kills) && text.contains("\"faults\": []"), text);
        assertFalse(text.contains("\"verified\": 0"), text);
        assertFalse(text.contains("\"unfinished\": 0"), "no process was killed while it wrote: " + text);
    }

    /** So many processes over what a fault leaves of the directory each time. */
    private List<String> faults(Consumer<Path> fault) {
        CrashRun run = new CrashRun(new CrashSettings(folder, 24, 300_000, 2), 1, 400, fault);
        for (int i = 0; i < 3; i++) {
            run.kill();
        }
        run.verify();
        return run.ledger().faults();
    }

    @Test
    void shouldSeeThatAJournalWasLost() {
        List<String> faults = faults(directory -> {
            try {
                Files.delete(directory.resolve("mooncake.journal"));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        assertTrue(faults.stream().anyMatch(fault -> fault.contains("is gone")), () -> "faults: " + faults);
    }

    @Test
    void shouldSeeThatBytesWereLost() {
        List<String> faults = faults(directory -> {
            try (RandomAccessFile slots = new RandomAccessFile(directory.resolve("mooncake.slots").toFile(), "rw")) {
                long length = slots.length();
                slots.setLength(length / 2);
                slots.setLength(length);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        assertTrue(faults.stream().anyMatch(fault -> fault.contains("is gone")), () -> "faults: " + faults);
    }

    @Test
    void shouldRefuseADirectoryThatIsNotEmpty() throws IOException {
        Files.writeString(folder.resolve("mine"), "x");
        CliRun run = CliRun.of("crash", "--directory", folder.toString());
        assertEquals(Main.BAD_INPUT, run.exitCode(), run::out);
        assertTrue(run.err().contains("is not empty"), run::err);
    }
}
