package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.transfer.onesided.RemoteRegion;
import io.mooncake.rdma.LaneMessage.Keys;
import io.mooncake.rdma.LaneMessage.TableKey;
import org.jspecify.annotations.Nullable;

/** A region of the peer, with the keys of one lane's card. The poller's. */
final class RdmaRegion implements RemoteRegion {
    private static final long ASK_AGAIN_NS = 500_000_000;

    private boolean asked;
    private long askedNs;
    private boolean answered;
    private @Nullable MooncakeException refusal;
    private long address;
    private long length;
    private long stride = 1;
    private int[] keys = new int[0];
    private TableKey guards = TableKey.NONE;
    private TableKey checksums = TableKey.NONE;

    /** The peer is asked: what it answered before does not count any more. */
    void onAsked(long nowNs) {
        asked = true;
        askedNs = nowNs;
        answered = false;
        refusal = null;
    }

    /** Whether its keys are known. */
    boolean isTold() {
        return answered && refusal == null;
    }

    /** Whether the peer is to be asked: a message may be lost, and what was refused may be readable by now. */
    boolean mustAsk(long nowNs) {
        return !asked || nowNs - askedNs >= ASK_AGAIN_NS;
    }

    void answer(Keys told) {
        answered = true;
        refusal = null;
        address = told.address();
        length = told.length();
        stride = told.stride();
        keys = told.keys().stream().mapToInt(Integer::intValue).toArray();
        guards = told.guards();
        checksums = told.checksums();
    }

    void refuse(MooncakeException why) {
        answered = true;
        refusal = why;
    }

    /** How many keys it has. */
    int keys() {
        return keys.length;
    }

    /** Where the peer has a byte. */
    long address(Part part, long offset) {
        return offset + switch (part) {
            case BYTES -> address;
            case GUARDS -> guards.address();
            case CHECKSUMS -> checksums.address();
        };
    }

    /** What it is read with, together with those of one request behind it. */
    int key(Part part, long offset) {
        return switch (part) {
            case BYTES -> keys[(int) (offset / stride)];
            case GUARDS -> guards.key();
            case CHECKSUMS -> checksums.key();
        };
    }

    @Override
    public boolean isAnswered() {
        return answered;
    }

    @Override
    public @Nullable MooncakeException refusal() {
        return refusal;
    }

    @Override
    public long length() {
        return length;
    }

    @Override
    public long guardBytes() {
        return guards.length();
    }

    @Override
    public long checksumBytes() {
        return checksums.length();
    }
}
