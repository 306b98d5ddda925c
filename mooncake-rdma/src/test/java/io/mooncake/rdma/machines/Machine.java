package io.mooncake.rdma.machines;

import io.mooncake.rdma.rig.SoftRoce;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** One of two virtual machines, and the program that runs in it. Used by one thread. */
final class Machine implements AutoCloseable {
    private static final long LIMIT_SECONDS = 900;
    /** A machine says something each second once its program runs; to boot, and to start that cold, takes minutes on a busy host. */
    private static final long LINE_SECONDS = 300;

    private final String name;
    private final Path pid;
    private final Process process;
    private final LinkedBlockingQueue<String> lines = new LinkedBlockingQueue<>();
    private final List<String> said = new ArrayList<>();

    /**
     * Boots it.
     *
     * @param name of it
     * @param address its own
     * @param cable to the other
     * @param folder of the host that it writes to
     * @param program what it runs; the folder is its argument
     */
    Machine(String name, String address, Cable cable, Path folder, Class<?> program) throws IOException {
        this.name = name;
        pid = folder.resolve(name + ".pid");
        List<String> command = SoftRoce.command(
                List.of("--net", "vm", "--join", "connect:" + cable.port(), "--ip", address + "/24", "--smp", "1",
                        "--mem", "1536", "--pidfile", pid.toString(), "--rw", folder.toString(), "--timeout",
                        "" + LIMIT_SECONDS),
                SoftRoce.java(List.of(), List.of(program.getName(), folder.toString())));
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Thread.ofPlatform().daemon().name(name + "-output").start(this::read);
    }

    private void read() {
        try (BufferedReader reader = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line; (line = reader.readLine()) != null;) {
                lines.add(line);
            }
        } catch (IOException killed) {
            // With its machine.
        }
    }

    /** The next line that is as wanted; each line before it is looked at, too. */
    String await(Predicate<String> wanted) throws InterruptedException {
        while (true) {
            String line = next();
            said.add(line);
            if (line.startsWith("WRONG")) {
                throw new AssertionError(
                        line + "; before: " + said.subList(Math.max(0, said.size() - 12), said.size()));
            }
            if (wanted.test(line)) {
                return line;
            }
        }
    }

    private String next() throws InterruptedException {
        for (long second = 0; second < LINE_SECONDS; second++) {
            boolean alive = process.isAlive();
            String line = lines.poll(1, TimeUnit.SECONDS);
            if (line != null) {
                return line;
            }
            if (!alive) {
                throw new AssertionError(
                        name + " ended with exit status " + process.exitValue() + "; before: " + said);
            }
        }
        throw new AssertionError(name + " said nothing for " + LINE_SECONDS + " s; before: " + said);
    }

    /** Forgets what it has said up to now. */
    void drain() {
        lines.drainTo(said);
    }

    /** All that it has said. */
    List<String> said() {
        return said;
    }

    /** Sends QEMU a signal: KILL takes the machine's power, STOP freezes it, CONT lets it go on. */
    void signal(String signal) throws IOException, InterruptedException {
        int exit = new ProcessBuilder("kill", "-" + signal, Files.readString(pid).strip()).inheritIO()
                .start()
                .waitFor();
        if (exit != 0) {
            throw new AssertionError("kill -" + signal + " of " + name + " failed");
        }
    }

    @Override
    public void close() throws IOException {
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            process.destroyForcibly();
        }
    }
}
