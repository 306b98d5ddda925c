package io.mooncake.core;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.manager.BlockManager;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.schedule.Scheduler;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.TransferEngine;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where blocks can be read from: who has one, which holder to take, which engine reaches it. Any thread; allocates nothing for a first
 * attempt.
 *
 * @param blocks what is here
 * @param registry who has what elsewhere
 * @param scheduler chooses between holders
 * @param loads what it may go by
 * @param engines in the order of preference
 */
record Sources(BlockManager blocks, Registry registry, Scheduler scheduler, PeerLoads loads,
        List<TransferEngine> engines) {
    /** A holder of any version: this node before all others. */
    @Nullable
    BlockRef find(BlockId id) {
        BlockRef local = blocks.find(id);
        return local != null ? local : scheduler.source(registry.locations(id), loads);
    }

    /** A holder of what a part wants that it has not tried yet. */
    @Nullable
    BlockRef find(Part part) {
        BlockRef wanted = part.piece.ref();
        if (part.tried.isEmpty()) {
            return wanted != null ? wanted : find(part.piece.id());
        }
        BlockRef local = blocks.find(part.piece.id());
        if (local != null && isCandidate(part, local)) {
            return local;
        }
        List<BlockRef> holders = registry.locations(part.piece.id())
                .stream()
                .filter(ref -> isCandidate(part, ref))
                .toList();
        return scheduler.source(holders, loads);
    }

    private static boolean isCandidate(Part part, BlockRef ref) {
        BlockRef wanted = part.piece.ref();
        return (wanted == null || wanted.version().equals(ref.version())) && !part.tried.contains(ref);
    }

    /** The first engine that reaches the peer. */
    @Nullable
    TransferEngine engineTo(Peer peer) {
        for (int i = 0; i < engines.size(); i++) {
            if (engines.get(i).reaches(peer)) {
                return engines.get(i);
            }
        }
        return null;
    }
}
