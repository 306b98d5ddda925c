package io.mooncake.core;

import io.mooncake.core.base.Memory;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.TransferEngine;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Which engine moves a read: a pure function of size, locality, registration and the engine's health.
 *
 * <pre>
 *   rank = health | locality | size        the lowest wins; equal ones by the order of the engines
 *
 *   no way, not known yet, or the region is not registered there: never
 *   a way that fails at the moment comes after every one that does not, however short it is
 *   then the shorter way: inside the process, inside the host, by the network
 *   then the one that is worth its while for so few bytes
 * </pre>
 */
final class PathChoice {
    static final int NEVER = Integer.MAX_VALUE;

    private PathChoice() {}

    static int rank(long bytes, Route route) {
        boolean usable = route.registered() && (route.health() == Health.READY || route.health() == Health.FAILING);
        return usable
                ? (route.health() == Health.READY ? 0 : 100) + 10 * route.locality().ordinal()
                        + (bytes < route.worthwhileBytes() ? 1 : 0)
                : NEVER;
    }

    /** The engine with the lowest rank; null when none can. Allocates nothing. */
    static @Nullable TransferEngine choose(List<TransferEngine> engines, Peer peer, int region, long bytes) {
        return choose(engines, peer, region, bytes, null);
    }

    /** The same of those that can write such memory; null = this node's own pools. Allocates nothing. */
    static @Nullable TransferEngine choose(List<TransferEngine> engines, Peer peer, int region, long bytes,
            @Nullable Memory into) {
        TransferEngine best = null;
        int bestRank = NEVER;
        for (int i = 0; i < engines.size(); i++) {
            int rank = rank(bytes, engines.get(i).route(peer, region));
            if (rank < bestRank && (into == null || engines.get(i).reaches(peer, region, into))) {
                best = engines.get(i);
                bestRank = rank;
            }
        }
        return best;
    }

    /** The choice in words: what is taken, and what keeps each of the others from it. */
    static String explain(List<TransferEngine> engines, Peer peer, int region, long bytes) {
        TransferEngine chosen = choose(engines, peer, region, bytes);
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
