package io.mooncake.bench.stress;

import io.mooncake.core.block.BlockState;
import io.mooncake.core.manager.ControlWords;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZJI_Result;

/** A reader pins a block while its slot is evicted, freed and written again: the next block is never pinned by mistake. */
@JCStressTest
@Outcome(id = "true, 7, 1", expect = Expect.ACCEPTABLE, desc = "Pinned first: the slot is not reused.")
@Outcome(id = "false, 8, 0", expect = Expect.ACCEPTABLE, desc = "Reused first: the old generation is not found.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A pin of the old generation counts on the new one, or got lost.")
@State
public class PinVsReuseStress {
    private final ControlWords words = Slots.written(0);

    /** Pins the old generation. */
    @Actor
    public void reader(ZJI_Result r) {
        r.r1 = words.pin(0, Slots.GENERATION);
    }

    /** Evicts, and the next writer takes the slot. */
    @Actor
    public void reuse() {
        if (words.evictedUnpinned(0, Slots.GENERATION)) {
            words.freed(0, Slots.GENERATION, BlockState.EVICTED);
            words.allocated(0, Slots.GENERATION + 1);
            words.written(0, Slots.GENERATION + 1, 0);
        }
    }

    /** What is left. */
    @Arbiter
    public void after(ZJI_Result r) {
        r.r2 = ControlWords.generation(words.get(0));
        r.r3 = ControlWords.pins(words.get(0));
    }
}
