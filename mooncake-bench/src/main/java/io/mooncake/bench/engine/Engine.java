package io.mooncake.bench.engine;

import io.mooncake.core.base.Layout;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.PrefixChain;
import java.lang.foreign.MemorySegment;

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
}
