package io.mooncake.bench.stress;

import io.mooncake.core.manager.ControlWords;

/** One slot in the state that a test begins with. */
final class Slots {
    static final long GENERATION = 7;

    private Slots() {}

    static ControlWords written(int pins) {
        ControlWords words = new ControlWords(1);
        words.allocated(0, GENERATION);
        words.written(0, GENERATION, pins);
        return words;
    }
}
