package io.mooncake.bench.cli;

import io.mooncake.core.IdleMode;
import io.mooncake.core.ThreadingMode;
import java.util.List;
import java.util.Locale;

/**
 * What {@code transfer} measures.
 *
 * @param sizes bytes a pull
 * @param outstanding how many pulls at a time, each for all sizes
 * @param seconds measured a size; a third of that before is warm-up
 * @param regionBytes what both sides walk through
 * @param blockBytes a block's length
 * @param threading of both nodes; INVOKER on the pulling side only
 * @param idle of both nodes
 * @param verify whether every byte is looked at, outside the latency but inside the rate
 * @param wholePassFirst whether the warm-up goes on until each transfer was submitted once, so that only re-submissions are measured
 */
record PullSettings(List<Long> sizes, List<Integer> outstanding, double seconds, long regionBytes, long blockBytes,
        ThreadingMode threading, IdleMode idle, boolean verify, boolean wholePassFirst) {
    /** Beside every figure, since it decides on latency and on processor time. */
    String idleText() {
        return idle == IdleMode.PARK ? "spin-yield-park" : "spin";
    }

    String threadingText() {
        return threading == ThreadingMode.INVOKER
                ? "client invoker, server shared"
                : threading.name().toLowerCase(Locale.ROOT);
    }
}
