package io.mooncake.bench.cases;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.spi.ToolProvider;

/**
 * Whether each of our classes in the executable jar finds ours that it names: what is packed of the tests is chosen by names, so that one more
 * that a measurement needs is easily left out. Exit code 0 when they do.
 */
final class WholeJar {
    private WholeJar() {}

    /**
     * Looks and exits.
     *
     * @param args the jar
     */
    public static void main(String[] args) {
        StringWriter all = new StringWriter();
        ToolProvider jdeps = ToolProvider.findFirst("jdeps").orElseThrow();
        int code = jdeps.run(new PrintWriter(all), new PrintWriter(all), "--multi-release", "base", "-verbose:class",
                "-filter:none", args[0]);
        List<String> ours = all.toString().lines().filter(line -> line.strip().startsWith("io.mooncake.")).toList();
        List<String> missing = ours.stream()
                .filter(line -> line.contains("-> io.mooncake.") && line.endsWith("not found"))
                .toList();
        if (code != 0 || ours.isEmpty()) {
            System.err.println("jdeps ended with " + code + ": " + all);
        }
        missing.forEach(line -> System.err.println(args[0] + " lacks what it needs:" + line));
        System.exit(code == 0 && !ours.isEmpty() && missing.isEmpty() ? 0 : 1);
    }
}
