package io.mooncake.rdma.rig;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs every test of this module that is tagged {@code rdma}, in one JVM in the virtual machine, with JUnit's console launcher: what the
 * profile {@code soft-roce} does. Exit code 0 only when tests ran and none failed.
 */
final class SoftRoceTests {

    private SoftRoceTests() {}

    /**
     * Runs them and exits.
     *
     * @param args the folder of the module's target, the time limit in seconds, and what else the console launcher is to be told
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        Path target = Path.of(args[0]).toAbsolutePath();
        Path reports = Files.createDirectories(target.resolve("soft-roce-reports"));
        boolean full = Boolean.getBoolean("mooncake.full");
        List<String> launcher = new ArrayList<>(List.of("org.junit.platform.console.ConsoleLauncher", "execute",
                "--scan-class-path=" + target.resolve("test-classes"), "--include-tag=rdma", "--fail-if-no-tests",
                "--disable-banner", "--disable-ansi-colors", "--details=testfeed", "--reports-dir=" + reports));
        if (!full) {
            launcher.add("--exclude-tag=full");
        }
        launcher.addAll(List.of(args).subList(2, args.length));
        List<String> inside = SoftRoce.java(
                List.of("-D" + RdmaDevices.REQUIRED + "=true", "-Dmooncake.full=" + full,
                        "-Djunit.jupiter.execution.timeout.default=120s"),
                launcher);
        System.exit(
                SoftRoce.run(SoftRoce.command(List.of("--net", "pair", "--package", "perftest", "--timeout", args[1],
                        "--rw", reports.toString()), inside)));
    }
}
