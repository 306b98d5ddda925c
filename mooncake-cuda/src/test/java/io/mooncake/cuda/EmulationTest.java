package io.mooncake.cuda;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.testing.CCompiler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The emulated runtime's own tests, in C, with and without ThreadSanitizer. */
class EmulationTest {
    private static final Path SOURCES = Path.of("src/test/c");

    @Test
    void shouldKeepItsOwnTests(@TempDir Path folder) throws IOException {
        assertEquals("ok\n", run(folder, "-O2"));
    }

    @Test
    void shouldHaveNoRaces(@TempDir Path folder) throws IOException {
        assertEquals("ok\n", run(folder, "-O1", "-g", "-fsanitize=thread"));
    }

    private static String run(Path folder, String... flags) throws IOException {
        List<String> all = new ArrayList<>(List.of(flags));
        all.addAll(List.of("-Wall", "-Wextra", "-Werror", "-pthread", "-I" + SOURCES));
        for (String file : List.of("devices.c", "clock.c", "streams.c", "memory.c", "driver.c")) {
            all.add(SOURCES.resolve(file).toString());
        }
        Path program = CCompiler.compile(Files.readString(SOURCES.resolve("emulation_test.c")),
                folder.resolve("emulation_test"), all.toArray(String[]::new));
        Process process = new ProcessBuilder(program.toString()).redirectErrorStream(true).start();
        return new String(process.getInputStream().readAllBytes(), UTF_8);
    }
}
