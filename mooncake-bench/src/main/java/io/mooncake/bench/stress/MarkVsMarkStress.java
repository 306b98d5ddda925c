package io.mooncake.bench.stress;

import io.mooncake.core.manager.MarkStack;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/** Two threads mark a slot each and one in common: each slot is taken once. */
@JCStressTest
@Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE, desc = "Three slots, three looks.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A mark got lost, or a slot was pushed twice.")
@State
public class MarkVsMarkStress {
    private final MarkStack marks = new MarkStack(3);

    /** Marks 0 and 2. */
    @Actor
    public void one() {
        marks.mark(0);
        marks.mark(2);
    }

    /** Marks 2 and 1. */
    @Actor
    public void other() {
        marks.mark(2);
        marks.mark(1);
    }

    /** Takes. */
    @Arbiter
    public void conductor(III_Result r) {
        for (int slot = marks.take(); slot != MarkStack.NONE; slot = marks.take()) {
            switch (slot) {
                case 0 -> r.r1++;
                case 1 -> r.r2++;
                default -> r.r3++;
            }
        }
    }
}
