package io.mooncake.bench.availability;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.testing.ForkedJvm;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Starts the probe, with everything on the class path or with Mooncake on the module path. */
final class Probes {

    private static final Pattern MODULES = Pattern
            .compile(
                    ".*[/\\\\]((mooncake-(core|rdma|cuda)|agrona|jctools-core|slf4j-api|jspecify)-[^/\\\\]*(?<!-tests)\\.jar"
                            + "|mooncake-(core|rdma|cuda)[/\\\\]target[/\\\\]classes)");

    private Probes() {}

    enum On {
        CLASS_PATH, MODULE_PATH;

        String grantee(String module) {
            return this == CLASS_PATH ? "ALL-UNNAMED" : module;
        }
    }

    static ForkedJvm.Result run(Path folder, On on, List<String> flags, String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(flags);
        List<String> all = List.of(System.getProperty("java.class.path").split(File.pathSeparator));
        if (on == On.CLASS_PATH) {
            command.addAll(List.of("-cp", String.join(File.pathSeparator, all)));
        } else {
            String modules = all.stream()
                    .filter(e -> MODULES.matcher(e).matches())
                    .collect(Collectors.joining(File.pathSeparator));
            String rest = all.stream()
                    .filter(e -> !MODULES.matcher(e).matches())
                    .collect(Collectors.joining(File.pathSeparator));
            command.addAll(List.of("-p", modules, "--add-modules", "io.mooncake.rdma,io.mooncake.cuda", "-cp", rest));
        }
        command.add(AvailabilityProbe.class.getName());
        command.addAll(List.of(arguments));
        ForkedJvm.Result result = ForkedJvm.run(folder, command);
        assertEquals(0, result.exit(), () -> result.out() + result.err());
        return result;
    }

    /** What the probe said about one thing; fails where it said nothing. */
    static String said(ForkedJvm.Result result, String what) {
        Stream<String> lines = result.out().lines();
        return lines.filter(line -> line.startsWith(what + ": "))
                .map(line -> line.substring(what.length() + 2))
                .findFirst()
                .orElseThrow(() -> new AssertionError("nothing about " + what + " in " + result));
    }
}
