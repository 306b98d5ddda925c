package io.mooncake.core;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.PoolSpace;
import io.mooncake.core.manager.BlockManager;
import io.mooncake.core.manager.SpaceSurvey;
import io.mooncake.core.registry.NodeSpace;
import io.mooncake.core.registry.Registry;
import java.util.List;

/** Tells the others what room this node has, when it changes enough to matter to a placement. The conductor's. */
final class SpaceReport {
    /** From one look to the next. */
    static final long LOOK_NS = 1_000_000_000L;
    /** A change is worth telling from this part of the pool on. */
    private static final int NOTEWORTHY = 16;

    private final NodeId self;
    private final SpaceSurvey survey;
    private final Registry registry;
    private List<PoolSpace> said = List.of();
    private long lookAgainNs;

    SpaceReport(NodeId self, BlockManager blocks, Registry registry) {
        this.self = self;
        survey = blocks.survey();
        this.registry = registry;
    }

    int announce(long nowNs) {
        if (!said.isEmpty() && nowNs - lookAgainNs < 0) {
            return 0;
        }
        List<PoolSpace> space = survey.look();
        if (space == null) {
            return 0;
        }
        lookAgainNs = nowNs + LOOK_NS;
        if (!differ(space, said)) {
            return 0;
        }
        said = space;
        registry.announce(new NodeSpace(self, space));
        return 1;
    }

    private static boolean differ(List<PoolSpace> now, List<PoolSpace> said) {
        if (now.size() != said.size()) {
            return true;
        }
        for (int i = 0; i < now.size(); i++) {
            long bytes = now.get(i).bytes();
            if (differ(bytes, now.get(i).freeBytes(), said.get(i).freeBytes())
                    || differ(bytes, now.get(i).cachedBytes(), said.get(i).cachedBytes())) {
                return true;
            }
        }
        return false;
    }

    /** That nothing is left, or something again, is worth telling however little it is. */
    private static boolean differ(long bytes, long now, long said) {
        return (now == 0) != (said == 0) || Math.abs(now - said) >= Math.max(1, bytes / NOTEWORTHY);
    }
}
