package io.mooncake.bench.stress;

import io.mooncake.core.pool.GuardTable;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.IIZ_Result;

/**
 * A reader without a pin copies, then looks at the guard, while the block is evicted and its slot written again: what the old guard proves
 * are the old bytes, all of them.
 */
@JCStressTest
@Outcome(id = "1, 1, true", expect = Expect.ACCEPTABLE, desc = "Old bytes, proven.")
@Outcome(id = "[12], [12], false", expect = Expect.ACCEPTABLE, desc = "Whatever bytes, not proven.")
@Outcome(expect = Expect.FORBIDDEN, desc = "A new byte under the old guard.")
@State
public class GuardedReadStress {
    private final GuardTable guards = new GuardTable(MemorySegment.ofArray(new long[8]));
    private final MemorySegment bytes = MemorySegment.ofArray(new long[2]);
    private final long old;

    /** The slot has a block of ones. */
    public GuardedReadStress() {
        long generation = guards.allocated(0);
        fill(1);
        old = guards.written(0, generation);
    }

    private void fill(long value) {
        bytes.set(ValueLayout.JAVA_LONG, 0, value);
        bytes.set(ValueLayout.JAVA_LONG, 8, value);
    }

    /** Reads as a device or another process does. */
    @Actor
    public void reader(IIZ_Result r) {
        r.r1 = (int) bytes.get(ValueLayout.JAVA_LONG, 0);
        r.r2 = (int) bytes.get(ValueLayout.JAVA_LONG, 8);
        r.r3 = guards.read(0) == old;
    }

    /** Evicts, frees, writes again. */
    @Actor
    public void owner() {
        long generation = GuardTable.generation(old);
        guards.evicted(0, generation);
        guards.freed(0, generation);
        long next = guards.allocated(0);
        fill(2);
        guards.written(0, next);
    }
}
