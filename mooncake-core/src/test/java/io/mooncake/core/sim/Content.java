package io.mooncake.core.sim;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.Version;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What stands in every block that was ever committed. A writer does not know its version before the commit, so the bytes come from the
 * number of the write, and the commit says which (id, version) that is.
 */
final class Content {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** One write. */
    record Write(long number, long length) {}

    private final Map<BlockId, Map<Version, Write>> committed = new HashMap<>();
    private long writes;

    long nextWrite() {
        return ++writes;
    }

    void commit(BlockId id, Version version, long number, long length) {
        Write before = committed.computeIfAbsent(id, key -> new HashMap<>()).put(version, new Write(number, length));
        if (before != null) {
            throw new Violation(1, version + " of " + id + " was given out twice");
        }
    }

    @Nullable
    Write find(BlockId id, Version version) {
        return committed.getOrDefault(id, Map.of()).get(version);
    }

    Iterable<Write> all(BlockId id) {
        return committed.getOrDefault(id, Map.of()).values();
    }

    static void fill(MemorySegment segment, long number, long length) {
        long at = 0;
        for (; at + 8 <= length; at += 8) {
            segment.set(LONG, at, word(number, at >>> 3));
        }
        for (; at < length; at++) {
            segment.set(ValueLayout.JAVA_BYTE, at, byteAt(number, at));
        }
    }

    /** Whether memory has bytes {@code [offset, offset + length)} of a write. */
    static boolean matches(MemorySegment memory, long at, Write write, long offset, long length) {
        long i = 0;
        if ((offset & 7) == 0) {
            for (; i + 8 <= length; i += 8) {
                if (memory.get(LONG, at + i) != word(write.number, (offset + i) >>> 3)) {
                    return false;
                }
            }
        }
        for (; i < length; i++) {
            if (memory.get(ValueLayout.JAVA_BYTE, at + i) != byteAt(write.number, offset + i)) {
                return false;
            }
        }
        return true;
    }

    private static byte byteAt(long number, long at) {
        return (byte) (word(number, at >>> 3) >>> ((at & 7) << 3));
    }

    private static long word(long number, long index) {
        long x = number * 0x9E3779B97F4A7C15L + index * 0xC2B2AE3D27D4EB4FL;
        x = (x ^ (x >>> 32)) * 0xD6E8FEB86659FD93L;
        return x ^ (x >>> 29);
    }
}
