package io.mooncake.core;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Counters;
import io.mooncake.core.manager.PoolBinding;
import io.mooncake.core.pool.FilePool;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.RegionTable;
import io.mooncake.core.transfer.file.FileTransferEngine;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A node's file of blocks.
 *
 * @param pool the space
 * @param region of it
 * @param settings how its engine works
 */
record SlowTier(FilePool pool, Region region, FileTransferEngine.Settings settings) {
    /** Null where none is configured. */
    static @Nullable SlowTier open(NodeConfig config, RegionTable regions, Counters counters) {
        NodeConfig.FileTier tier = config.fileTier();
        if (tier == null) {
            return null;
        }
        long blockSize = config.pool().blockSize();
        FilePool pool = new FilePool("file", tier.directory(),
                List.of(new SizeClass(blockSize, tier.slots(blockSize))), tier.direct());
        counters.add(Counter.BLOCKS_RECOVERED, pool.stored().size());
        counters.add(Counter.BLOCKS_DAMAGED, pool.lost());
        // Where the node has no threads the engine has none.
        boolean invoked = config.agents().threading() == ThreadingMode.INVOKER;
        return new SlowTier(pool, regions.register(pool.memory(), Access.GUARDED),
                new FileTransferEngine.Settings(invoked ? 0 : tier.depth(), config.environment().threads(),
                        tier.syncDelay().toNanos()));
    }

    PoolBinding binding() {
        return new PoolBinding(pool, region);
    }

    FileTransferEngine engine(EngineContext context) {
        return new FileTransferEngine(context, region, pool, settings);
    }
}
