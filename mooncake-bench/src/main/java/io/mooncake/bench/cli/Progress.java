package io.mooncake.bench.cli;

import java.io.Console;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Tells how far a run is: on a terminal by one line that is rewritten, else by a line every few seconds. One thread. */
final class Progress {
    private static final long REWRITE_NS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long LINE_NS = TimeUnit.SECONDS.toNanos(5);
    private static final String ERASE_LINE = "\r\u001b[K";

    private final PrintWriter err;
    private final boolean terminal;
    private final LongSupplier nanoClock;
    private final long total;
    private final long startNs;
    private long lastNs;
    private boolean shown;

    /**
     * Starts now.
     *
     * @param err where to
     * @param terminal whether lines can be rewritten there
     * @param nanoClock tells the time
     * @param total requests of all passes
     */
    Progress(PrintWriter err, boolean terminal, LongSupplier nanoClock, long total) {
        this.err = err;
        this.terminal = terminal;
        this.nanoClock = nanoClock;
        this.total = total;
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
     * @param stats with at least one request
     */
    void update(ReplayStats stats) {
        long now = nanoClock.getAsLong();
        if (now - lastNs < (terminal ? REWRITE_NS : LINE_NS)) {
            return;
        }
        lastNs = now;
        String line = line(stats, Math.max(1, now - startNs));
        if (terminal) {
            err.print(ERASE_LINE + line);
            shown = true;
        } else {
            err.println(line);
        }
        err.flush();
    }

    private String line(ReplayStats stats, long elapsedNs) {
        long done = stats.requests().count();
        double seconds = elapsedNs / 1e9;
        return String.format(Locale.ROOT, "%,d of %,d requests (%d %%), %,.0f/s, %.2f GB/s, hit ratio %.4f, %s left%s",
                done, total,
                100 * done / total, done / seconds, stats.requests().bytes() / 1e9 / seconds, stats.hitRatio(),
                duration((long) (seconds * (total - done) / done)),
                stats.verificationErrors() == 0 ? "" : ", " + stats.verificationErrors() + " VERIFICATION ERRORS");
    }

    private static String duration(long seconds) {
        return seconds < 60 ? seconds + " s" : String.format(Locale.ROOT, "%d:%02d min", seconds / 60, seconds % 60);
    }

    /** Takes a rewritten line away, so that something else can be printed. */
    void clear() {
        if (shown) {
            err.print(ERASE_LINE);
            err.flush();
            shown = false;
        }
    }
}
