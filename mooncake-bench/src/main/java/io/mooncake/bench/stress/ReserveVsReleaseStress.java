package io.mooncake.bench.stress;

import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.DramPool;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * One thread pops while another pops twice and pushes the first back: without tags the first would install a link that is out of date
 * and a slot would be handed out twice.
 */
@JCStressTest
@Outcome(id = "0, 3", expect = Expect.ACCEPTABLE, desc = "Every slot has one owner, all are counted.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A slot with two owners, or one that got lost.")
@State
public class ReserveVsReleaseStress {
    private final DramPool pool = Store.pool();
    private int mine;
    private int kept;

    /** Pops. */
    @Actor
    public void one() {
        mine = pool.reserve(1);
    }

    /** Pops twice, pushes the first back. */
    @Actor
    public void other() {
        int first = pool.reserve(1);
        kept = pool.reserve(1);
        if (first != BlockPool.NONE) {
            pool.release(first);
        }
    }

    /** Pops the rest. */
    @Arbiter
    public void after(II_Result r) {
        int owners = owner(mine) + owner(kept);
        int slot = pool.reserve(1);
        while (slot != BlockPool.NONE) {
            owners += owner(slot);
            slot = pool.reserve(1);
        }
        // One octal digit a slot: its owners.
        r.r1 = owners - (owner(0) + owner(1) + owner(2));
        r.r2 = pool.usage().used();
    }

    private static int owner(int slot) {
        return slot == BlockPool.NONE ? 0 : 1 << (3 * slot);
    }
}
