package io.mooncake.bench.stress;

import io.mooncake.core.manager.ControlWords;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZI_Result;

/** Two readers pin one block. */
@JCStressTest
@Outcome(id = "true, true, 2", expect = Expect.ACCEPTABLE, desc = "Both pins count.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A pin got lost.")
@State
public class TwoPinsStress {
    private final ControlWords words = Slots.written(0);

    /** Pins. */
    @Actor
    public void first(ZZI_Result r) {
        r.r1 = words.pin(0, Slots.GENERATION);
    }

    /** Pins. */
    @Actor
    public void second(ZZI_Result r) {
        r.r2 = words.pin(0, Slots.GENERATION);
    }

    /** Counts. */
    @Arbiter
    public void after(ZZI_Result r) {
        r.r3 = ControlWords.pins(words.get(0));
    }
}
