package io.mooncake.bench.stress;

import io.mooncake.core.manager.ControlWords;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** A reader pins while the policy evicts: exactly one of them gets the slot. */
@JCStressTest
@Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "Pinned first: the policy leaves it alone.")
@Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "Evicted first: the reader finds nothing.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Pinned and evicted, or neither.")
@State
public class PinVsEvictStress {
    private final ControlWords words = Slots.written(0);

    /** Pins. */
    @Actor
    public void reader(ZZ_Result r) {
        r.r1 = words.pin(0, Slots.GENERATION);
    }

    /** Evicts. */
    @Actor
    public void policy(ZZ_Result r) {
        r.r2 = words.evictedUnpinned(0, Slots.GENERATION);
    }
}
