package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.onesided.RemoteRegion.Part;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * All lanes to one process life of a peer, and the reads that have something to post there, in turn. The poller's.
 *
 * <p>A read stands in the queue as long as it has a chunk or a proof to post. A lane that is lost cools down and is connected
 * again as long as a read waits; when no lane is left and a connection is refused, the peer's reads end.
 */
final class PeerPaths {
    /** A read takes at most so many chunks to a lane before it has them proven. */
    static final int CHUNKS_PER_PROOF = 32;
    /** What a request costs at least of a peer's turn. */
    private static final long LEAST_COST_BYTES = 4096;

    private final OneSidedPoller poller;
    private final Peer peer;
    private final LaneState[] lanes;
    private final List<ArrayDeque<ReadProgress>> queues = new ArrayList<>();
    private final ReadRequest request = new ReadRequest();
    private int reads;
    private int slots;
    /** When a request ended last on any of the lanes. */
    private long progressNs;
    private @Nullable MooncakeException refusal;

    PeerPaths(OneSidedPoller poller, Peer peer) {
        this.poller = poller;
        this.peer = peer;
        lanes = new LaneState[poller.config().window().lanesPerPeer()];
        for (int i = 0; i < lanes.length; i++) {
            lanes[i] = new LaneState(poller, this, i);
        }
        for (int i = 0; i < Priority.values().length; i++) {
            queues.add(new ArrayDeque<>());
        }
    }

    Peer peer() {
        return peer;
    }

    /** Whether a read waits for its lanes. */
    boolean isWanted() {
        return reads > 0;
    }

    /** Why the peer is not reached and no lane may be tried now; null when it is worth waiting. */
    @Nullable
    MooncakeException downCause() {
        for (LaneState lane : lanes) {
            if (lane.isAlive() || lane.isDue()) {
                return null;
            }
        }
        return refusal;
    }

    /** Whether nothing is lost by forgetting it. */
    boolean isForgettable() {
        if (isWanted()) {
            return false;
        }
        for (LaneState lane : lanes) {
            if (!lane.isDue()) {
                return false;
            }
        }
        return true;
    }

    void begin(ReadProgress read) {
        reads++;
        enqueue(read);
        for (LaneState lane : lanes) {
            if (lane.isDue()) {
                lane.connect();
            }
        }
    }

    void end(ReadProgress read) {
        reads--;
        if (read.queued) {
            queue(read).remove(read);
            read.queued = false;
        }
    }

    void onOpen() {
        refusal = null;
    }

    /** A lane could not be connected. */
    void onRefused(MooncakeException cause) {
        boolean another = cause.kind() == Kind.STALE_INCARNATION;
        for (LaneState lane : lanes) {
            if (lane.isAlive() && !another) {
                return;
            }
        }
        refusal = cause;
        poller.endAll(this, cause);
    }

    /** Membership says that the peer is dead. */
    void onDead(MooncakeException cause) {
        refusal = cause;
        poller.endAll(this, cause);
        for (LaneState lane : lanes) {
            lane.breakUp(cause);
        }
    }

    void tick() {
        for (LaneState lane : lanes) {
            lane.tick();
        }
    }

    void destroy() {
        for (LaneState lane : lanes) {
            lane.destroy();
        }
    }

    void onProgress() {
        progressNs = poller.nowNs();
    }

    /**
     * Looks after a read that was given up: the lanes with requests of it are broken, to end them, when nothing comes any more, or it takes too
     * long in all. What comes on one lane counts for the others too, which share a wire with it: a slow peer is not one that stands still.
     */
    void drain(ReadProgress read) {
        OneSidedConfig.Times times = poller.config().times();
        long waitedNs = poller.nowNs() - read.decidedNs;
        long quietNs = Math.min(waitedNs, poller.nowNs() - progressNs);
        long leftNs = Math.min(times.drainNs() - quietNs, times.stallNs() - waitedNs);
        if (leftNs > 0) {
            poller.tickBy(poller.nowNs() + leftNs);
            return;
        }
        for (LaneState lane : lanes) {
            if (read.leg(lane).outstanding > 0 || read.leg(lane).proof != null) {
                lane.onUndrained();
            }
        }
    }

    void free(Slot chunk) {
        slots--;
        poller.chunks().free(chunk);
    }

    /** A read has something to post. What it can have proven goes first: that ends reads and frees slots. */
    void enqueue(ReadProgress read) {
        if (read.queued || !(read.hasChunk() || isProofDue(read))) {
            return;
        }
        read.queued = true;
        if (read.hasChunk()) {
            queue(read).addLast(read);
        } else {
            queue(read).addFirst(read);
        }
    }

    private ArrayDeque<ReadProgress> queue(ReadProgress read) {
        return queues.get(read.read().priority().ordinal());
    }

    /** Posts for the reads of one priority in turn, up to so many bytes; how many requests. */
    int feed(Priority priority, long budgetBytes) {
        ArrayDeque<ReadProgress> queue = queues.get(priority.ordinal());
        long budget = budgetBytes;
        int posted = 0;
        for (int idle = 0; idle < queue.size() && budget > 0 && hasRoom();) {
            ReadProgress read = queue.remove();
            read.queued = false;
            long bytes = step(read);
            if (read.hasChunk() || isProofDue(read)) {
                read.queued = true;
                queue.addLast(read);
            }
            idle = bytes == 0 ? idle + 1 : 0;
            budget -= bytes;
            posted += bytes == 0 ? 0 : 1;
        }
        return posted;
    }

    private boolean hasRoom() {
        if (poller.credits().isEmpty()) {
            return false;
        }
        for (LaneState lane : lanes) {
            if (lane.hasRoom()) {
                return true;
            }
        }
        return false;
    }

    /** One request of a read; what it costs of the budget, 0 when nothing could be posted. */
    private long step(ReadProgress read) {
        if (!read.isLive()) {
            return 0;
        }
        if (read.read().isGivenUp()) {
            poller.finish(read, ReadStatus.CANCELED, null);
            return 0;
        }
        for (LaneState lane : lanes) {
            if (lane.hasRoom() && isProofDue(read, lane) && postProof(read, lane, false)) {
                return LEAST_COST_BYTES;
            }
        }
        return read.hasChunk() ? postChunk(read) : 0;
    }

    private boolean isProofDue(ReadProgress read) {
        for (LaneState lane : lanes) {
            if (isProofDue(read, lane)) {
                return true;
            }
        }
        return false;
    }

    /** A proof waits for the read's chunks on the lane, and for as many of them as the read will have there. */
    private boolean isProofDue(ReadProgress read, LaneState lane) {
        ReadProgress.Leg leg = read.leg(lane);
        return read.isLive() && leg.proof == null && poller.rules().mayProve(leg.outstanding, leg.completed)
                && (leg.sinceProof >= CHUNKS_PER_PROOF || !read.hasChunk() || isFull());
    }

    private boolean isFull() {
        return slots >= poller.slotsPerPeer() || poller.chunks().isFull();
    }

    /**
     * The proof of the read's last chunk can be posted together with it, to be held back by the lane: then nobody has to wake up in between.
     * Not where others' requests would have to wait behind it.
     */
    private void proveTogether(ReadProgress read, LaneState lane) {
        ReadProgress.Leg leg = read.leg(lane);
        if (!read.hasChunk() && leg.proof == null && lane.outstanding() == leg.outstanding && lane.hasRoom()
                && !poller.credits().isEmpty()) {
            postProof(read, lane, true);
        }
    }

    private boolean postProof(ReadProgress read, LaneState lane, boolean together) {
        if (poller.proofs().isFull()) {
            return false;
        }
        GuardedRead asked = read.read();
        RemoteRegion region = lane.lane().region(asked.region());
        if (!region.isAnswered()) {
            return false; // Forgotten since the chunks were posted.
        }
        MooncakeException refused = refusal(asked, region);
        if (refused != null) {
            poller.finish(read, ReadStatus.REFUSED, refused);
            return false;
        }
        boolean guarded = asked.guardOffset() != GuardedRead.NO_GUARD;
        Slot proof = poller.proofs().take(read);
        // What has no guard is proven by a READ that succeeds on the same lane, whatever it reads.
        proof.bytes = guarded ? Long.BYTES : Math.min(Long.BYTES, region.length());
        request.of(poller.proofs().newCookie(proof), proof.bytes)
                .from(region, guarded ? Part.GUARDS : Part.BYTES, guarded ? asked.guardOffset() : 0)
                .into(poller.landing().region(), poller.landing().offset(proof));
        proof.fenced = together;
        if (together && poller.rules().fencesProofs()) {
            request.fence();
        }
        if (!lane.post(request)) {
            poller.proofs().free(proof);
            return false;
        }
        poller.credits().onPosted();
        read.onProofPosted(proof, lane, poller.nextEvent());
        return true;
    }

    private long postChunk(ReadProgress read) {
        Slot slot = read.waitingChunk();
        long bytes = slot != null ? slot.bytes : read.nextBytes(poller.chunkBytes());
        LaneState lane = slot == null && isFull() ? null : emptiest(read, bytes);
        if (lane == null) {
            return 0;
        }
        RemoteRegion region = lane.lane().region(read.read().region());
        if (slot == null) {
            slot = newChunk(read, region, bytes);
            if (slot == null) {
                return 0;
            }
        }
        if (slot.bytes == 0) {
            read.onNothingToFetch(slot, lane, poller.nextEvent());
            return LEAST_COST_BYTES;
        }
        if (!lane.post(requestOf(read, slot, region))) {
            return 0;
        }
        poller.credits().onPosted();
        read.onChunkPosted(slot, lane, poller.nextEvent());
        proveTogether(read, lane);
        return Math.max(slot.bytes, LEAST_COST_BYTES);
    }

    /** The read's next chunk: its block's checksums, where there are some, before its bytes. Null when there is no place for those now. */
    private @Nullable Slot newChunk(ReadProgress read, RemoteRegion region, long bytes) {
        Verification verification = poller.verification();
        long sums = read.isNew() && !verification.hasPlace(read) ? Verification.wantedBytes(read.read(), region) : 0;
        if (sums > 0 && !verification.place(read, sums)) {
            return null;
        }
        slots++;
        Slot slot = poller.chunks().take(read);
        return sums > 0 ? read.newChecksums(slot, sums) : read.newChunk(slot, bytes);
    }

    private ReadRequest requestOf(ReadProgress read, Slot slot, RemoteRegion region) {
        GuardedRead asked = read.read();
        request.of(poller.chunks().newCookie(slot), slot.bytes);
        return slot.position == Slot.CHECKSUMS
                ? request.from(region, Part.CHECKSUMS, Verification.entryAt(asked, region))
                        .into(poller.landing().region(), poller.verification().offsetOf(read))
                : request.from(region, Part.BYTES, asked.offset() + slot.position)
                        .into(asked.destination(), asked.destinationAt(slot.position));
    }

    /** The lane with the fewest bytes outstanding that may take a chunk; null when none may, or the read is refused. */
    private @Nullable LaneState emptiest(ReadProgress read, long bytes) {
        LaneState best = null;
        for (LaneState lane : lanes) {
            boolean fits = lane.hasRoom() && (lane.outstandingBytes() == 0
                    || bytes <= poller.config().window().laneBytes() - lane.outstandingBytes());
            if (!fits || read.leg(lane).sinceProof >= CHUNKS_PER_PROOF) {
                continue;
            }
            RemoteRegion region = lane.lane().region(read.read().region());
            if (!region.isAnswered()) {
                continue;
            }
            MooncakeException refused = refusal(read.read(), region);
            if (refused != null) {
                poller.finish(read, ReadStatus.REFUSED, refused);
                return null;
            }
            boolean ready = isReady(lane, read);
            if (!read.isLive()) {
                return null;
            }
            if (!ready) {
                continue;
            }
            if (best == null || lane.outstandingBytes() < best.outstandingBytes()) {
                best = lane;
            }
        }
        return best;
    }

    /** Whether the read's bytes and its proofs can be posted; a read that never can be ends. */
    private boolean isReady(LaneState lane, ReadProgress read) {
        try {
            Region proofs = poller.landing().region();
            long bytes = read.read().length();
            return lane.lane().isReady(proofs, Long.MAX_VALUE)
                    && (bytes == 0 || lane.lane().isReady(read.read().destination(), bytes));
        } catch (MooncakeException e) {
            poller.finish(read, ReadStatus.REFUSED,
                    new MooncakeException(e.kind(), read.read() + ": " + e.getMessage(), e));
            return false;
        }
    }

    private static @Nullable MooncakeException refusal(GuardedRead read, RemoteRegion region) {
        MooncakeException refused = region.refusal();
        if (refused != null) {
            return new MooncakeException(refused.kind(), read + ": " + refused.getMessage(), refused);
        }
        if (region.checksumBytes() > 0 && read.length() > 0 && read.destination().access() == Access.GUARDED
                && !(read.destination().memory() instanceof HostMemory)) {
            return new MooncakeException(Kind.UNSUPPORTED, read + ": its block has checksums, which nobody compares on"
                    + " a device: it comes into the pool there by way of host memory");
        }
        if (!Bounds.contains(read.offset(), read.length(), region.length())) {
            return new MooncakeException(Kind.OUT_OF_BOUNDS, read + ": offset " + read.offset() + " + " + read.length()
                    + " > length " + region.length());
        }
        boolean guarded = read.guardOffset() != GuardedRead.NO_GUARD;
        if (guarded != region.guardBytes() > 0) {
            return new MooncakeException(Kind.INVALID_ARGUMENT,
                    read + (guarded
                            ? " is guarded, the region has no guards"
                            : ": the region is read only together with a guard"));
        }
        if (guarded && (read.guardOffset() % Long.BYTES != 0
                || !Bounds.contains(read.guardOffset(), Long.BYTES, region.guardBytes()))) {
            return new MooncakeException(Kind.INVALID_ARGUMENT, read + ": no guard stands at " + read.guardOffset()
                    + " of a table of " + region.guardBytes() + " bytes");
        }
        return null;
    }
}
