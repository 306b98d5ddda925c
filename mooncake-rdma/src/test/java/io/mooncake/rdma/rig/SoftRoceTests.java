package io.mooncake.rdma.rig;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * What the profile {@code soft-roce} does: runs every test of this module that is tagged {@code rdma}, in one JVM in the virtual machine, with
 * JUnit's console launcher; then here those tagged {@code machines}, which boot machines themselves. Exit code 0 only when tests ran and none
 * failed; what failed is said once more at the end, where somebody looks who keeps only the end of a long output.
 */
final class SoftRoceTests {

    private SoftRoceTests() {}

    /**
     * Runs them and exits.
     *
     * @param args the folder of the module's target, the time limit in seconds, whether those tagged {@code machines} run (true, false, only),
     *     and what else the console launcher is to be told of the others
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        Path target = Path.of(args[0]).toAbsolutePath();
        Path reports = Files.createDirectories(target.resolve("soft-roce-reports"));
        String machines = args[2];
        Failures failures = new Failures();
        int code = machines.equals("only")
                ? 0
                : SoftRoce.run(inside(reports, args[1], launcher(target, reports, "rdma"),
                        List.of(args).subList(3, args.length)), failures);
        if (code == 0 && !machines.equals("false")) {
            code = SoftRoce.run(SoftRoce.java(List.of("-D" + RdmaDevices.MACHINES + "=true"),
                    launcher(target, reports.resolve("machines"), "machines")), failures);
        }
        failures.print();
        System.exit(code);
    }

    private static List<String> launcher(Path target, Path reports, String tag) {
        return new ArrayList<>(List.of("org.junit.platform.console.ConsoleLauncher", "execute",
                "--scan-class-path=" + target.resolve("test-classes"), "--include-tag=" + tag, "--fail-if-no-tests",
                "--disable-banner", "--disable-ansi-colors", "--details=testfeed", "--reports-dir=" + reports));
    }

    private static List<String> inside(Path reports, String seconds, List<String> launcher, List<String> more) {
        boolean full = Boolean.getBoolean("mooncake.full");
        if (!full) {
            launcher.add("--exclude-tag=full");
        }
        launcher.addAll(more);
        List<String> inside = SoftRoce.java(
                List.of("-D" + RdmaDevices.REQUIRED + "=true", "-Dmooncake.full=" + full,
                        "-Djunit.jupiter.execution.timeout.default=120s"),
                launcher);
        return SoftRoce.command(List.of("--net", "pair", "--package", "perftest", "--timeout", seconds,
                "--rw", reports.toString()), inside);
    }

    /** The failures in the launcher's feed: the line that says so, and the indented ones after it. */
    private static final class Failures implements Consumer<String> {
        private final List<String> lines = new ArrayList<>();
        private boolean inside;

        @Override
        public void accept(String line) {
            inside = line.endsWith(" :: FAILED") || (inside && line.startsWith("\t"));
            if (inside) {
                lines.add(line);
            }
        }

        void print() {
            lines.forEach(System.out::println);
        }
    }
}
