package io.mooncake.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Assumptions;

/** The machine's C compiler. A test that needs one is skipped, with the reason, where there is none. */
public final class CCompiler {

    private CCompiler() {}

    /**
     * Compiles and links one file, or ends the test: skipped where there is no compiler or a header is absent, failed
     * where the source is wrong.
     *
     * @param source C11; its {@code #include}s decide whether the headers are there
     * @param out the program or library to make
     * @param flags more flags, before the source
     * @return {@code out}
     */
    public static Path compile(String source, Path out, String... flags) throws IOException {
        Path file = Path.of(out + ".c");
        Files.writeString(file, source);
        String includes = String.join("\n", source.lines().filter(line -> line.startsWith("#include")).toList());
        Run headers = cc(includes, List.of("-x", "c", "-fsyntax-only", "-"), flags);
        Assumptions.assumeTrue(headers.exit == 0, () -> "a header is absent, so this is not tested: " + headers.text);
        Run made = cc("", List.of("-std=gnu11", "-o", out.toString(), file.toString()), flags);
        if (made.exit != 0) {
            throw new AssertionError(made.text);
        }
        return out;
    }

    /**
     * Makes a shared library that exports functions which do nothing and return 0.
     *
     * @param out the library to make
     * @param functions the names
     * @param own C definitions that replace those of the same functions, as name and body in turn
     * @return {@code out}
     */
    public static Path stubLibrary(Path out, List<String> functions, String... own) throws IOException {
        StringBuilder source = new StringBuilder("#include <stddef.h>\n");
        Set<String> defined = new HashSet<>();
        for (int i = 0; i < own.length; i += 2) {
            defined.add(own[i]);
            source.append(own[i + 1]).append('\n');
        }
        functions.stream()
                .filter(f -> !defined.contains(f))
                .forEach(f -> source.append("int ")
                        .append(f)
                        .append("(void) { return 0; }\n"));
        return compile(source.toString(), out, "-shared", "-fPIC");
    }

    /**
     * The functions that a jextract configuration binds.
     *
     * @param includes an includes.conf
     * @return the names, in its order
     */
    public static List<String> boundFunctions(Path includes) throws IOException {
        String prefix = "--include-function ";
        return Files.readAllLines(includes)
                .stream()
                .filter(line -> line.startsWith(prefix))
                .map(line -> line.substring(prefix.length()).trim())
                .toList();
    }

    private record Run(int exit, String text) {}

    private static Run cc(String stdin, List<String> last, String... flags) throws IOException {
        List<String> command = new ArrayList<>(List.of("cc"));
        command.addAll(List.of(flags));
        command.addAll(last);
        Process process;
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException absent) {
            return Assumptions
                    .abort("there is no C compiler 'cc' on the PATH, so this is not tested: " + absent.getMessage());
        }
        try (var in = process.outputWriter(UTF_8)) {
            in.write(stdin);
        }
        String text = new String(process.getInputStream().readAllBytes(), UTF_8);
        try {
            return new Run(process.waitFor(), text);
        } catch (InterruptedException e) {
            process.destroyForcibly();
            throw new IOException("interrupted while cc ran", e);
        }
    }
}
