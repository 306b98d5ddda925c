package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.transfer.Region;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.agrona.collections.Int2ObjectHashMap;
import org.jspecify.annotations.Nullable;

/** What the poller knows of a card: lanes, completions taken and not told, and which regions can be posted to. The poller's. */
final class NicUse {
    /** Lanes that were not destroyed. */
    int lanes;
    /** Completions taken from the queue, and of those told. */
    int taken;
    int told;
    private final Int2ObjectHashMap<RdmaLane> byQueuePair = new Int2ObjectHashMap<>();
    private final Int2ObjectHashMap<Registration> known = new Int2ObjectHashMap<>();
    private final Set<Integer> asked = new HashSet<>();
    private final Map<Integer, MooncakeException> failures = new HashMap<>();

    /** A lane's queue pair may complete requests: cards number their queue pairs each for itself. */
    void onOpen(int queuePair, RdmaLane lane) {
        byQueuePair.put(queuePair, lane);
    }

    void onDestroyed(int queuePair, RdmaLane lane) {
        byQueuePair.remove(queuePair, lane);
    }

    /** Whose queue pair it is; null when that was destroyed. */
    @Nullable
    RdmaLane lane(int queuePair) {
        return byQueuePair.get(queuePair);
    }

    /** What is registered of a region; null when nothing is known of that. */
    @Nullable
    Registration find(Region region) {
        return known.get(region.id());
    }

    /**
     * Whether somebody has to register a region now.
     *
     * @throws MooncakeException why it could not be, once
     */
    boolean mustAsk(Region region) {
        MooncakeException failure = failures.remove(region.id());
        if (failure != null) {
            asked.remove(region.id());
            throw failure;
        }
        return asked.add(region.id());
    }

    /** Nobody was there to register it. */
    void unask(Region region) {
        asked.remove(region.id());
    }

    void onRegistered(Registration registration) {
        known.put(registration.region().id(), registration);
        asked.remove(registration.region().id());
    }

    void onFailed(Region region, MooncakeException failure) {
        failures.put(region.id(), failure);
    }

    void onDeregistered(int region) {
        known.remove(region);
    }
}
