package io.mooncake.bench.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes results as JSON: maps (in their order), collections, strings, numbers, booleans and null. */
final class Json {
    private Json() {}

    /**
     * Refuses a file of results that could not be written, before a long run instead of after it.
     *
     * @param file what {@code --json} names; null = nowhere
     */
    static void checkWritable(@Nullable Path file) {
        checkWritable("--json", file);
    }

    /**
     * Refuses a file that could not be written.
     *
     * @param option the option that names it
     * @param file null = nothing to be written
     */
    static void checkWritable(String option, @Nullable Path file) {
        if (file == null) {
            return;
        }
        Path folder = file.toAbsolutePath().getParent();
        if (Files.isDirectory(file) || folder == null || !Files.isDirectory(folder)
                || !Files.isWritable(Files.exists(file) ? file : folder)) {
            throw new BadInputException(
                    option + " = " + file + " cannot be written: name a file in a folder that exists and is writable");
        }
    }

    /**
     * Writes a file.
     *
     * @param file replaced if it exists
     * @param value what
     * @throws IOException when it cannot be written
     */
    static void write(Path file, Map<String, ?> value) throws IOException {
        Files.writeString(file, text(value) + "\n");
    }

    /** The text of a value, indented. */
    static String text(@Nullable Object value) {
        StringBuilder out = new StringBuilder();
        append(out, value, "\n");
        return out.toString();
    }

    private static void append(StringBuilder out, @Nullable Object value, String newline) {
        switch (value) {
            case Map<?, ?> map -> {
                Iterator<? extends Map.Entry<?, ?>> entries = map.entrySet().iterator();
                out.append('{');
                while (entries.hasNext()) {
                    Map.Entry<?, ?> entry = entries.next();
                    out.append(newline).append("  ");
                    quote(out, String.valueOf(entry.getKey()));
                    append(out.append(": "), entry.getValue(), newline + "  ");
                    out.append(entries.hasNext() ? "," : newline);
                }
                out.append('}');
            }
            case Collection<?> list -> {
                Iterator<?> elements = list.iterator();
                out.append('[');
                while (elements.hasNext()) {
                    append(out.append(newline).append("  "), elements.next(), newline + "  ");
                    out.append(elements.hasNext() ? "," : newline);
                }
                out.append(']');
            }
            case Double number when !Double.isFinite(number) -> out.append("null"); // JSON has no such number
            case Number number -> out.append(number);
            case Boolean truth -> out.append(truth);
            case null -> out.append("null");
            default -> quote(out, value.toString());
        }
    }

    private static void quote(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"', '\\' -> out.append('\\').append(c);
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    if (c < ' ') {
                        out.append(String.format("\\u%04x", (int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }
}
