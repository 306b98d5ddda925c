package io.mooncake.bench.engine;

import io.mooncake.core.base.Layout;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.PrefixChain;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;

/** An inference engine as the {@link EngineAdapter} needs it. Any thread; each of its contexts by one thread at a time. */
public interface Engine extends AutoCloseable {
    /**
     * What it is, and what its figures can't show; for people.
     *
     * @return one line
     */
    String describe();

    /**
     * How many tokens there are.
     *
     * @return tokens are 0 to this - 1
     */
    int vocabulary();

    /**
     * The tokens of a text. Where an engine has no vocabulary of its own they are the text's bytes in UTF-8.
     *
     * @param text any
     * @return one for each byte
     * @throws MooncakeException INVALID_ARGUMENT where there are fewer tokens than bytes
     */
    default int[] encode(String text) {
        if (vocabulary() < 1 << Byte.SIZE) {
            throw new MooncakeException(MooncakeException.Kind.INVALID_ARGUMENT, "a model with only " + vocabulary()
                    + " tokens has none for each byte of a text: use a larger model");
        }
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        return IntStream.range(0, utf8.length).map(i -> Byte.toUnsignedInt(utf8[i])).toArray();
    }

    /**
     * How the keys and values of a block's tokens lie in it.
     *
     * @return of a full block
     */
    Layout layout();

    /**
     * What names its blocks: whatever changes their bytes is in it.
     *
     * @return of model, layout and build
     */
    PrefixChain chain();

    /**
     * How far logits may lie from those that were computed in one go.
     *
     * @return 0 where they are the same bits
     */
    float tolerance();

    /**
     * A request's keys and values, none yet.
     *
     * @return to be closed
     */
    Context newContext();

    @Override
    void close();

    /** The keys and values of one request, from its first token on. */
    interface Context extends AutoCloseable {
        /**
         * How many tokens it has the keys and values of.
         *
         * @return 0 and up
         */
        int length();

        /**
         * Takes the keys and values of the next tokens out of a block. Only between blocks.
         *
         * @param block full; the context's from now on, to be closed when it is needed no more
         */
        void attach(BlockView block);

        /**
         * Computes the next tokens.
         *
         * @param tokens at least one
         * @return what follows the last one: a number for each token that there is
         */
        float[] compute(int... tokens);

        /**
         * Copies the keys and values of a full block's tokens out.
         *
         * @param block its index, in this context
         * @param target room for a full block
         */
        void copyOut(int block, MemorySegment target);

        /**
         * The same bytes as a block's are in the store now: the context may use them instead of its own.
         *
         * @param block its index, in this context
         * @param view the context's from now on
         */
        void share(int block, BlockView view);

        @Override
        void close();
    }

    /**
     * Where rows of tokens that follow each other go, in one of an engine's own pages.
     *
     * @param page native memory, as long as the context
     * @param offset of the first row in it
     * @param count rows there
     */
    record Rows(MemorySegment page, long offset, int count) {}

    /** A context into whose own pages keys and values may be written from outside, before a layer is computed. */
    interface LayeredContext extends Context {
        /**
         * Where a plane's rows go.
         *
         * @param layer 0 and up
         * @param plane 0 keys, 1 values
         * @param token whose row is the first one, at most so far beyond the last as there is room
         * @return its rows and those of the tokens after it
         */
        Rows rows(int layer, int plane, int token);

        /**
         * The keys and values of the next tokens are being written there. To be followed by one compute.
         *
         * @param tokens how many
         * @param gate called before each layer is computed, returns when that layer's are there; what it throws, compute throws, and the
         *     context is good for nothing then
         */
        void expect(int tokens, IntConsumer gate);
    }
}
