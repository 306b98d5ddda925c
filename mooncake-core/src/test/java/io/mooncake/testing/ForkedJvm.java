package io.mooncake.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A JVM of its own for what only a fresh process shows: the same java as the test's, with its own flags. */
public final class ForkedJvm {

    private static final long LIMIT_S = 120;

    private ForkedJvm() {}

    /**
     * What the process left.
     *
     * @param exit its exit code
     * @param out its standard output
     * @param err its standard error
     */
    public record Result(int exit, String out, String err) {}

    /**
     * Runs java to its end.
     *
     * @param folder for the files that take its output
     * @param arguments everything after {@code java}
     * @return what it left
     */
    public static Result run(Path folder, List<String> arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(arguments);
        Path out = Files.createTempFile(folder, "out", ".txt");
        Path err = Files.createTempFile(folder, "err", ".txt");
        ProcessBuilder builder = new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
        // The JVM would greet it with a line on standard error.
        builder.environment().remove("JAVA_TOOL_OPTIONS");
        Process process = builder.start();
        if (!process.waitFor(LIMIT_S, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError(command + " did not end within " + LIMIT_S + " s: " + Files.readString(out, UTF_8)
                    + Files.readString(err, UTF_8));
        }
        return new Result(process.exitValue(), Files.readString(out, UTF_8), Files.readString(err, UTF_8));
    }
}
