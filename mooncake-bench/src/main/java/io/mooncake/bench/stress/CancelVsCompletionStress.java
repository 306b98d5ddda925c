package io.mooncake.bench.stress;

import io.mooncake.core.transfer.Transfer;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LLI_Result;

/** A transfer is canceled while its two pieces end: it has one end, the one that cancel was told, and is reported once. */
@JCStressTest
@Outcome(id = "true, CANCELED, 1", expect = Expect.ACCEPTABLE, desc = "The cancel was first.")
@Outcome(id = "false, COMPLETED, 1", expect = Expect.ACCEPTABLE, desc = "The last piece was first.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Two ends, none, not released, or told another number of times than once.")
@State
public class CancelVsCompletionStress {
    private final Lone lone = new Lone();
    private final Transfer transfer = lone.submitted(2);
    private boolean canceled;

    /** jcstress makes one a run. */
    public CancelVsCompletionStress() {}

    /** The caller. */
    @Actor
    public void cancel() {
        canceled = transfer.cancel();
    }

    /** The engine. */
    @Actor
    public void complete() {
        transfer.end(0, io.mooncake.core.transfer.Outcome.OK, null);
        transfer.end(1, io.mooncake.core.transfer.Outcome.OK, null);
    }

    /** What is left. */
    @Arbiter
    public void look(LLI_Result r) {
        r.r1 = canceled;
        r.r2 = transfer.isReleased() ? transfer.state() : "not released";
        int polled = lone.queue.drain(done -> {}, 3);
        r.r3 = polled == lone.dispatched.get() ? polled : -1;
    }
}
