package io.mooncake.bench.stress;

import io.mooncake.core.block.BlockView;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two threads close the same view: its pin goes once, and another view's pin of the block stays. */
@JCStressTest
@Outcome(id = "2, 3", expect = Expect.ACCEPTABLE, desc = "Unpinned once: the other view keeps the block until it is closed.")
@Outcome(expect = Expect.FORBIDDEN, desc = "The other view's pin was taken, or a pin was left.")
@State
public class ViewCloseVsCloseStress {
    private final Store store = new Store();
    private final BlockView view = store.manager.newView();
    private final BlockView other = store.manager.newView();

    /** Both have a pin. */
    public ViewCloseVsCloseStress() {
        store.put();
        store.manager.acquire(Store.ID, view);
        store.manager.acquire(Store.ID, other);
        store.manager.evict(Store.ID);
    }

    /** Closes. */
    @Actor
    public void one() {
        view.close();
    }

    /** Closes as well. */
    @Actor
    public void two() {
        view.close();
    }

    /** The free slots before and after the other view ends. */
    @Arbiter
    public void after(II_Result r) {
        store.settle();
        r.r1 = store.manager.usage().free();
        if (r.r1 == 2) {
            other.close();
            store.settle();
            r.r2 = store.manager.usage().free();
        }
    }
}
