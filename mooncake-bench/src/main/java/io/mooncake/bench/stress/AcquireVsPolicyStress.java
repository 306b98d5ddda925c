package io.mooncake.bench.stress;

import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZI_Result;

/** Through the whole manager: a view of a block is taken and closed while the block is evicted and its slot written again. */
@JCStressTest
@Outcome(id = "true, true, 2", expect = Expect.ACCEPTABLE, desc = "Pinned: the bytes stayed under the old guard's slot; freed by the last unpin.")
@Outcome(id = "false, true, 2", expect = Expect.ACCEPTABLE, desc = "Gone: nothing was found.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A view of the wrong block, or a leak.")
@State
public class AcquireVsPolicyStress {
    private final Store store = new Store();
    private final BlockRef ref = store.put();
    private final BlockView view = store.manager.newView();

    /** Announces the block. */
    public AcquireVsPolicyStress() {
        store.settle();
    }

    /** Takes a view. */
    @Actor
    public void reader(ZZI_Result r) {
        r.r2 = true;
        r.r1 = store.manager.acquire(ref, view);
        if (r.r1) {
            r.r2 = view.ref().equals(ref);
            view.close();
        }
    }

    /** Evicts; the next writer takes the slot as soon as it is free. */
    @Actor
    public void owner() {
        store.manager.evict(Store.ID);
        store.manager.doWork(store.nowNs);
        store.put();
    }

    /** What is left: one block. */
    @Arbiter
    public void after(ZZI_Result r) {
        store.settle();
        r.r3 = store.manager.usage().free();
    }
}
