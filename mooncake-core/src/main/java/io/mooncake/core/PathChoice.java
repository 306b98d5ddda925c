package io.mooncake.core;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.TransferEngine;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which engine moves a read: a pure function of size, locality, registration, the engine's health, and what is known of its speed.
 *
 * <pre>
 *   rank = health | locality | size        the lowest wins; of equal ones the first, unless a later one is clearly faster
 *
 *   no way, not known yet, or the region is not registered there: never
 *   a way that fails at the moment comes after every one that does not, however short it is
 *   then the shorter way: inside the process, inside the host, by the network
 *   then the one that is worth its while for so few bytes
 * </pre>
 *
 * <p>A way that got slow is not left for ever: when it is due, it gets a read that tells how it is by now.
 */
final class PathChoice {
    static final int NEVER = Integer.MAX_VALUE;

    /** How many times less is clearly less, since measurements differ by chance. */
    private static final int CLEARLY = 2;

    private PathChoice() {}

    /** What is known of the time that reads take. */
    interface Costs {
        /** What a read takes that waits for no other: as measured, else what is usual at that distance. */
        long expectedNs(Peer peer, TransferEngine engine, long bytes);

        /** Whether nothing is outstanding on the way, and what is known of it is old, in doubt, or nothing. */
        boolean isDue(Peer peer, TransferEngine engine, long bytes);
    }

    static int rank(long bytes, Route route) {
        boolean usable = route.registered() && (route.health() == Health.READY || route.health() == Health.FAILING);
        return usable
                ? (route.health() == Health.READY ? 0 : 100) + 10 * route.locality().ordinal()
                        + (bytes < route.worthwhileBytes() ? 1 : 0)
                : NEVER;
    }

    /** The best engine; null when none can. Allocates nothing. */
    static @Nullable TransferEngine choose(List<TransferEngine> engines, Peer peer, int region, long bytes,
            Costs costs) {
        TransferEngine best = null;
        int bestRank = NEVER;
        for (int i = 0; i < engines.size(); i++) {
            TransferEngine engine = engines.get(i);
            int rank = rank(bytes, engine.route(peer, region));
            if (rank < bestRank || (rank != NEVER && rank == bestRank && isFaster(engine, best, peer, bytes, costs))) {
                best = engine;
                bestRank = rank;
            }
        }
        return best;
    }

    private static boolean isFaster(TransferEngine engine, @Nullable TransferEngine than, Peer peer, long bytes,
            Costs costs) {
        return than != null && !costs.isDue(peer, than, bytes)
                && costs.expectedNs(peer, engine, bytes) < costs.expectedNs(peer, than, bytes) / CLEARLY;
    }

    /**
     * Whether a block of another node comes straight onto a device of this one; else it bounces: by host memory, there or here, and from there by the
     * device's own copies.
     *
     * @param from where its owner has it
     * @param readsThere reads it where it is, when that is not host memory, into the device; null = nobody does
     * @param best the best engine for owners' host memory; null = none
     * @param into memory of the device, which cards reach where it was registered with them
     */
    static boolean isStraight(Tier from, @Nullable TransferEngine readsThere, @Nullable TransferEngine best, Peer owner,
            int region, Memory into) {
        return from == Tier.DRAM
                ? into instanceof DeviceMemory && best != null && best.reaches(owner, region, into)
                : readsThere != null;
    }

    /** The choice in words: what is taken, and what keeps each of the others from it. */
    static String explain(List<TransferEngine> engines, Peer peer, int region, long bytes, Costs costs) {
        TransferEngine chosen = choose(engines, peer, region, bytes, costs);
        StringBuilder text = new StringBuilder();
        text.append(chosen == null
                ? "no way"
                : chosen.name() + " (" + chosen.route(peer, region).reason() + ")");
        String before = ", because ";
        for (TransferEngine engine : engines) {
            Route route = engine.route(peer, region);
            if (!engine.equals(chosen)) {
                text.append(before)
                        .append(engine.name())
                        .append(": ")
                        .append(rank(bytes, route) == NEVER
                                ? route.reason()
                                : "would do, but " + (chosen == null ? "" : chosen.name()) + " is better");
                before = "; ";
            }
        }
        return text.toString();
    }
}
