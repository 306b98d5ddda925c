package io.mooncake.bench.engine;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** What an engine answered to a prompt: the tokens that follow, and the logits that each was chosen by. Immutable. */
public final class Answer {
    private final FirstToken firstToken;
    private final int[] tokens;
    private final List<float[]> logits;

    private Answer(FirstToken firstToken, int[] tokens, List<float[]> logits) {
        this.firstToken = firstToken;
        this.tokens = tokens;
        this.logits = logits;
    }

    /**
     * Lets a request that has begun go on.
     *
     * @param session the request
     * @param count tokens that are to follow, at least one
     * @return those
     */
    public static Answer of(Session session, int count) {
        List<float[]> logits = new ArrayList<>();
        int[] tokens = new int[count];
        for (int i = 0; i < count; i++) {
            logits.add(session.logits());
            tokens[i] = session.next();
        }
        return new Answer(session.firstToken(), tokens, logits);
    }

    /**
     * What it took until the first token was known.
     *
     * @return as the session says
     */
    public FirstToken firstToken() {
        return firstToken;
    }

    /**
     * The tokens that follow the prompt.
     *
     * @return a copy
     */
    public int[] tokens() {
        return tokens.clone();
    }

    /**
     * How far another answer's logits are from these.
     *
     * @param other to the same prompt, of as many tokens
     * @return the largest difference; 0 when they are the same bits, infinite when they can't be compared
     */
    public float distance(Answer other) {
        float furthest = 0;
        for (int i = 0; i < logits.size(); i++) {
            float[] mine = logits.get(i);
            float[] its = other.logits.get(i);
            for (int j = 0; j < mine.length; j++) {
                // Not the difference: there is none between two numbers that are none, nor between the two zeros.
                if (Float.floatToRawIntBits(mine[j]) != Float.floatToRawIntBits(its[j])) {
                    float difference = Math.max(Math.abs(mine[j] - its[j]), Float.MIN_VALUE);
                    furthest = Math.max(furthest, Float.isNaN(difference) ? Float.POSITIVE_INFINITY : difference);
                }
            }
        }
        return furthest;
    }

    /**
     * Whether the same tokens follow.
     *
     * @param other to the same prompt
     * @return true for the same
     */
    public boolean sameTokens(Answer other) {
        return Arrays.equals(tokens, other.tokens);
    }

    /**
     * For another process.
     *
     * @return words that {@link #ofWords} reads
     */
    public String toWords() {
        FirstToken f = firstToken;
        ByteBuffer bytes = ByteBuffer.allocate(logits.size() * logits.getFirst().length * Float.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN);
        logits.forEach(row -> {
            for (float value : row) {
                bytes.putFloat(value);
            }
        });
        return f.here() + " " + f.pulled() + " " + f.computed() + " " + f.pulledBytes() + " " + f.storeNs() + " "
                + f.totalNs() + " " + joined(tokens) + " " + Base64.getEncoder().encodeToString(bytes.array());
    }

    /**
     * What {@link #toWords} wrote.
     *
     * @param words its words
     * @return the same answer
     */
    public static Answer ofWords(List<String> words) {
        FirstToken firstToken = new FirstToken(Integer.parseInt(words.get(0)), Integer.parseInt(words.get(1)),
                Integer.parseInt(words.get(2)), Long.parseLong(words.get(3)), Long.parseLong(words.get(4)),
                Long.parseLong(words.get(5)));
        int[] tokens = parsed(words.get(6));
        ByteBuffer bytes = ByteBuffer.wrap(Base64.getDecoder().decode(words.get(7))).order(ByteOrder.LITTLE_ENDIAN);
        int width = bytes.remaining() / Float.BYTES / tokens.length;
        List<float[]> logits = new ArrayList<>();
        for (int i = 0; i < tokens.length; i++) {
            float[] row = new float[width];
            for (int j = 0; j < width; j++) {
                row[j] = bytes.getFloat();
            }
            logits.add(row);
        }
        return new Answer(firstToken, tokens, logits);
    }

    /**
     * Tokens as a word.
     *
     * @param tokens at least one
     * @return what {@link #parsed} reads
     */
    public static String joined(int[] tokens) {
        return IntStream.of(tokens).mapToObj(Integer::toString).collect(Collectors.joining(","));
    }

    /**
     * What {@link #joined} wrote.
     *
     * @param word as it wrote it
     * @return the tokens
     */
    public static int[] parsed(String word) {
        return Arrays.stream(word.split(",", -1)).mapToInt(Integer::parseInt).toArray();
    }
}
