package io.mooncake.bench.stress;

import io.mooncake.core.transfer.Transfer;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two transfers are done while another thread polls, and the first is submitted again and done by that: every end is polled once. */
@JCStressTest
@Outcome(id = "1, 1", expect = Expect.ACCEPTABLE, desc = "Each was polled once.")
@Outcome(id = "2, 1", expect = Expect.ACCEPTABLE, desc = "The first was polled, submitted again, and polled again.")
@Outcome(expect = Expect.FORBIDDEN, desc = "An end was lost or doubled.")
@State
public class CompletionQueueStress {
    private final Lone lone = new Lone();
    private final Transfer first = lone.submitted(1);
    private final Transfer second = lone.submitted(1);
    private int firstPolled;
    private int secondPolled;
    private boolean again;

    /** jcstress makes one a run. */
    public CompletionQueueStress() {}

    /** The engine. */
    @Actor
    public void complete() {
        end(first);
        end(second);
    }

    /** The poller. */
    @Actor
    public void poll() {
        Transfer polled = lone.queue.poll();
        note(polled);
        if (first.equals(polled)) {
            again = true;
            end(first.submit());
        }
    }

    private static void end(Transfer transfer) {
        transfer.end(0, io.mooncake.core.transfer.Outcome.OK, null);
    }

    private void note(@Nullable Transfer polled) {
        firstPolled += first.equals(polled) ? 1 : 0;
        secondPolled += second.equals(polled) ? 1 : 0;
    }

    /** Polls what is left. */
    @Arbiter
    public void rest(II_Result r) {
        lone.queue.drain(this::note, 4);
        r.r1 = again && firstPolled != 2 ? -firstPolled : firstPolled;
        r.r2 = secondPolled;
    }
}
