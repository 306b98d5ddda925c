package io.mooncake.bench.cli;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A request trace: what arrived when, and of which prefix blocks each request's prompt is made. Immutable.
 *
 * <p>As a file it is one JSON object a line, for example
 *
 * <pre>
 *   {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 48, 49, 50, 51, 52]}
 * </pre>
 *
 * <p>{@code timestamp} is in milliseconds from the start, lengths are in tokens, and equal {@code hash_ids} mean a reusable prefix:
 * an id stands for a block's tokens and for everything before them.
 *
 * @param requests in order of arrival
 * @param references block ids of all requests together
 */
record Trace(List<Request> requests, long references) {
    /** Tokens that a block of the format stands for. */
    static final int BLOCK_TOKENS = 512;

    Trace(List<Request> requests) {
        this(List.copyOf(requests), requests.stream().mapToLong(Request::blocks).sum());
    }

    /**
     * Writes the format that {@link TraceReader} reads.
     *
     * @param file replaced if it exists
     * @throws IOException when it cannot be written
     */
    void write(Path file) throws IOException {
        try (BufferedWriter out = Files.newBufferedWriter(file)) {
            for (Request request : requests) {
                out.write(request.toString());
                out.write('\n');
            }
        }
    }

    /** One request. Immutable. */
    static final class Request {
        private final long timestampMs;
        private final long inputLength;
        private final long outputLength;
        private final long[] hashIds;

        Request(long timestampMs, long inputLength, long outputLength, long... hashIds) {
            this.timestampMs = timestampMs;
            this.inputLength = inputLength;
            this.outputLength = outputLength;
            this.hashIds = hashIds.clone();
        }

        /** When it arrived, in milliseconds from the start of the trace. */
        long timestampMs() {
            return timestampMs;
        }

        /** How many blocks its prompt has. */
        int blocks() {
            return hashIds.length;
        }

        /** The id of one of its blocks, in the order of the prompt. */
        long hashId(int index) {
            return hashIds[index];
        }

        /** The request's line of the file. */
        @Override
        public String toString() {
            StringBuilder line = new StringBuilder(96 + hashIds.length * 8).append("{\"timestamp\": ")
                    .append(timestampMs)
                    .append(", \"input_length\": ")
                    .append(inputLength)
                    .append(", \"output_length\": ")
                    .append(outputLength)
                    .append(", \"hash_ids\": [");
            for (int i = 0; i < hashIds.length; i++) {
                line.append(i == 0 ? "" : ", ").append(hashIds[i]);
            }
            return line.append("]}").toString();
        }
    }
}
