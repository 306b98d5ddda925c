package io.mooncake.bench.cli;

import java.io.PrintWriter;
import java.io.StringWriter;

/** One run of the command line inside the test's process. */
record CliRun(int exitCode, String out, String err) {
    static CliRun of(String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int exitCode = Main.commandLine().setOut(new PrintWriter(out)).setErr(new PrintWriter(err)).execute(args);
        return new CliRun(exitCode, out.toString(), err.toString());
    }
}
