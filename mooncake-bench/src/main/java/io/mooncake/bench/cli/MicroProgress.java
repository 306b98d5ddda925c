package io.mooncake.bench.cli;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.format.OutputFormat;

/** A line a benchmark instead of JMH's pages; what its JVM says is kept for the case that it fails. Any thread. */
final class MicroProgress implements OutputFormat {
    private static final int MOST_SAID = 1 << 16;

    private final PrintWriter out;
    private final StringBuilder said = new StringBuilder();

    MicroProgress(PrintWriter out) {
        this.out = out;
    }

    /** What the JVM of the last benchmark printed. */
    synchronized String said() {
        return said.toString();
    }

    @Override
    public synchronized void startBenchmark(BenchmarkParams params) {
        said.setLength(0);
        String name = params.getBenchmark();
        int owner = name.lastIndexOf('.', name.lastIndexOf('.') - 1);
        String size = params.getParam("size");
        out.printf("running %s%s, %d threads, %d JVMs of %d + %d iterations of %s%n", name.substring(owner + 1),
                size == null ? "" : " of " + size, params.getThreads(), params.getForks(),
                params.getWarmup().getCount(),
                params.getMeasurement().getCount(), params.getMeasurement().getTime());
        out.flush();
    }

    @Override
    public synchronized void write(int b) {
        if (said.length() < MOST_SAID) {
            said.append((char) b);
        }
    }

    @Override
    public synchronized void write(byte[] b) {
        if (said.length() < MOST_SAID) {
            said.append(new String(b, StandardCharsets.UTF_8));
        }
    }

    @Override
    public void print(String text) {
        write(text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void println(String text) {
        print(text + "\n");
    }

    @Override
    public void verbosePrintln(String text) {
        println(text);
    }

    @Override
    public void iteration(BenchmarkParams params, IterationParams iteration, int number) {
        // Only whole benchmarks are reported.
    }

    @Override
    public void iterationResult(BenchmarkParams params, IterationParams iteration, int number, IterationResult result) {
        // Only whole benchmarks are reported.
    }

    @Override
    public void endBenchmark(BenchmarkResult result) {
        // The table tells it.
    }

    @Override
    public void startRun() {
        // The first benchmark says enough.
    }

    @Override
    public void endRun(Collection<RunResult> results) {
        // The table tells it.
    }

    @Override
    public void flush() {
        out.flush();
    }

    @Override
    public void close() {
        out.flush();
    }
}
