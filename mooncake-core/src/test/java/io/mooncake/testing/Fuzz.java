package io.mooncake.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;

/**
 * Feeds a parser of bytes from outside with damaged inputs, made from a corpus by a seeded mutator.
 *
 * <p>So many inputs as the test says, from the same seed each time. With {@code -Dmooncake.fuzz.seconds=60} (the profile {@code fuzz})
 * {@link CoverageFuzz} makes them instead, for so long, from a new seed or from that of {@code -Dmooncake.fuzz.seed}.
 *
 * <p>The corpus is {@code /fuzz/TARGET.hex} among the test's resources: one input in hexadecimal a line, {@code #} for comments.
 */
public final class Fuzz {
    private static final long SEED = 20_260_101;
    static final int MAX_BYTES = 1 << 16;
    private static final long[] INTERESTING = {0, 1, -1, 127, 128, 255, 256, 65_535, 65_536, 1 << 20, (1 << 20) + 1,
            Integer.MAX_VALUE, Integer.MIN_VALUE, Long.MAX_VALUE, Long.MIN_VALUE};

    private final List<byte[]> corpus;
    private final Random random;

    private Fuzz(List<byte[]> corpus, Random random) {
        this.corpus = corpus;
        this.random = random;
    }

    /** One try of a target. */
    @FunctionalInterface
    public interface Target {
        /**
         * Must refuse or take the input; any other exception is a fault.
         *
         * @param input damaged bytes
         * @param random for what else the target chooses
         * @throws Exception when there is a fault
         */
        void accept(byte[] input, Random random) throws Exception;
    }

    /**
     * Runs a target.
     *
     * @param name of the target and its corpus
     * @param inputs how many in a normal build
     * @param target the parser and what must hold
     */
    public static void run(String name, int inputs, Target target) {
        long seconds = Long.getLong("mooncake.fuzz.seconds", 0);
        List<byte[]> corpus = corpus(name);
        if (CoverageFuzz.isForked()) {
            CoverageFuzz.serve(target);
            return;
        }
        if (seconds > 0) {
            CoverageFuzz.fork(name, seconds, corpus);
            return;
        }
        Fuzz fuzz = new Fuzz(corpus, new Random(SEED));
        for (int tries = 0; tries < inputs; tries++) {
            byte[] input = tries < corpus.size() ? corpus.get(tries) : fuzz.next();
            try {
                target.accept(input, fuzz.random);
            } catch (Exception | AssertionError | StackOverflowError e) {
                throw new AssertionError("target " + name + ", input " + tries + ": " + HexFormat.of().formatHex(input),
                        e);
            }
        }
    }

    private static List<byte[]> corpus(String name) {
        try (InputStream in = Fuzz.class.getResourceAsStream("/fuzz/" + name + ".hex")) {
            if (in == null) {
                throw new AssertionError("no corpus /fuzz/" + name + ".hex");
            }
            List<byte[]> inputs = new ArrayList<>();
            for (String line : new String(in.readAllBytes(), StandardCharsets.US_ASCII).split("\n", -1)) {
                String digits = line.strip();
                if (!digits.isEmpty() && !digits.startsWith("#")) {
                    inputs.add(HexFormat.of().parseHex(digits));
                }
            }
            return inputs;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private byte[] any() {
        return corpus.get(random.nextInt(corpus.size()));
    }

    private byte[] next() {
        byte[] input = any().clone();
        for (int left = 1 + random.nextInt(4); left > 0; left--) {
            input = mutated(input);
        }
        return input;
    }

    private byte[] mutated(byte[] input) {
        if (input.length == 0) {
            return any().clone();
        }
        int at = random.nextInt(input.length);
        switch (random.nextInt(7)) {
            case 0 -> input[at] ^= (byte) (1 << random.nextInt(8));
            case 1 -> input[at] = (byte) random.nextInt();
            case 2 -> {
                byte[] number = ByteBuffer.allocate(8)
                        .order(ByteOrder.LITTLE_ENDIAN)
                        .putLong(INTERESTING[random.nextInt(INTERESTING.length)])
                        .array();
                int bytes = Math.min(1 << random.nextInt(4), input.length - at);
                System.arraycopy(number, 0, input, at, bytes);
            }
            case 3 -> {
                return Arrays.copyOf(input, at);
            }
            case 4 -> {
                return joined(input, at, random.nextBoolean() ? input : any());
            }
            case 5 -> {
                byte[] noise = new byte[1 + random.nextInt(64)];
                random.nextBytes(noise);
                return joined(input, at, noise);
            }
            default -> {
                int until = at + random.nextInt(input.length - at) + 1;
                byte[] shorter = Arrays.copyOf(input, input.length - (until - at));
                System.arraycopy(input, until, shorter, at, input.length - until);
                return shorter;
            }
        }
        return input;
    }

    /** The first bytes of one, another, and the rest of the first. */
    private static byte[] joined(byte[] input, int at, byte[] other) {
        if (input.length + other.length > MAX_BYTES) {
            return input;
        }
        byte[] longer = Arrays.copyOf(input, input.length + other.length);
        System.arraycopy(other, 0, longer, at, other.length);
        System.arraycopy(input, at, longer, at + other.length, input.length - at);
        return longer;
    }
}
