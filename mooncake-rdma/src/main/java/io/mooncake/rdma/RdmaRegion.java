package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.transfer.onesided.RemoteRegion;
import io.mooncake.rdma.LaneMessage.Keys;
import org.jspecify.annotations.Nullable;

/** A region of the peer, with the keys of one lane's card. The poller's. */
final class RdmaRegion implements RemoteRegion {
    private long askedNs;
    private boolean answered;
    private @Nullable MooncakeException refusal;
    private long address;
    private long length;
    private long stride = 1;
    private int[] keys = new int[0];
    private long guardAddress;
    private long guardBytes;
    private int guardKey;

    void onAsked(long nowNs) {
        askedNs = nowNs;
    }

    long askedNs() {
        return askedNs;
    }

    void answer(Keys told) {
        answered = true;
        refusal = null;
        address = told.address();
        length = told.length();
        stride = told.stride();
        keys = told.keys().stream().mapToInt(Integer::intValue).toArray();
        guardAddress = told.guards().address();
        guardBytes = told.guards().length();
        guardKey = told.guards().key();
    }

    void refuse(MooncakeException why) {
        answered = true;
        refusal = why;
    }

    /** Where the peer has a byte. */
    long address(boolean ofGuards, long offset) {
        return (ofGuards ? guardAddress : address) + offset;
    }

    /** What it is read with, together with those of one request behind it. */
    int key(boolean ofGuards, long offset) {
        return ofGuards ? guardKey : keys[(int) (offset / stride)];
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
        return guardBytes;
    }
}
