package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Trace.Request;
import java.util.Arrays;

/**
 * Parses one line of a trace: a JSON object whose four known fields are whole numbers, and an array of such. Other fields may hold any
 * JSON and are passed over. Written for this one format: a general parser would build a tree of each line first, and would not say
 * at which column a line is broken.
 */
final class LineParser {
    /** Nesting of unknown fields at most, so that a hostile line cannot exhaust the stack. */
    private static final int MAX_DEPTH = 64;

    /** A line that is not of the format. */
    static final class BrokenLineException extends Exception {
        private static final long serialVersionUID = 1L;

        BrokenLineException(String message) {
            super(message);
        }
    }

    private final String line;
    private int at;

    LineParser(String line) {
        this.line = line;
    }

    /**
     * Parses the whole line.
     *
     * @return the request
     * @throws BrokenLineException with the reason and the column
     */
    Request request() throws BrokenLineException {
        long timestamp = -1;
        long inputLength = 0;
        long outputLength = 0;
        long[] hashIds = null;
        expect('{');
        for (boolean first = true; !take('}'); first = false) {
            if (!first) {
                expect(',');
            }
            String field = string();
            expect(':');
            switch (field) {
                case "timestamp" -> timestamp = wholeNumber(field);
                case "input_length" -> inputLength = wholeNumber(field);
                case "output_length" -> outputLength = wholeNumber(field);
                case "hash_ids" -> hashIds = wholeNumbers(field);
                default -> skipValue(0);
            }
        }
        skipSpace();
        if (at < line.length()) {
            throw broken("text after the object");
        }
        if (timestamp < 0 || hashIds == null) {
            throw new BrokenLineException("field \"" + (hashIds == null ? "hash_ids" : "timestamp") + "\" is missing");
        }
        return new Request(timestamp, inputLength, outputLength, hashIds);
    }

    private long[] wholeNumbers(String field) throws BrokenLineException {
        long[] numbers = new long[16];
        int count = 0;
        expect('[');
        while (!take(']')) {
            if (count > 0) {
                expect(',');
            }
            if (count == numbers.length) {
                numbers = Arrays.copyOf(numbers, count * 2);
            }
            numbers[count++] = wholeNumber(field);
        }
        return Arrays.copyOf(numbers, count);
    }

    private long wholeNumber(String field) throws BrokenLineException {
        skipSpace();
        int start = at;
        while (at < line.length() && "+-.eE0123456789".indexOf(line.charAt(at)) >= 0) {
            at++;
        }
        String text = line.substring(start, at);
        if (text.startsWith("-")) {
            throw broken("field \"" + field + "\" is negative: " + text);
        }
        if (!text.matches("0|[1-9][0-9]*")) {
            at = start;
            throw broken("field \"" + field + "\" must be "
                    + (field.endsWith("s") ? "an array of whole numbers" : "a whole number"));
        }
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw broken("field \"" + field + "\" passes 2^63: " + text);
        }
    }

    private String string() throws BrokenLineException {
        expect('"');
        int start = at;
        for (; at < line.length(); at++) {
            char c = line.charAt(at);
            if (c == '"') {
                // Escapes stay as they are: no known field has one, and unknown ones are passed over.
                return line.substring(start, at++);
            }
            if (c == '\\') {
                at++;
            }
        }
        throw broken("a string does not end");
    }

    private void skipValue(int depth) throws BrokenLineException {
        if (depth > MAX_DEPTH) {
            throw broken("nested deeper than " + MAX_DEPTH);
        }
        skipSpace();
        char c = at < line.length() ? line.charAt(at) : 0;
        if (c == '"') {
            string();
        } else if (c == '{' || c == '[') {
            at++;
            skipMembers(c == '{', depth);
        } else {
            int start = at;
            while (at < line.length()
                    && (Character.isLetterOrDigit(line.charAt(at)) || "+-.".indexOf(line.charAt(at)) >= 0)) {
                at++;
            }
            String text = line.substring(start, at);
            if (!text.matches("true|false|null|-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?")) {
                at = start;
                throw broken("a value is expected");
            }
        }
    }

    private void skipMembers(boolean object, int depth) throws BrokenLineException {
        char end = object ? '}' : ']';
        for (boolean first = true; !take(end); first = false) {
            if (!first) {
                expect(',');
            }
            if (object) {
                string();
                expect(':');
            }
            skipValue(depth + 1);
        }
    }

    private boolean take(char c) {
        skipSpace();
        if (at < line.length() && line.charAt(at) == c) {
            at++;
            return true;
        }
        return false;
    }

    private void expect(char c) throws BrokenLineException {
        if (!take(c)) {
            throw broken("'" + c + "' is expected");
        }
    }

    private void skipSpace() {
        while (at < line.length() && " \t\r".indexOf(line.charAt(at)) >= 0) {
            at++;
        }
    }

    private BrokenLineException broken(String why) {
        return new BrokenLineException(why + " (column " + (at + 1) + ")");
    }
}
