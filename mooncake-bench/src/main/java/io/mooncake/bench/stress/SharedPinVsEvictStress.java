package io.mooncake.bench.stress;

import io.mooncake.core.pool.GuardTable;
import io.mooncake.core.transfer.shm.PinTable;
import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/** A reader of another process pins a block while its owner evicts it: they never both go ahead. */
@JCStressTest
@Outcome(id = "true, false", expect = Expect.ACCEPTABLE, desc = "Pinned: the owner waits.")
@Outcome(id = "false, true", expect = Expect.ACCEPTABLE, desc = "Freed: the reader saw the guard.")
@Outcome(id = "false, false", expect = Expect.ACCEPTABLE, desc = "The reader saw the guard, the owner still its count: freed at the next look.")
@Outcome(expect = Expect.FORBIDDEN, desc = "Pinned and freed.")
@State
public class SharedPinVsEvictStress {
    private final GuardTable guards = new GuardTable(MemorySegment.ofArray(new long[8]));
    private final PinTable pins = PinTable.over(MemorySegment.ofArray(new long[9]), 1);
    private final long guard;

    /** The slot has a block. */
    public SharedPinVsEvictStress() {
        guard = guards.written(0, guards.allocated(0));
    }

    /** Counts up, then looks at the guard. */
    @Actor
    public void reader(ZZ_Result r) {
        pins.pin(0);
        r.r1 = guards.read(0) == guard;
        if (!r.r1) {
            pins.unpin(0);
        }
    }

    /** Raises the guard, then looks at the pins. */
    @Actor
    public void owner(ZZ_Result r) {
        guards.evicted(0, GuardTable.generation(guard));
        r.r2 = !pins.isPinned(0);
    }
}
