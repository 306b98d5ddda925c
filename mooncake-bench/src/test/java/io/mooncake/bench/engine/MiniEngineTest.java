package io.mooncake.bench.engine;

import io.mooncake.bench.engine.EngineChoice.Model;

class MiniEngineTest extends EngineAdapterSuite {
    @Override
    Engine newEngine(long seed) {
        return MiniEngine.of(Model.TINY, seed, BLOCK_TOKENS);
    }
}
