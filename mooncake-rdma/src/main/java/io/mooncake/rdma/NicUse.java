package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.onesided.Fabric.Completions;
import io.mooncake.core.transfer.onesided.ReadRequest;
import io.mooncake.core.transfer.onesided.RequestEnd;
import io.mooncake.rdma.verbs.Completion;
import io.mooncake.rdma.verbs.CompletionQueue;
import io.mooncake.rdma.verbs.VerbsException;
import io.mooncake.rdma.verbs.WorkStatus;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.agrona.collections.Int2IntCounterMap;
import org.agrona.collections.Int2ObjectHashMap;
import org.jspecify.annotations.Nullable;

/** What the poller has of a card: lanes, what its queue says of their requests, and where reads can land. The poller's. */
final class NicUse {
    private static final int MOST_COUNTED = 4096;

    /** Lanes that were not destroyed. */
    int lanes;
    private final Nic nic;
    /** Completions taken from the queue, and of those told. */
    private int taken;
    private int told;
    private final Int2ObjectHashMap<RdmaLane> byQueuePair = new Int2ObjectHashMap<>();
    private final Int2ObjectHashMap<Registration> known = new Int2ObjectHashMap<>();
    private final Int2IntCounterMap bounced = new Int2IntCounterMap(0);
    private @Nullable BounceRing ring;
    private boolean ringAsked;
    private boolean ringRefused;
    private long cachedBytes;
    private long posted;
    private @Nullable Registration newest;
    private final Set<Integer> asked = new HashSet<>();
    private final Map<Integer, MooncakeException> failures = new HashMap<>();

    NicUse(Nic nic) {
        this.nic = nic;
    }

    /** A lane's queue pair may complete requests: cards number their queue pairs each for itself. */
    void onOpen(int queuePair, RdmaLane lane) {
        byQueuePair.put(queuePair, lane);
    }

    void onDestroyed(int queuePair, RdmaLane lane) {
        byQueuePair.remove(queuePair, lane);
    }

    /** Tells what the queue says, to lanes and to who reads: how many completions. */
    int poll(Completions completions, int limit) {
        int reported = 0;
        while (reported < limit && hasCompletions()) {
            report(nic.completions.completion(told++), completions);
            reported++;
        }
        return reported;
    }

    /** Whether there is something to tell. Takes it from the queue where what was taken before was told. */
    boolean hasCompletions() {
        if (told == taken) {
            told = 0;
            try {
                taken = nic.completions.poll(CompletionQueue.BATCH);
            } catch (VerbsException e) {
                taken = 0;
                nic.onDead(String.valueOf(e.getMessage()));
            }
        }
        return taken > told;
    }

    private void report(Completion completion, Completions completions) {
        RdmaLane lane = byQueuePair.get(completion.queuePair());
        boolean own;
        try {
            own = lane != null && lane.onCompleted(completion.cookie(), completion.isSuccess());
        } catch (IllegalStateException freed) {
            completions.onCompletion(completion.cookie(), RequestEnd.NO_DESTINATION);
            return;
        }
        if (completion.isSuccess()) {
            completions.onCompletion(completion.cookie(), RequestEnd.OK);
            return;
        }
        boolean flushed = completion.status() == WorkStatus.WR_FLUSH_ERR;
        if (lane != null && own && !flushed) {
            lane.onBroken(lane.cause(completion));
        }
        completions.onCompletion(completion.cookie(), flushed ? RequestEnd.FLUSHED : RequestEnd.FAILED);
    }

    /** Makes the next completion, of reads or of messages, an event on the card's channel. */
    void requestNotification() {
        try {
            nic.completions.requestNotification();
            MessagePort port = nic.messagePort();
            if (port != null) {
                port.completions.requestNotification();
            }
        } catch (VerbsException e) {
            nic.onDead(String.valueOf(e.getMessage()));
        }
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
        int region = registration.region().id();
        if (known.put(region, registration) == null && registration.isCached()) {
            cachedBytes += registration.region().length();
            newest = registration;
        }
        registration.lastRead = posted;
        asked.remove(region);
        bounced.remove(region);
    }

    /** One READ lands in a region by its registration. */
    void onPosted(Registration registration) {
        registration.lastRead = ++posted;
    }

    /**
     * What is registered beyond a bound.
     *
     * @param mostCachedBytes the bound
     * @param kept the region that is not to be given up
     * @return what was not read into for longest, of what no READ lands in now; it is not known here any more. Null when there is nothing to give
     *     up
     */
    @Nullable
    Registration takeSurplus(long mostCachedBytes, int kept) {
        Registration oldest = null;
        if (cachedBytes > mostCachedBytes) {
            for (Registration one : known.values()) {
                if (one.isCached() && one.reads == 0 && !one.equals(newest) && one.region().id() != kept
                        && (oldest == null || one.lastRead < oldest.lastRead)) {
                    oldest = one;
                }
            }
        }
        if (oldest != null) {
            onDeregistered(oldest.region().id());
        }
        return oldest;
    }

    /** Where short reads land; null as long as it is not made. */
    @Nullable
    BounceRing ring() {
        return ring;
    }

    /** The ring, where a request's bytes may bounce there now. */
    @Nullable
    BounceRing ringFor(ReadRequest request) {
        BounceRing made = ring;
        return made != null && made.hasRoom() && request.bytes() <= DestinationPath.MOST_BOUNCED_BYTES
                && Reach.isHost(request.destination()) ? made : null;
    }

    /** Whether a short read finds, or will find, a place in the ring. */
    boolean canBounce() {
        BounceRing made = ring;
        return made == null ? !ringRefused : made.hasRoom();
    }

    /** Whether somebody has to make the ring now. */
    boolean mustAskForRing() {
        boolean first = !ringAsked;
        ringAsked = true;
        return first;
    }

    /** Nobody was there to make it. */
    void unaskRing() {
        ringAsked = false;
    }

    /** The ring, or null: none can be made. */
    void onRing(@Nullable BounceRing made) {
        ring = made;
        ringRefused = made == null;
    }

    int bouncedBytes(Region region) {
        return bounced.get(region.id());
    }

    void onBounced(Region region, long bytes) {
        if (bounced.size() == MOST_COUNTED) {
            bounced.clear(); // Of regions that were closed nobody tells.
        }
        bounced.addAndGet(region.id(), (int) bytes);
    }

    void onFailed(Region region, MooncakeException failure) {
        if (failures.size() == MOST_COUNTED) {
            // Of regions that nobody has asked for again.
            asked.removeAll(failures.keySet());
            failures.clear();
        }
        failures.put(region.id(), failure);
    }

    void onDeregistered(int region) {
        Registration gone = known.remove(region);
        if (gone != null && gone.isCached()) {
            cachedBytes -= gone.region().length();
        }
    }
}
