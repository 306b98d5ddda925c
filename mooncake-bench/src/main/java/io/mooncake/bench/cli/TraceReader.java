package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Trace.Request;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Reader;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads a {@link Trace} from a file; what it cannot read it refuses with the file, the line and the reason. */
final class TraceReader {
    /** Characters of a line at most: a million block ids. */
    private static final int MAX_LINE = 1 << 24;

    private TraceReader() {}

    /**
     * Reads a trace.
     *
     * @param file one JSON object a line; empty lines are passed over
     * @param limit requests at most
     * @return at least one request
     * @throws BadInputException naming file, line and reason
     */
    static Trace read(Path file, long limit) {
        if (!Files.isRegularFile(file)) {
            throw new BadInputException(
                    "trace " + file + (Files.exists(file) ? " is not a file" : " does not exist")
                            + ": name a JSON-lines file");
        }
        List<Request> requests = new ArrayList<>();
        long number = 0;
        try (BufferedReader in = Files.newBufferedReader(file)) {
            for (String line; requests.size() < limit && (line = nextLine(in, file, ++number)) != null;) {
                if (!line.isBlank()) {
                    requests.add(request(line, file, number));
                }
            }
        } catch (CharacterCodingException e) {
            throw new BadInputException("trace " + file + ", after line " + (number - 1) + ": bytes that are not UTF-8",
                    e);
        } catch (IOException e) {
            throw new BadInputException("trace " + file + " cannot be read: " + e.getMessage(), e);
        }
        if (requests.isEmpty()) {
            throw new BadInputException("trace " + file + " has no request");
        }
        return new Trace(requests);
    }

    private static @Nullable String nextLine(Reader in, Path file, long number) throws IOException {
        StringBuilder line = new StringBuilder();
        int c = in.read();
        if (c < 0) {
            return null;
        }
        for (; c >= 0 && c != '\n'; c = in.read()) {
            if (line.length() == MAX_LINE) {
                throw broken(file, number, "longer than " + MAX_LINE + " characters");
            }
            line.append((char) c);
        }
        return line.toString();
    }

    private static Request request(String line, Path file, long number) {
        try {
            return new LineParser(line).request();
        } catch (LineParser.BrokenLineException e) {
            throw broken(file, number, String.valueOf(e.getMessage()));
        }
    }

    private static BadInputException broken(Path file, long number, String why) {
        return new BadInputException("trace " + file + ", line " + number + ": " + why);
    }
}
