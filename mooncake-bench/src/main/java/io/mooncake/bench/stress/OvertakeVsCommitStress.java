package io.mooncake.bench.stress;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockWriter;
import java.util.Objects;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LLLL_Result;

/** A writer whose time is over commits while another takes its id and commits: never a lower version over a higher one. */
@JCStressTest
@Outcome(id = "STALE_VERSION, WRITTEN, 1, 1", expect = Expect.ACCEPTABLE, desc = "Overtaken: nothing of it was written.")
@Outcome(id = "WRITTEN, WRITTEN, 2, 1", expect = Expect.ACCEPTABLE, desc = "Committed just in time, then replaced.")
@Outcome(id = "WRITTEN, IN_USE, 1, 1", expect = Expect.ACCEPTABLE, desc = "The other one came while it was committing.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Both have the id, or a slot leaked.")
@State
public class OvertakeVsCommitStress {
    private final Store store = new Store();
    private final BlockWriter late = store.writer();

    /** Its time is over. */
    public OvertakeVsCommitStress() {
        store.nowNs = 1 + Store.TTL_NS;
    }

    /** Commits late. */
    @Actor
    public void late(LLLL_Result r) {
        r.r1 = commit(late);
    }

    /** Takes the id. */
    @Actor
    public void next(LLLL_Result r) {
        try {
            r.r2 = commit(store.writer());
        } catch (MooncakeException e) {
            r.r2 = e.kind();
        }
    }

    private static Object commit(BlockWriter writer) {
        try {
            writer.commit();
            return writer.result();
        } catch (MooncakeException e) {
            return e.kind();
        }
    }

    /** What is left. */
    @Arbiter
    public void after(LLLL_Result r) {
        store.settle();
        r.r3 = Objects.requireNonNull(store.manager.find(Store.ID)).version().counter();
        r.r4 = store.manager.usage().used();
    }
}
