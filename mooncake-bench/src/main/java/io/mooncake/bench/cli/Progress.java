package io.mooncake.bench.cli;

import java.io.Console;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleFunction;
import java.util.function.LongSupplier;

/** Tells how far a run is: on a terminal by one line that is rewritten, else by a line every few seconds. One thread. */
final class Progress {
    private static final long REWRITE_NS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long LINE_NS = TimeUnit.SECONDS.toNanos(5);

    private final PrintWriter err;
    private final boolean terminal;
    private final StatusLine rewritten;
    private final LongSupplier nanoClock;
    private final long total;
    private final String unit;
    private final long startNs;
    private long lastNs;

    /**
     * Starts now.
     *
     * @param err where to
     * @param terminal whether lines can be rewritten there
     * @param nanoClock tells the time
     * @param total how many there are to be done
     * @param unit what they are called
     */
    Progress(PrintWriter err, boolean terminal, LongSupplier nanoClock, long total, String unit) {
        this.err = err;
        this.terminal = terminal;
        rewritten = new StatusLine(err, terminal);
        this.nanoClock = nanoClock;
        this.total = total;
        this.unit = unit;
        startNs = nanoClock.getAsLong();
        lastNs = startNs;
    }

    /** Whether this process talks to a terminal. */
    static boolean onTerminal() {
        Console console = System.console();
        return console != null && console.isTerminal();
    }

    /**
     * Shows the state, if it was not shown just now.
     *
     * @param done at least one
     * @param more what else there is to say after so many seconds; asked only where it is shown
     */
    void update(long done, DoubleFunction<String> more) {
        long now = nanoClock.getAsLong();
        if (now - lastNs < (terminal ? REWRITE_NS : LINE_NS)) {
            return;
        }
        lastNs = now;
        String line = line(done, more, Math.max(1, now - startNs));
        if (terminal) {
            rewritten.show(line);
        } else {
            err.println(line);
            err.flush();
        }
    }

    private String line(long done, DoubleFunction<String> more, long elapsedNs) {
        double seconds = elapsedNs / 1e9;
        return String.format(Locale.ROOT, "%,d of %,d %s (%d %%), %,.0f/s, %s, %s left", done, total, unit,
                100 * done / total, done / seconds, more.apply(seconds),
                duration((long) (seconds * (total - done) / done)));
    }

    private static String duration(long seconds) {
        return seconds < 60 ? seconds + " s" : String.format(Locale.ROOT, "%d:%02d min", seconds / 60, seconds % 60);
    }

    /** Takes a rewritten line away, so that something else can be printed. */
    void clear() {
        rewritten.clear();
    }
}
