package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.bench.engine.EngineChoice.Kind;
import io.mooncake.bench.engine.LlamaCppEngine;
import org.junit.jupiter.api.BeforeAll;

class LlamaCppDisaggTest extends DisaggSuite {
    @BeforeAll
    static void assumeItIsHere() {
        assumeTrue(LlamaCppEngine.failure() == null, LlamaCppEngine::failure);
    }

    @Override
    Kind kind() {
        return Kind.LLAMACPP;
    }
}
