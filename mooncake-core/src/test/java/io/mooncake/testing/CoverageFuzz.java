package io.mooncake.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.StackWalker.StackFrame;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.SynchronousQueue;
import java.util.stream.Stream;

/**
 * Runs a target of {@link Fuzz} under Jazzer, which chooses inputs by what code they reach, in a JVM of its own.
 *
 * <pre>
 *   test ─▶ Fuzz.run ─▶ fork ─▶ Jazzer ─▶ fuzzerInitialize: the same test in a thread ─▶ Fuzz.run ─▶ serve
 *                                  └────▶ fuzzerTestOneInput ─ input ─▶ serve ─▶ target ─ what it threw ─▶ Jazzer
 * </pre>
 */
public final class CoverageFuzz {
    private static final String TEST = "mooncake.fuzz.test";
    private static final String DRIVER = "com.code_intelligence.jazzer.Jazzer";
    private static final int TOLD_LINES = 60;

    private static final SynchronousQueue<byte[]> INPUTS = new SynchronousQueue<>();
    /** What the target threw, or empty, for each input. */
    private static final SynchronousQueue<Optional<Throwable>> ENDS = new SynchronousQueue<>();

    private CoverageFuzz() {}

    /** Whether this JVM is the one that Jazzer drives. */
    static boolean isForked() {
        return System.getProperty(TEST) != null;
    }

    // ---- in the test's JVM

    /** Runs the calling test for so long; throws when Jazzer found something. */
    static void fork(String name, long seconds, List<byte[]> corpus) {
        StackFrame test = outermostOfTheTest();
        try {
            Path folder = Files.createTempDirectory("fuzz-" + name);
            Path log = folder.resolve("log.txt");
            Process process = new ProcessBuilder(command(test, seconds, seed(folder, corpus), folder))
                    .directory(folder.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            int exit = process.waitFor();
            List<String> lines = Files.readAllLines(log, UTF_8);
            if (exit != 0) {
                throw new AssertionError("fuzz " + name + " ended with code " + exit + ", its inputs are in " + folder
                        + ": "
                        + String.join("\n", lines.subList(Math.max(0, lines.size() - TOLD_LINES), lines.size())));
            }
            System.out.println("fuzz " + name + ": " + lines.reversed()
                    .stream()
                    .filter(line -> line.contains("DONE") || line.startsWith("Done"))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError("fuzz " + name + " did not run: " + lines)));
            delete(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    private static StackFrame outermostOfTheTest() {
        return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).walk(frames -> {
            List<StackFrame> all = frames
                    .filter(frame -> frame.getDeclaringClass() != CoverageFuzz.class
                            && frame.getDeclaringClass() != Fuzz.class)
                    .toList();
            Class<?> test = all.getFirst().getDeclaringClass();
            return all.stream().filter(frame -> frame.getDeclaringClass() == test).toList().getLast();
        });
    }

    private static Path seed(Path folder, List<byte[]> corpus) throws IOException {
        Path inputs = Files.createDirectory(folder.resolve("corpus"));
        for (int i = 0; i < corpus.size(); i++) {
            Files.write(inputs.resolve("seed-" + i), corpus.get(i));
        }
        return inputs;
    }

    private static List<String> command(StackFrame test, long seconds, Path inputs, Path folder) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xmx1g", "-XX:+EnableDynamicAgentLoading", "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-cp", classPath(test.getDeclaringClass()),
                "-D" + TEST + "=" + test.getDeclaringClass().getName() + "#" + test.getMethodName(),
                DRIVER, "--target_class=" + CoverageFuzz.class.getName(),
                "--instrumentation_includes=io.mooncake.**",
                // The targets dial sockets of their own, which it takes for a request that was smuggled in.
                "--disabled_hooks=com.code_intelligence.jazzer.sanitizers.ServerSideRequestForgery",
                "--reproducer_path=" + folder, "-artifact_prefix=" + folder + "/", "-rss_limit_mb=0",
                "-max_len=" + Fuzz.MAX_BYTES, "-max_total_time=" + seconds, "-print_final_stats=0"));
        String seed = System.getProperty("mooncake.fuzz.seed");
        if (seed != null) {
            command.add("-seed=" + seed);
        }
        command.add(inputs.toString());
        return command;
    }

    /** Everything on one class path, whether the tests run as modules or not. */
    private static String classPath(Class<?> test) {
        List<String> path = new ArrayList<>();
        path.add(root(test).toString());
        path.add(root(CoverageFuzz.class).toString());
        for (String property : List.of("jdk.module.path", "java.class.path")) {
            String more = System.getProperty(property, "");
            if (!more.isEmpty()) {
                path.add(more);
            }
        }
        return String.join(File.pathSeparator, path);
    }

    /** The folder or jar that a class was read from: of a patched module its code source says another. */
    private static Path root(Class<?> type) {
        String name = type.getName().replace('.', '/') + ".class";
        URL url = type.getResource("/" + name);
        if (url == null) {
            throw new AssertionError(type + " comes from nowhere");
        }
        String text = url.toString();
        String root = text.substring(0, text.length() - name.length());
        try {
            return Path
                    .of(new URI(root.startsWith("jar:") ? root.substring("jar:".length(), root.indexOf("!/")) : root));
        } catch (URISyntaxException e) {
            throw new AssertionError(text, e);
        }
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }

    // ---- in Jazzer's JVM

    /** Runs the target on what Jazzer gives, for ever: the test does not come back. */
    static void serve(Fuzz.Target target) {
        try {
            for (;;) {
                byte[] input = INPUTS.take();
                Optional<Throwable> end = Optional.empty();
                try {
                    target.accept(input, new Random(Arrays.hashCode(input)));
                } catch (Exception | AssertionError | StackOverflowError e) {
                    end = Optional.of(e);
                }
                ENDS.put(end);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Called by Jazzer before the first input. */
    public static void fuzzerInitialize() throws ReflectiveOperationException {
        String[] name = System.getProperty(TEST, "").split("#", -1);
        Constructor<?> constructor = Class.forName(name[0]).getDeclaredConstructor();
        constructor.setAccessible(true);
        Object test = constructor.newInstance();
        Method method = test.getClass().getDeclaredMethod(name[1]);
        method.setAccessible(true);
        Thread.ofPlatform().daemon().name("target").start(() -> {
            try {
                method.invoke(test);
            } catch (ReflectiveOperationException e) {
                e.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        });
    }

    /** Called by Jazzer with each input. */
    public static void fuzzerTestOneInput(byte[] input) throws InterruptedException {
        INPUTS.put(input);
        Optional<Throwable> end = ENDS.take();
        if (end.isPresent()) {
            throw new AssertionError("the target failed", end.get());
        }
    }
}
