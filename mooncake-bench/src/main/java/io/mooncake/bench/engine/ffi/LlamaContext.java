package io.mooncake.bench.engine.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * The keys and values of a request's tokens in llama.cpp. They are one sequence of its cache; a second one marks what is being cut out, put in, or
 * computed for company, and is empty between the calls. One thread at a time.
 */
public final class LlamaContext implements AutoCloseable {
    /** The most tokens that are computed at once. */
    static final int BATCH = 512;
    static final int SEQUENCES = 2;
    /** Room that the second sequence needs for itself. */
    static final int ASIDE_TOKENS = 1;

    private static final int REQUEST = 0;
    private static final int ASIDE = 1;

    private final MemorySegment context;
    private final int capacity;
    private final int vocabulary;
    private int length;

    LlamaContext(MemorySegment context, int capacity, int vocabulary) {
        this.context = context;
        this.capacity = capacity;
        this.vocabulary = vocabulary;
    }

    /**
     * How many tokens it has.
     *
     * @return 0 and up
     */
    public int length() {
        return length;
    }

    /**
     * Computes the next tokens. The bits depend on the tokens only, not on how many are computed at once.
     *
     * @param tokens at least one
     * @return what follows the last one: a number for each token that there is
     * @throws MooncakeException INVALID_ARGUMENT where the request is longer than the context has room for, and for a token that there is not
     */
    public float[] compute(int... tokens) {
        // The library would end the process.
        for (int token : tokens) {
            if (token < 0 || token >= vocabulary) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT,
                        "llama.cpp: token " + token + " must be 0 to " + (vocabulary - 1));
            }
        }
        checkRoom(tokens.length);
        float[] last = {};
        for (int from = 0; from < tokens.length; from += BATCH) {
            last = computeBatch(Arrays.copyOfRange(tokens, from, Math.min(from + BATCH, tokens.length)));
        }
        return last;
    }

    private void checkRoom(int tokens) {
        if (tokens > capacity - length) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "llama.cpp: " + tokens + " tokens after " + length
                    + " are more than the " + capacity + " that a request may have; use shorter prompts");
        }
    }

    private float[] computeBatch(int... tokens) {
        // A token alone would go through other kernels, whose sums have other bits than those of several. So it is given company.
        boolean alone = tokens.length == 1;
        int[] all = alone ? new int[]{tokens[0], tokens[0]} : tokens;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment batch = batch(arena, all, alone ? 1 : all.length);
            int code = LlamaApi.decode(context, batch);
            if (code != 0) {
                throw new IllegalStateException(
                        "llama.cpp did not compute " + tokens.length + " tokens after " + length + ": code " + code);
            }
            length += tokens.length;
            return LlamaApi.logits(context, tokens.length - 1, vocabulary).toArray(JAVA_FLOAT);
        } finally {
            if (alone) {
                LlamaApi.removeSequence(context, ASIDE);
            }
        }
    }

    /** The first ones are the request's next tokens, the others are aside; what follows the last one of the request is wanted. */
    private MemorySegment batch(Arena arena, int[] tokens, int ofRequest) {
        int count = tokens.length;
        MemorySegment places = arena.allocate(JAVA_INT, count);
        MemorySegment sequences = arena.allocateFrom(JAVA_INT, REQUEST, ASIDE);
        MemorySegment sequencesOf = arena.allocate(ADDRESS, count);
        MemorySegment ones = arena.allocate(JAVA_INT, count);
        MemorySegment wanted = arena.allocate(JAVA_BYTE, count);
        for (int i = 0; i < count; i++) {
            boolean request = i < ofRequest;
            places.setAtIndex(JAVA_INT, i, request ? length + i : length);
            sequencesOf.setAtIndex(ADDRESS, i,
                    sequences.asSlice((long) (request ? REQUEST : ASIDE) * Integer.BYTES));
            ones.setAtIndex(JAVA_INT, i, 1);
            wanted.set(JAVA_BYTE, i, (byte) (i == ofRequest - 1 ? 1 : 0));
        }
        MemorySegment batch = arena.allocate(LlamaApi.BATCH);
        batch.set(JAVA_INT, 0, count);
        MemorySegment[] fields = {arena.allocateFrom(JAVA_INT, tokens), MemorySegment.NULL, places, ones, sequencesOf,
                wanted};
        for (int i = 0; i < fields.length; i++) {
            batch.setAtIndex(ADDRESS, i + 1L, fields[i]);
        }
        return batch;
    }

    /**
     * Copies the state of some of its tokens out.
     *
     * @param from the first one
     * @param count how many
     * @param state as many bytes as that is
     */
    public void copyOut(int from, int count, MemorySegment state) {
        LlamaApi.copySequence(context, REQUEST, ASIDE, from, from + count);
        try {
            long bytes = LlamaApi.stateBytes(context, ASIDE);
            if (bytes != state.byteSize() || LlamaApi.getState(context, state, ASIDE) != bytes) {
                throw new IllegalStateException("llama.cpp: the state of tokens " + from + " to " + (from + count - 1)
                        + " has " + bytes + " bytes, not " + state.byteSize());
            }
        } finally {
            LlamaApi.removeSequence(context, ASIDE);
        }
    }

    /**
     * Takes the state of the next tokens.
     *
     * @param count how many
     * @param state of those, with the places that they have here
     * @throws MooncakeException INVALID_ARGUMENT where the request is longer than the context has room for
     */
    public void append(int count, MemorySegment state) {
        checkRoom(count);
        long taken = LlamaApi.setState(context, state, ASIDE);
        if (taken != state.byteSize()) {
            throw new IllegalStateException("llama.cpp took " + taken + " of " + state.byteSize()
                    + " bytes of the state of " + count + " tokens after " + length);
        }
        LlamaApi.copySequence(context, ASIDE, REQUEST, -1, -1);
        LlamaApi.removeSequence(context, ASIDE);
        length += count;
    }

    /** Forgets all tokens. */
    public void clear() {
        LlamaApi.removeSequence(context, -1);
        length = 0;
    }

    @Override
    public void close() {
        LlamaApi.freeContext(context);
    }
}
