package io.mooncake.rdma.rig;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;

/** Commands that run in the virtual machine, with this JVM's own Java and class path there. */
public final class SoftRoce {

    /**
     * What suits an emulated processor: C1 alone, since HotSpot patches code that the emulator translates meanwhile, and the collector with
     * the fewest threads.
     */
    private static final List<String> JVM_FLAGS = List.of("--enable-native-access=ALL-UNNAMED",
            "--illegal-native-access=deny", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
            "-Xmx512m");

    private SoftRoce() {}

    /**
     * The command that runs another in the virtual machine.
     *
     * @param options of the script, see its {@code --help}
     * @param inside the command and its arguments
     * @return for a {@link ProcessBuilder}
     */
    public static List<String> command(List<String> options, List<String> inside) {
        List<String> command = new ArrayList<>(List.of("bash", script().toString()));
        command.addAll(options);
        command.add("--");
        command.addAll(inside);
        return command;
    }

    /**
     * The command that runs a class in a JVM of the virtual machine.
     *
     * @param flags more flags of the JVM
     * @param main the class and its arguments
     * @return to be given to {@link #command} as what runs inside
     */
    public static List<String> java(List<String> flags, List<String> main) {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(JVM_FLAGS);
        command.addAll(flags);
        command.addAll(List.of("-cp", absolute(System.getProperty("java.class.path"))));
        command.addAll(main);
        return command;
    }

    private static String absolute(String classPath) {
        return String.join(":", List.of(classPath.split(":", -1))
                .stream()
                .map(entry -> Path.of(entry).toAbsolutePath().toString())
                .toList());
    }

    private static Path script() {
        URL script = Objects.requireNonNull(SoftRoce.class.getResource("/soft-roce/soft-roce-vm.sh"));
        try {
            return Path.of(script.toURI());
        } catch (URISyntaxException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /**
     * Runs a command to its end, with its output as this process's own.
     *
     * @param command from {@link #command}
     * @param listener is given every line of that output, too
     * @return its exit status
     */
    static int run(List<String> command, Consumer<String> listener) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .redirectInput(ProcessBuilder.Redirect.INHERIT)
                .redirectErrorStream(true)
                .start();
        Thread ending = new Thread(process::destroy, "soft-roce-end");
        Runtime.getRuntime().addShutdownHook(ending);
        try (BufferedReader output = process.inputReader()) {
            output.lines().forEach(line -> {
                System.out.println(line);
                listener.accept(line);
            });
            return process.waitFor();
        } finally {
            Runtime.getRuntime().removeShutdownHook(ending);
        }
    }
}
