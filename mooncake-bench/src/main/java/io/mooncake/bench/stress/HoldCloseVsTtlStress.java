package io.mooncake.bench.stress;

import io.mooncake.core.block.Hold;
import java.util.List;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZI_Result;

/** A hold is closed while the conductor ends it because its time is over: its pin goes once. */
@JCStressTest
@Outcome(id = "false, 3", expect = Expect.ACCEPTABLE, desc = "Ended once: the block can go, nothing is left.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Unpinned twice, or never.")
@State
public class HoldCloseVsTtlStress {
    private final Store store = new Store();
    private final Hold hold = store.manager.hold(List.of(store.put()), Store.TTL_NS);

    /** Its time is over. */
    public HoldCloseVsTtlStress() {
        store.nowNs = 1 + Store.TTL_NS;
    }

    /** Closes. */
    @Actor
    public void holder() {
        hold.close();
    }

    /** Ends what is over. */
    @Actor
    public void conductor() {
        store.manager.doWork(store.nowNs);
    }

    /** What is left. */
    @Arbiter
    public void after(ZI_Result r) {
        store.manager.evict(Store.ID);
        store.settle();
        r.r1 = hold.isOpen();
        r.r2 = store.manager.usage().free();
    }
}
