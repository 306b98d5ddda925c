package io.mooncake.bench.cli;

import java.util.List;

/**
 * What {@code transfer} measures.
 *
 * @param sizes bytes a pull
 * @param outstanding how many pulls at a time, each for all sizes
 * @param seconds measured a size; a third of that before is warm-up
 * @param regionBytes what both sides walk through
 * @param blockBytes a block's length
 * @param engine by which the pulling node reaches the serving one
 * @param nodes how both are set up
 * @param verify whether every byte is looked at, outside the latency but inside the rate
 * @param wholePassFirst whether the warm-up goes on until each transfer was submitted once, so that only re-submissions are measured
 */
record PullSettings(List<Long> sizes, List<Integer> outstanding, double seconds, long regionBytes, long blockBytes,
        String engine, NodeSettings nodes, boolean verify, boolean wholePassFirst) {
    /** The same with other settings of the nodes. */
    PullSettings with(NodeSettings other) {
        return new PullSettings(sizes, outstanding, seconds, regionBytes, blockBytes, engine, other, verify,
                wholePassFirst);
    }
}
