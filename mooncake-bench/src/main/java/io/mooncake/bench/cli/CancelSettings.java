package io.mooncake.bench.cli;

import io.mooncake.core.ThreadingMode;
import io.mooncake.core.base.ByteSize;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * What {@code cancel} does: validated once, immutable.
 *
 * @param engine by which the pulling node reaches the serving one
 * @param count pulls to be canceled
 * @param smallest bytes of a pull
 * @param largest bytes of a pull
 * @param window pulls in flight at a time
 * @param windowBytes what an engine may have outstanding that it cannot recall
 * @param seed of sizes, sources and moments
 * @param nodes how both nodes are set up
 */
record CancelSettings(String engine, int count, long smallest, long largest, int window, long windowBytes, long seed,
        NodeSettings nodes) {
    /** How many filled memories are watched at each place in the window, so that late bytes have time to land. */
    static final int WATCHED = 2;
    /** Different blocks that each place pulls, which no other place does: pulls of one block into a pool would be one pull. */
    static final int SOURCES = 8;
    static final int MAX_WINDOW = 16;

    /**
     * Checks everything.
     *
     * @throws BadInputException naming option, value and bounds
     */
    CancelSettings {
        ReplayOptions.within("--count", count, 1, 1_000_000_000);
        ReplayOptions.within("--window", window, 1, MAX_WINDOW);
        if (smallest < Content.MIN_BYTES || largest < smallest || largest > 1L << 30
                || (smallest | largest) % Long.BYTES != 0) {
            throw new BadInputException("--sizes = " + ByteSize.format(smallest) + ".." + ByteSize.format(largest)
                    + " must rise, be multiples of 8 and " + Content.MIN_BYTES + "B to 1GiB, for example 1MiB..64MiB");
        }
        if (windowBytes < 1) {
            throw new BadInputException("--window-bytes = " + windowBytes + " must be positive");
        }
        if (nodes.threading() == ThreadingMode.INVOKER) {
            throw new BadInputException(
                    "--threading = invoker would stand still while memory is filled: use shared or dedicated");
        }
    }

    /** A size between the bounds, a multiple of 8. */
    long size(SplittableRandom random) {
        return random.nextLong(smallest, largest + 1) / Long.BYTES * Long.BYTES;
    }

    /** Every second place pulls into the pool, the others into the caller's memory. */
    int poolSeats() {
        return (window + 1) / 2;
    }

    /** Memory of both processes at most. */
    long bytes() {
        return (SOURCES + WATCHED + 1L) * window * largest;
    }

    /** For the report. */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("engine", engine);
        map.put("count", count);
        map.put("smallest", smallest);
        map.put("largest", largest);
        map.put("window", window);
        map.put("windowBytes", windowBytes);
        map.put("seed", seed);
        map.putAll(nodes.toMap());
        return map;
    }
}
