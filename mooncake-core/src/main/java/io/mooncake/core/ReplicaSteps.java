package io.mooncake.core;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.manager.BlockManager;
import io.mooncake.core.manager.ReplicaWriter;
import org.jspecify.annotations.Nullable;

/**
 * How a replica comes to its tier: a step at a time, out of the nearest copy here, or from elsewhere into host memory first, unless an
 * engine writes it onto the device itself.
 *
 * <pre>
 *   VRAM ◀──▶ DRAM ◀──▶ SLOW
 *               ▲
 *               └── other nodes
 * </pre>
 *
 * <p>Where it is to be further up, its room there is taken before that in between: so whoever waits for room waits for nobody who waits for room
 * above, and what has to go down to make it goes on. Any thread.
 *
 * @param sources what is here, and whether an engine writes onto a device
 * @param self this node
 */
record ReplicaSteps(Sources sources, NodeId self) {
    private BlockManager blocks() {
        return sources.blocks();
    }

    boolean isHere(BlockRef ref) {
        return ref.node().equals(self);
    }

    /** Why a block can't have a copy in a tier. */
    @Nullable
    MooncakeException refusal(BlockRef found, Tier tier) {
        boolean has = blocks().tiers().has(tier);
        if (tier == Tier.SLOW && (!has || !isHere(found))) {
            return new MooncakeException(Kind.UNSUPPORTED, "block " + found.id() + " of node " + found.node()
                    + " cannot go into a file of node " + self
                    + ": pull it into memory first, and configure file.directory");
        }
        return has
                ? null
                : new MooncakeException(Kind.UNSUPPORTED, "block " + found.id() + " cannot go into tier " + tier
                        + " of node " + self + ", which has none: give it a pool for that");
    }

    /** Where it is when nothing is left to do: in its tier, or further down already where it is to leave those above; else null. */
    @Nullable
    BlockRef there(BlockRef found, Destination.Replica to) {
        boolean sank = to.only() && isHere(found) && found.tier().compareTo(to.tier()) > 0;
        return sank || blocks().isIn(found, to.tier()) ? blocks().nearest(found, to.tier()) : null;
    }

    /** What the next step is made of; null when it is not here any more. */
    @Nullable
    BlockRef next(Part part, BlockRef found, Tier to) {
        BlockRef nearest = blocks().nearest(found, to);
        if (nearest == null && isHere(found)) {
            return null;
        }
        BlockRef source = nearest == null || part.tried.contains(nearest) ? found : nearest;
        part.straight = goesStraight(part, source, to);
        part.step = part.straight ? to : isHere(source) ? blocks().tiers().step(source.tier(), to) : Tier.DRAM;
        return source;
    }

    /** From another node onto a device of this one, where an engine can, and not by this node's host memory. */
    private boolean goesStraight(Part part, BlockRef source, Tier to) {
        boolean tried = source.tier() == Tier.DRAM ? part.notStraight : part.notInPlace;
        Memory into = to == Tier.VRAM && !isHere(source) && !tried ? blocks().tiers().memory(to) : null;
        return into != null && sources.goesStraight(source, into);
    }

    /** Where a part's bytes go now; null where the node has no such tier. */
    @Nullable
    Memory destination(Part part) {
        return switch (part.piece.destination()) {
            case Destination.At at -> at.region().memory();
            case Destination.Pages pages -> pages.region().memory();
            case Destination.Replica _ -> blocks().tiers().memory(part.step);
        };
    }

    /** Takes the slot of the next step, after that of the last one; null when there is none now. */
    @Nullable
    ReplicaWriter reserve(Part part, BlockRef source, Tier to) {
        ReplicaWriter room = part.room;
        if (room == null && to.compareTo(part.step) < 0) {
            room = blocks().allocateReplica(source, to);
            if (room == null) {
                return null;
            }
            part.room = room;
        }
        if (room != null && part.step == to) {
            part.room = null;
            return room;
        }
        return blocks().allocateReplica(source, part.step);
    }

    /** Of a part that ends, or goes on with another version. */
    void giveUpRoom(Part part) {
        ReplicaWriter room = part.room;
        if (room != null) {
            part.room = null;
            room.abort();
        }
    }
}
