package io.mooncake.bench.stress;

import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Hold;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IZI_Result;

/** A hold is taken while the block is evicted: either it is not to be had, or it stays readable by its reference until the hold ends. */
@JCStressTest
@Outcome(id = "1, true, 3", expect = Expect.ACCEPTABLE, desc = "Held first: still readable, freed after the hold.")
@Outcome(id = "0, false, 3", expect = Expect.ACCEPTABLE, desc = "Evicted first: no hold, freed.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A hold of a block that is gone, or a leak.")
@State
public class HoldVsEvictStress {
    private final Store store = new Store();
    private final BlockRef ref = store.put();
    private @Nullable Hold hold;

    /** Holds. */
    @Actor
    public void consumer() {
        hold = store.manager.hold(List.of(ref), Store.TTL_NS);
    }

    /** Evicts, and the conductor retires. */
    @Actor
    public void evictor() {
        store.manager.evict(Store.ID);
        store.manager.doWork(store.nowNs);
    }

    /** What the hold is worth, and what is left after it. */
    @Arbiter
    public void after(IZI_Result r) {
        store.settle();
        Hold taken = hold;
        if (taken != null) {
            r.r1 = taken.refs().size();
            long pin = store.manager.guards()
                    .pin(ref.region(), ref.guardOffset(), ref.guard(), ref.offset(), ref.length());
            r.r2 = pin >= 0;
            if (pin >= 0) {
                store.manager.guards().unpin(pin);
            }
            taken.close();
        }
        store.settle();
        r.r3 = store.manager.usage().free();
    }
}
