package io.mooncake.bench.cli;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Another JVM like this one: the same java command and class path. Its standard error is ours; it is told to end by the end of its
 * standard input, so that it never outlives this process. Used by one thread.
 */
public final class Child implements AutoCloseable {
    private final String what;
    private final Process process;
    private final BufferedReader lines;

    private Child(String what, Process process) {
        this.what = what;
        this.process = process;
        lines = process.inputReader(StandardCharsets.UTF_8);
    }

    /**
     * Starts a class of this class path.
     *
     * @param jvmFlags for the JVM
     * @param main the class to run
     * @param args its arguments
     * @return the process
     */
    public static Child start(List<String> jvmFlags, Class<?> main, List<String> args) {
        List<String> command = new ArrayList<>(jvmFlags);
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add(main.getName());
        command.addAll(args);
        return java(main.getSimpleName(), command);
    }

    /**
     * Starts the java command of this process.
     *
     * @param what names it in messages
     * @param args everything after {@code java}
     * @return the process
     */
    public static Child java(String what, List<String> args) {
        List<String> command = new ArrayList<>();
        command.add(ProcessHandle.current().info().command().orElse(System.getProperty("java.home") + "/bin/java"));
        command.addAll(args);
        try {
            return new Child(what,
                    new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start " + command, e);
        }
    }

    /**
     * The next line that it prints.
     *
     * @param timeout at most
     * @return null when it closed its output
     * @throws IllegalStateException when no line came in time
     */
    public @Nullable String readLine(Duration timeout) {
        CompletableFuture<@Nullable String> line = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try {
                line.complete(lines.readLine());
            } catch (IOException e) {
                line.completeExceptionally(e);
            }
        });
        try {
            return line.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (TimeoutException e) {
            process.destroyForcibly();
            throw new IllegalStateException(what + " printed nothing for " + timeout.toSeconds() + " s", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("cannot read what " + what + " prints", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while reading from " + what, e);
        }
    }

    /**
     * Gives it a line on its standard input; one that has ended gets none.
     *
     * @param line without its end
     */
    void writeLine(String line) {
        try {
            process.outputWriter(StandardCharsets.UTF_8).append(line).append('\n').flush();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write to " + what, e);
        }
    }

    /**
     * Everything that it still prints, until it closes its output.
     *
     * @param timeout at most, a line
     * @return the lines
     */
    public List<String> readAll(Duration timeout) {
        List<String> all = new ArrayList<>();
        for (String line = readLine(timeout); line != null; line = readLine(timeout)) {
            all.add(line);
        }
        return all;
    }

    /**
     * Waits for its end.
     *
     * @param timeout at most
     * @return the exit code
     * @throws IllegalStateException when it did not end in time; it is killed then
     */
    public int waitFor(Duration timeout) {
        try {
            if (process.waitFor(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
                return process.exitValue();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        process.destroyForcibly();
        throw new IllegalStateException(what + " did not end within " + timeout.toMillis() + " ms");
    }

    /**
     * Processor time that it has used.
     *
     * @return nanoseconds, 0 where the system does not say
     */
    public long cpuNs() {
        return process.info().totalCpuDuration().orElse(Duration.ZERO).toNanos();
    }

    /** Kills it, as {@code kill -9} does. */
    public void kill() {
        process.destroyForcibly();
    }

    /**
     * Sends it a signal.
     *
     * @param name as {@code kill} knows it, such as STOP or CONT
     */
    public void signal(String name) {
        try {
            int exit = new ProcessBuilder("kill", "-" + name, String.valueOf(process.pid())).start().waitFor();
            if (exit != 0) {
                throw new IllegalStateException("cannot send " + name + " to " + this);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot send " + name + " to " + this, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while sending " + name + " to " + this, e);
        }
    }

    /** Ends its input; after ten seconds kills it. */
    @Override
    public void close() {
        try {
            process.getOutputStream().close();
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
            lines.close();
        } catch (IOException e) {
            process.destroyForcibly();
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return what + " (process " + process.pid() + ")";
    }
}
