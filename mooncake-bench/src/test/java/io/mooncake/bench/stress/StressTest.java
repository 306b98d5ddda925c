package io.mooncake.bench.stress;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs jcstress in JVMs of its own: in a normal build each test in one JVM, compiled in the way that reorders most, for a good half second;
 * with {@code -Dmooncake.full=true} in every way that jcstress knows.
 */
final class StressTest {
    private static final boolean FULL = Boolean.getBoolean("mooncake.full");
    private static final long LIMIT_MINUTES = FULL ? 60 : 5;
    private static final List<String> MODE = FULL
            ? List.of("-m", "quick")
            : List.of("-m", "quick", "-f", "1", "-iters", "2", "-time", "300", "-sc", "false", "-af", "NONE",
                    "-pth", "false",
                    "-jvmArgs",
                    "-Xmx256m -XX:+UseSerialGC -XX:-TieredCompilation -XX:+UnlockDiagnosticVMOptions -XX:+StressLCM -XX:+StressGCM");

    @TempDir
    Path folder = Path.of("");

    @Test
    void nothingForbiddenIsSeen() throws IOException, InterruptedException, URISyntaxException {
        assumeTrue(Runtime.getRuntime().availableProcessors() > 1, "two threads need two CPUs");
        Path out = folder.resolve("out.txt");
        Process process = new ProcessBuilder(command()).directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(out.toFile())
                .start();
        boolean ended = process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES);
        if (!ended) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().waitFor();
        }
        String said = Files.readString(out, StandardCharsets.UTF_8);
        assertTrue(ended, () -> "did not end within " + LIMIT_MINUTES + " minutes: " + said);
        assertEquals(0, process.exitValue(), said);
        for (String line : List.of("Failed tests: No matches.", "Error tests: No matches.",
                "All remaining tests: " + tests() + " matching test results.")) {
            assertTrue(said.contains(line), () -> "'" + line + "' is not in: " + said);
        }
    }

    private static List<String> command() {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), "org.openjdk.jcstress.Main", "-t",
                StressTest.class.getPackageName()));
        command.addAll(MODE);
        return command;
    }

    /** As many as there are classes: jcstress leaves out in silence what it can't run. */
    private static long tests() throws IOException, URISyntaxException {
        Path classes = Path.of(PinVsEvictStress.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Path stress = classes.resolve(StressTest.class.getPackageName().replace('.', '/'));
        try (Stream<Path> files = Files.list(stress)) {
            return files.filter(file -> file.getFileName().toString().endsWith("Stress.class")).count();
        }
    }
}
