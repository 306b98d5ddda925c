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
 * standard input, so that it never outlives this process. Used by one thread;
 * {@link #readLine} may be called by another one.
 */
public final class Child implements AutoCloseable {
    /** Flags for one of several processes: what each of them logs in good order nobody wants to see several times. */
    static final List<String> QUIET = List.of("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            "-Dorg.slf4j.simpleLogger.log.org.jgroups=error",
            "-Dorg.slf4j.simpleLogger.log.io.mooncake.core.Node=error",
            "-Dorg.slf4j.simpleLogger.log.io.mooncake.core.registry.jgroups=error");

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
        return start(List.of(), jvmFlags, main, args);
    }

    /**
     * Starts a class of this class path through another command.
     *
     * @param prefix what becomes the java command in the same process, as {@code nsenter} does; empty = nothing
     * @param jvmFlags for the JVM
     * @param main the class to run
     * @param args its arguments
     * @return the process
     */
    static Child start(List<String> prefix, List<String> jvmFlags, Class<?> main, List<String> args) {
        List<String> command = new ArrayList<>(prefix);
        command.add(javaCommand());
        command.addAll(jvmFlags);
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add(main.getName());
        command.addAll(args);
        return run(main.getSimpleName(), command);
    }

    /**
     * Starts the java command of this process.
     *
     * @param what names it in messages
     * @param args everything after {@code java}
     * @return the process
     */
    public static Child java(String what, List<String> args) {
        List<String> command = new ArrayList<>(List.of(javaCommand()));
        command.addAll(args);
        return run(what, command);
    }

    private static String javaCommand() {
        return ProcessHandle.current().info().command().orElse(System.getProperty("java.home") + "/bin/java");
    }

    private static Child run(String what, List<String> command) {
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

    /** Tells it to end, and does not wait. */
    void endInput() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            // It has ended already.
            process.destroy();
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
