package io.mooncake.bench.stress;

import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Version;
import io.mooncake.core.manager.ReplicaWriter;
import java.util.Objects;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LLLL_Result;

/** A local writer and a copy commit one id: one slot is left, with the higher version, the other is freed. */
@JCStressTest
@Outcome(id = "WRITTEN, WRITTEN, 1, 1", expect = Expect.ACCEPTABLE, desc = "The copy came first: the writer's version is above it.")
@Outcome(id = "WRITTEN, WRITTEN, 2, 1", expect = Expect.ACCEPTABLE, desc = "The writer came first: the copy is above it.")
@Outcome(id = "SUPERSEDED, WRITTEN, 2, 1", expect = Expect.ACCEPTABLE, desc = "The writer chose its version, then the copy came.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Both lost, a slot leaked, or the lower version won.")
@State
public class CommitVsCommitStress {
    private final Store store = new Store();
    private final BlockWriter writer = store.writer();
    /** Above the first version that this node gives out (1, of writer 1), below the second. */
    private final ReplicaWriter copy = Objects
            .requireNonNull(store.manager.allocateReplica(Store.ID, new Version(1, 2), 64));

    /** Commits its own. */
    @Actor
    public void writer(LLLL_Result r) {
        writer.commit();
        r.r1 = writer.result();
    }

    /** Commits the copy. */
    @Actor
    public void copy(LLLL_Result r) {
        copy.commit();
        r.r2 = copy.result();
    }

    /** What is left. */
    @Arbiter
    public void after(LLLL_Result r) {
        store.settle();
        r.r3 = Objects.requireNonNull(store.manager.find(Store.ID)).version().writer();
        r.r4 = store.manager.usage().used();
    }
}
