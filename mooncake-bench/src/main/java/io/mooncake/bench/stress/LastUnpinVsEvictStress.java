package io.mooncake.bench.stress;

import io.mooncake.core.block.BlockState;
import io.mooncake.core.manager.ControlWords;
import io.mooncake.core.manager.MarkStack;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** The last pin ends while the conductor retires the block: the slot is freed, once, by the conductor now or at the mark. */
@JCStressTest
@Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "The conductor saw no pin and freed.")
@Outcome(id = "0, 1", expect = Expect.ACCEPTABLE, desc = "The conductor saw the pin; the last unpin marked, and the mark freed.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Freed twice, or leaked.")
@State
public class LastUnpinVsEvictStress {
    private final ControlWords words = Slots.written(1);
    private final MarkStack marks = new MarkStack(1);

    /** Ends the last pin. */
    @Actor
    public void reader() {
        if (words.unpin(0, Slots.GENERATION)) {
            marks.mark(0);
        }
    }

    /** Retires, and frees if nobody is left. */
    @Actor
    public void conductor(II_Result r) {
        words.evictedUnheld(0, Slots.GENERATION);
        r.r1 = words.freed(0, Slots.GENERATION, BlockState.EVICTED) ? 1 : 0;
    }

    /** The conductor's next cycle. */
    @Arbiter
    public void nextCycle(II_Result r) {
        while (marks.take() != MarkStack.NONE) {
            r.r2 += words.freed(0, Slots.GENERATION, BlockState.EVICTED) ? 1 : 0;
        }
    }
}
