package io.mooncake.core;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The replicas that this node is pulling. Of the pieces that want the same version of a block in the same tier one pulls it; the others wait in the conductor,
 * each by its own deadline, until that pull is over, however it ended: then the block is here, or the first of them begins anew. Any thread.
 */
final class SharedPulls {
    private final ConcurrentHashMap<BlockId, Going> going = new ConcurrentHashMap<>();
    private final Runnable wakeup;

    /**
     * Nothing is pulled.
     *
     * @param wakeup has the conductor look at those who wait
     */
    SharedPulls(Runnable wakeup) {
        this.wakeup = wakeup;
    }

    /** One pull. */
    static final class Going {
        private final BlockId id;
        private final Version version;
        private final Tier tier;
        private volatile boolean awaited;
        private volatile boolean over;

        Going(BlockRef source, Tier to) {
            id = source.id();
            version = source.version();
            tier = to;
        }

        boolean isOf(BlockRef source) {
            return version.equals(source.version());
        }

        boolean isOver() {
            return over;
        }
    }

    /**
     * The pull to wait for; null when mine is the one from now on, or when another version is pulled, or another way: what goes down must not wait
     * for what goes up, which waits for room that others make by going down.
     */
    @Nullable
    Going join(Going mine) {
        for (;;) {
            Going other = going.putIfAbsent(mine.id, mine);
            if (other == null || other.tier != mine.tier || !other.version.equals(mine.version)) {
                return null;
            }
            other.awaited = true;
            // Else whoever ends it in this moment may have looked before, and wakes nobody.
            if (!other.over) {
                return other;
            }
        }
    }

    /** Whether a part is the one that pulls the version of its source. */
    boolean isTurnOf(Part part, BlockRef source) {
        return part.pulling != null && part.pulling.isOf(source);
    }

    /** Makes a part the one that pulls a block, instead of what it pulled before; false when it has to wait for another that does already. */
    boolean takeTurn(Part part, BlockRef source, Tier to) {
        endTurn(part);
        Going mine = new Going(source, to);
        part.awaited = join(mine);
        if (part.awaited != null) {
            return false;
        }
        part.pulling = mine;
        return true;
    }

    /** A part pulls nothing any more, if it did. */
    void endTurn(Part part) {
        Going mine = part.pulling;
        if (mine != null) {
            part.pulling = null;
            end(mine);
        }
    }

    /** Whether a part has to wait on; if not, it waits for nobody any more. */
    boolean mustWait(Part part) {
        if (part.awaited != null && !part.awaited.isOver()) {
            return true;
        }
        part.awaited = null;
        return false;
    }

    /** It brought the block, or will not bring it. The second time does nothing. */
    void end(Going pull) {
        going.remove(pull.id, pull);
        pull.over = true;
        if (pull.awaited) {
            wakeup.run();
        }
    }
}
