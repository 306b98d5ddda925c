package io.mooncake.core.manager;

import io.mooncake.core.block.Tier;
import java.util.Arrays;

/**
 * The slots of all pools by what fits into them: each pool's slots of one size are a class of their own. Pools of ranges, whose slots have no
 * size, are one class each, of the longest block that fits. Immutable.
 */
final class SizeClasses {
    static final int NONE = -1;

    private final short[] classOf;
    private final long[] bytes;
    private final Tier[] tiers;

    SizeClasses(Space[] spaces, int slots) {
        classOf = new short[slots];
        long[] found = new long[16];
        Tier[] of = new Tier[16];
        int classes = 0;
        for (Space space : spaces) {
            int firstClass = classes;
            for (int slot = space.first(); slot < space.end(); slot++) {
                long size = space.pool().ranges() == null
                        ? space.pool().slotBytes(slot - space.first())
                        : space.pool().largestSlotBytes();
                int c = firstClass;
                while (c < classes && found[c] != size) {
                    c++;
                }
                if (c == classes) {
                    found = classes == found.length ? Arrays.copyOf(found, 2 * classes) : found;
                    of = Arrays.copyOf(of, found.length);
                    of[classes] = space.pool().tier();
                    found[classes++] = size;
                }
                classOf[slot] = (short) c;
            }
        }
        bytes = Arrays.copyOf(found, classes);
        tiers = Arrays.copyOf(of, classes);
    }

    int count() {
        return bytes.length;
    }

    int of(int slot) {
        return classOf[slot];
    }

    /** What fits into a slot of it. */
    long bytes(int sizeClass) {
        return bytes[sizeClass];
    }

    Tier tier(int sizeClass) {
        return tiers[sizeClass];
    }

    /** Whether a slot of it is in a tier and has room for so many bytes. */
    boolean fits(int sizeClass, Tier tier, long length) {
        return tiers[sizeClass] == tier && bytes[sizeClass] >= length;
    }

    /** The one of a tier with the least room that is enough; {@link #NONE} when none has. */
    int smallest(Tier tier, long length) {
        int best = NONE;
        for (int c = 0; c < bytes.length; c++) {
            if (fits(c, tier, length) && (best == NONE || bytes[c] < bytes[best])) {
                best = c;
            }
        }
        return best;
    }
}
