package io.mooncake.bench.engine;

import io.mooncake.core.base.Layout;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.PrefixChain;
import java.lang.foreign.MemorySegment;

/**
 * An engine that tells a test of each block that it uses. Not closed with it.
 *
 * @param engine computes
 * @param onAttach called when a block's bytes have been taken, before anything else happens
 */
record WatchedEngine(Engine engine, Runnable onAttach) implements Engine {
    @Override
    public String describe() {
        return engine.describe();
    }

    @Override
    public int vocabulary() {
        return engine.vocabulary();
    }

    @Override
    public Layout layout() {
        return engine.layout();
    }

    @Override
    public PrefixChain chain() {
        return engine.chain();
    }

    @Override
    public float tolerance() {
        return engine.tolerance();
    }

    @Override
    public Context newContext() {
        Context context = engine.newContext();
        return new Context() {
            @Override
            public int length() {
                return context.length();
            }

            @Override
            public void attach(BlockView block) {
                context.attach(block);
                onAttach.run();
            }

            @Override
            public float[] compute(int... tokens) {
                return context.compute(tokens);
            }

            @Override
            public void copyOut(int block, MemorySegment target) {
                context.copyOut(block, target);
            }

            @Override
            public void share(int block, BlockView view) {
                context.share(block, view);
            }

            @Override
            public void close() {
                context.close();
            }
        };
    }

    @Override
    public void close() {}
}
