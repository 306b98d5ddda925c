package io.mooncake.testing;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Examples of the documentation that a test runs: what stands in its source between {@code // begin} and {@code // end}. */
public final class DocsExample {
    private static final String BEGIN = "// begin";
    private static final String END = "// end";

    private DocsExample() {}

    /**
     * Fails unless the test's example stands in a document, word for word.
     *
     * @param document from the project's root, such as {@code docs/tiers.md}
     * @param test of the module whose tests run
     */
    public static void assertStandsIn(String document, Class<?> test) throws IOException {
        String source = Files.readString(Path.of("src/test/java", test.getName().replace('.', '/') + ".java"));
        String example = words(source.substring(source.indexOf(BEGIN) + BEGIN.length(), source.indexOf(END)));
        assertFalse(example.isEmpty());
        assertTrue(words(Files.readString(Path.of("..", document))).contains(example),
                () -> document + " differs from the example of " + test.getSimpleName() + ": " + example);
    }

    private static String words(String text) {
        return String.join(" ", text.strip().split("\\s+"));
    }
}
