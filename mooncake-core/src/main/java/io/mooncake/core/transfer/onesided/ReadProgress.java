package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ReadStatus;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How far one read is: which of its chunks are not posted, waiting, outstanding, completed or proven. Bytes arrive by offset, so what is
 * counted here is all that reassembly takes. Reused for ever. The poller's.
 */
final class ReadProgress {
    /** The read's share of one lane. */
    static final class Leg {
        /** Chunks outstanding. */
        int outstanding;
        /** Chunks completed and not proven. */
        int completed;
        /** Chunks posted since the last proof was. */
        int sinceProof;
        /** The proof that is outstanding. */
        @Nullable
        Slot proof;
    }

    private final Leg[] legs;
    private @Nullable GuardedRead read;
    private @Nullable PeerPaths paths;
    /** All chunks with a slot. */
    private @Nullable Slot chunks;
    private long next;
    private boolean begun;
    private long proven;
    private int waiting;
    private int outstanding;

    /** Its place in the poller's list. */
    int index;
    /** Whether it stands in its peer's queue. */
    boolean queued;
    /** How it will end when nothing is outstanding; null as long as it goes on. */
    @Nullable
    ReadStatus ending;
    @Nullable
    MooncakeException cause;
    /** Whether its owner was told the end. */
    boolean told;
    /** When its end was decided. */
    long decidedNs;
    /** How its bytes are compared with the checksums of their block; idle where they are not. */
    final Verification.Work verification = new Verification.Work();

    ReadProgress(int lanes) {
        legs = new Leg[lanes];
        for (int i = 0; i < lanes; i++) {
            legs[i] = new Leg();
        }
    }

    void begin(GuardedRead newRead, PeerPaths newPaths) {
        read = newRead;
        paths = newPaths;
        next = 0;
        begun = false;
        proven = 0;
    }

    /** Gives up what it refers to; nothing of it has a slot any more. */
    void clear() {
        if (chunks != null || outstanding > 0 || queued) {
            throw new IllegalStateException(read + " is forgotten with requests left");
        }
        read = null;
        paths = null;
        ending = null;
        cause = null;
        told = false;
    }

    /** Whether it goes on. */
    boolean isLive() {
        return read != null && ending == null;
    }

    GuardedRead read() {
        return Objects.requireNonNull(read);
    }

    PeerPaths paths() {
        return Objects.requireNonNull(paths);
    }

    Leg leg(LaneState lane) {
        return legs[lane.index()];
    }

    /** Requests that have not ended. */
    int outstanding() {
        return outstanding;
    }

    /** Whether a chunk is to be posted. A read of no bytes has one chunk, of no bytes. */
    boolean hasChunk() {
        return isLive() && (waiting > 0 || !begun || next < read().length());
    }

    /** The chunk to be posted that has a slot already; null when the next one is a new one. */
    @Nullable
    Slot waitingChunk() {
        Slot slot = waiting > 0 ? chunks : null;
        while (slot != null && slot.state != Slot.State.WAITING) {
            slot = slot.next;
        }
        return slot;
    }

    /** Bytes of the next new chunk, which go to one place. */
    long nextBytes(long most) {
        long left = Math.min(most, read().length() - next);
        return left == 0 ? 0 : read().runAt(next, left);
    }

    /** The next new chunk, from now on waiting. */
    Slot newChunk(Slot slot, long bytes) {
        slot.position = next;
        slot.bytes = bytes;
        slot.next = chunks;
        chunks = slot;
        next += bytes;
        begun = true;
        waiting++;
        return slot;
    }

    /** The checksums of its block, before any other chunk, from now on waiting. */
    Slot newChecksums(Slot slot, long bytes) {
        slot.position = Slot.CHECKSUMS;
        slot.bytes = bytes;
        slot.next = chunks;
        chunks = slot;
        waiting++;
        return slot;
    }

    /** Whether no chunk of its bytes has a slot yet. */
    boolean isNew() {
        return !begun;
    }

    void onChunkPosted(Slot slot, LaneState lane, long at) {
        slot.postedAt = at;
        waiting--;
        outstanding++;
        leg(lane).outstanding++;
        leg(lane).sinceProof++;
        slot.state = Slot.State.POSTED;
        slot.lane = lane;
    }

    void onProofPosted(Slot proof, LaneState lane, long at) {
        proof.postedAt = at;
        outstanding++;
        leg(lane).sinceProof = 0;
        leg(lane).proof = proof;
        proof.state = Slot.State.POSTED;
        proof.lane = lane;
    }

    /** A request has ended; what becomes of its chunk is said next. */
    void onRequestEnded(Slot slot) {
        outstanding--;
        Leg leg = leg(slot.lane());
        if (slot.equals(leg.proof)) {
            leg.proof = null;
        } else {
            leg.outstanding--;
        }
    }

    /** Nothing needs to be fetched for a chunk of no bytes. */
    void onNothingToFetch(Slot slot, LaneState lane, long at) {
        waiting--;
        slot.lane = lane;
        leg(lane).sinceProof++;
        slot.postedAt = at;
        onCompleted(slot, at);
    }

    void onCompleted(Slot slot, long at) {
        slot.state = Slot.State.COMPLETED;
        slot.completedAt = at;
        leg(slot.lane()).completed++;
    }

    /** A chunk has not arrived and is to be posted again. */
    void onNotArrived(Slot slot) {
        Leg leg = leg(slot.lane());
        if (slot.state == Slot.State.COMPLETED) {
            leg.completed--;
        }
        leg.sinceProof = 0;
        slot.state = Slot.State.WAITING;
        slot.lane = null;
        slot.tries++;
        waiting++;
    }

    /** Frees the chunks that a proof proves. */
    void onProven(LaneState lane, boolean fenced, long proofPostedAt, Rules rules) {
        Slot before = null;
        for (Slot slot = chunks; slot != null;) {
            Slot following = slot.next;
            if (slot.state == Slot.State.COMPLETED && slot.lane().equals(lane) && (fenced
                    ? rules.provesBehindFence(slot.postedAt, proofPostedAt)
                    : rules.proves(slot.completedAt, proofPostedAt))) {
                leg(lane).completed--;
                proven += slot.position == Slot.CHECKSUMS ? 0 : slot.bytes;
                unlink(before, slot);
                paths().free(slot);
            } else {
                before = slot;
            }
            slot = following;
        }
        read().received = proven;
    }

    boolean isProven() {
        return begun && chunks == null && proven == read().length();
    }

    /** Frees the chunks that are not outstanding: nobody wants them any more. */
    void dropIdle() {
        Slot before = null;
        for (Slot slot = chunks; slot != null;) {
            Slot following = slot.next;
            if (slot.state == Slot.State.POSTED) {
                before = slot;
            } else {
                unlink(before, slot);
                paths().free(slot);
            }
            slot = following;
        }
        waiting = 0;
        for (Leg leg : legs) {
            leg.completed = 0;
            leg.sinceProof = 0;
        }
    }

    /** Frees the chunk of a request that ended after the read was given up. */
    void drop(Slot ended) {
        ended.state = Slot.State.WAITING;
        dropIdle();
    }

    /** Why it ends when its destination is gone, which was the caller's to keep. */
    MooncakeException freed(@Nullable IllegalStateException seen) {
        return new MooncakeException(Kind.ILLEGAL_STATE,
                read() + ": the destination was freed before its region was closed", seen);
    }

    private void unlink(@Nullable Slot before, Slot slot) {
        if (before == null) {
            chunks = slot.next;
        } else {
            before.next = slot.next;
        }
    }
}
