package io.mooncake.bench.stress;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.pool.DramPool;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZI_Result;

/** Two threads free one slot. */
@JCStressTest
@Outcome(id = "true, false, 3", expect = Expect.ACCEPTABLE, desc = "The second one is refused.")
@Outcome(id = "false, true, 3", expect = Expect.ACCEPTABLE, desc = "The second one is refused.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Freed twice, or not at all.")
@State
public class DoubleFreeStress {
    private final DramPool pool = Store.pool();
    private final int slot = pool.reserve(1);

    /** Frees. */
    @Actor
    public void one(ZZI_Result r) {
        r.r1 = free();
    }

    /** Frees. */
    @Actor
    public void other(ZZI_Result r) {
        r.r2 = free();
    }

    private boolean free() {
        try {
            pool.release(slot);
            return true;
        } catch (MooncakeException e) {
            return false;
        }
    }

    /** Counts. */
    @Arbiter
    public void after(ZZI_Result r) {
        r.r3 = pool.usage().free();
    }
}
