package io.mooncake.bench.cases;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What the profile {@code soft-roce} runs: the bench's command {@code cluster} in the virtual machine of mooncake-rdma, whose kernel has network
 * namespaces that can be cut, delayed and made lossy, whatever this host's kernel allows. Exit code: the command's, so that whatever cannot be
 * done there fails the build.
 */
final class ClusterInVirtualMachine {
    private ClusterInVirtualMachine() {}

    /**
     * Runs it and exits.
     *
     * @param args the script that starts the machine, the executable jar, the time limit in seconds, then the command's options
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        // C1 alone, since HotSpot patches code that the emulator translates meanwhile, and the collector with the fewest threads.
        List<String> command = new ArrayList<>(List.of("bash", args[0], "--net", "none", "--timeout", args[2], "--",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-jar", Path.of(args[1]).toAbsolutePath().toString(), "cluster"));
        command.addAll(List.of(args).subList(3, args.length));
        Process process = new ProcessBuilder(command).inheritIO().start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroy, "virtual-machine-end"));
        System.exit(process.waitFor());
    }
}
