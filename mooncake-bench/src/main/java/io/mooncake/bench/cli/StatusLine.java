package io.mooncake.bench.cli;

import java.io.PrintWriter;
import java.util.function.Consumer;

/** Says what a command is doing right now: on a terminal by one line that is rewritten, else not at all. One thread. */
final class StatusLine implements Consumer<String> {
    private static final String ERASE_LINE = "\r\u001b[K";

    private final PrintWriter err;
    private final boolean terminal;
    private boolean shown;

    /**
     * Says nothing yet.
     *
     * @param err where to
     * @param terminal whether lines can be rewritten there
     */
    StatusLine(PrintWriter err, boolean terminal) {
        this.err = err;
        this.terminal = terminal;
    }

    @Override
    public void accept(String doing) {
        if (terminal) {
            show(doing + " ...");
        }
    }

    /** Rewrites the line. Where there is a terminal only. */
    void show(String line) {
        err.print(ERASE_LINE + line);
        err.flush();
        shown = true;
    }

    /** Takes the line away, so that something else can be printed. */
    void clear() {
        if (shown) {
            err.print(ERASE_LINE);
            err.flush();
            shown = false;
        }
    }
}
