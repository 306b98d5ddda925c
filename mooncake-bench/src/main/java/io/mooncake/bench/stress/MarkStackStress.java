package io.mooncake.bench.stress;

import io.mooncake.core.manager.MarkStack;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * A thread changes two slots and marks them, one of which is marked already, while the conductor takes: some look at a slot comes after
 * its change.
 */
@JCStressTest
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "Both changes were seen by a look that a mark asked for.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A mark got lost, or came before what it was to show.")
@State
public class MarkStackStress {
    private final MarkStack marks = new MarkStack(2);
    /** Plain: the mark has to order it. */
    private int first;
    private int second;
    private int firstSeen;
    private int secondSeen;

    /** Slot 0 is marked already. */
    public MarkStackStress() {
        marks.mark(0);
    }

    /** Changes both. */
    @Actor
    public void marker() {
        first = 1;
        marks.mark(0);
        second = 1;
        marks.mark(1);
    }

    /** Takes what is marked. */
    @Actor
    public void conductor() {
        look();
    }

    private void look() {
        int slot = marks.take();
        while (slot != MarkStack.NONE) {
            if (slot == 0) {
                firstSeen = first;
            } else {
                secondSeen = second;
            }
            slot = marks.take();
        }
    }

    /** The conductor's next cycle: here too only marks lead to a look. */
    @Arbiter
    public void nextCycle(II_Result r) {
        look();
        r.r1 = firstSeen;
        r.r2 = secondSeen;
    }
}
