package io.mooncake.bench.cli;

import io.mooncake.core.base.ByteSize;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How a replay is to run: validated once, immutable.
 *
 * @param nodes embedded nodes
 * @param capacity blocks that each of them caches
 * @param blockSize bytes of a block
 * @param policy eviction policy's name
 * @param speed how many times faster than the trace's clock; 0 = as fast as possible
 * @param passes how often the trace is replayed, on nodes that stay as they are
 * @param lookAhead requests that are queued, whose blocks the nodes are told of; 0 = none, {@link #ALL} = the whole trace
 * @param tiers what the nodes have below and above their host memory; null = nothing
 */
record ReplayOptions(int nodes, int capacity, long blockSize, String policy, double speed, int passes, int lookAhead,
        @Nullable ReplayTiers tiers) {
    /** {@link #lookAhead}: the whole trace is known. */
    static final int ALL = Integer.MAX_VALUE;
    /** Nodes at most. */
    static final int MAX_NODES = 64;
    /** Percent of the free memory that a run may take. */
    static final int MEMORY_SHARE = 60;
    /** Bytes that a node keeps for a slot besides the block: table entry, control words, guard, registry entry. */
    static final long BOOKKEEPING = 512;

    /** Blocks that a node caches, or keeps in its file, at most. */
    static final int MAX_CAPACITY = 1 << 30;
    private static final int MIN_SPARE_SLOTS = 2;
    private static final int MAX_SPARE_SLOTS = 64;

    /**
     * Checks everything.
     *
     * @throws BadInputException naming option, value and bounds
     */
    ReplayOptions {
        within("--nodes", nodes, 1, MAX_NODES);
        within("--capacity", capacity, 1, MAX_CAPACITY);
        within("--passes", passes, 1, lookAhead == 0 ? Integer.MAX_VALUE : 1);
        within("--lookahead", lookAhead, 0, ALL);
        if (blockSize < Content.MIN_BYTES || blockSize % Long.BYTES != 0) {
            throw new BadInputException(
                    "--block-size = " + ByteSize.format(blockSize) + " must be a multiple of 8 bytes, at least "
                            + Content.MIN_BYTES);
        }
        if (!(speed >= 0 && speed < Double.POSITIVE_INFINITY)) {
            throw new BadInputException("--speed = " + speed + " must be 0 (as fast as possible) or a positive factor");
        }
    }

    /**
     * Refuses a number that is out of bounds.
     *
     * @param option its name
     * @param value what was given
     * @param least the least that is right
     * @param most the most that is right
     * @throws BadInputException naming all four
     */
    static void within(String option, long value, long least, long most) {
        if (value < least || value > most) {
            throw new BadInputException(option + " = " + value + " must be " + least + " to " + most);
        }
    }

    /** Of nodes without files. */
    ReplayOptions(int nodes, int capacity, long blockSize, String policy, double speed, int passes, int lookAhead) {
        this(nodes, capacity, blockSize, policy, speed, passes, lookAhead, null);
    }

    /** What a node's other tiers take, {@code key=value} each, for {@link ReplayVram#apply}. */
    List<String> tierSettings(int index) {
        return tiers == null ? List.of() : tiers.settings(index, blockSize);
    }

    /** Slots that a node has beyond its capacity, for blocks that are being written or pulled. */
    int spareSlots() {
        return Math.clamp(capacity / 16, MIN_SPARE_SLOTS, MAX_SPARE_SLOTS);
    }

    /** Bytes of a node's pool; may pass 2^63 only where {@link #checkMemory} refuses. */
    long poolBytes() {
        return Math.multiplyExact(capacity + (long) spareSlots(), blockSize);
    }

    /**
     * Refuses a run that does not fit.
     *
     * @param free what there is
     * @throws BadInputException with the arithmetic
     */
    void checkMemory(FreeMemory free) {
        int vram = tiers == null ? 0 : tiers.hostVramSlots();
        long slots = capacity + (long) spareSlots() + 1 + vram;
        BigInteger needed = BigInteger.valueOf(slots)
                .multiply(BigInteger.valueOf(blockSize).add(BigInteger.valueOf(BOOKKEEPING)))
                .multiply(BigInteger.valueOf(nodes));
        long allowed = BigDecimal.valueOf(free.bytes()).multiply(BigDecimal.valueOf(MEMORY_SHARE, 2)).longValue();
        if (needed.compareTo(BigInteger.valueOf(allowed)) > 0) {
            throw new BadInputException(
                    nodes + " nodes x (" + capacity + " cached + " + spareSlots() + " spare + 1 copy buffer"
                            + (vram == 0 ? "" : " + " + vram + " in the place of VRAM") + ") x ("
                            + ByteSize.format(blockSize) + " + " + BOOKKEEPING + "B bookkeeping) = "
                            + ByteSize.rounded(needed.doubleValue()) + ", more than " + MEMORY_SHARE + " % of the "
                            + ByteSize.rounded((double) free.bytes()) + " free (" + free.source() + ") = "
                            + ByteSize.rounded((double) allowed)
                            + ": lower --capacity, --block-size or --nodes");
        }
    }

    /** For people: what the nodes are told of. */
    String lookAheadText() {
        return switch (lookAhead) {
            case 0 -> "";
            case ALL -> " with the whole trace known";
            default -> " with " + lookAhead + " requests known";
        };
    }

    /** For the report. */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("nodes", nodes);
        map.put("capacity", capacity);
        map.put("spareSlots", spareSlots());
        map.put("blockSize", blockSize);
        map.put("policy", policy);
        map.put("speed", speed);
        map.put("passes", passes);
        map.put("lookAhead", lookAhead == ALL ? "all" : lookAhead);
        if (tiers != null) {
            map.put("fileBlocks", tiers.fileBlocks());
            map.put("restarts", tiers.restarts());
            ReplayVram vram = tiers.vram();
            map.put("vram", vram == null ? null : vram.kind().toString());
            map.put("vramBlocks", vram == null ? 0 : vram.blocks());
        }
        return map;
    }
}
