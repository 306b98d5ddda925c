package io.mooncake.core.transfer.tcp;

import io.mooncake.core.transfer.GuardedRead;
import org.jspecify.annotations.Nullable;

/** The requests of one lane that the server has not answered to the end. The poller's; allocates a slot the first time it is used. */
final class InFlight {
    private final @Nullable Slot[] slots = new Slot[Frames.MAX_REQUESTS];
    private final int[] free = new int[Frames.MAX_REQUESTS];
    private int freeCount = Frames.MAX_REQUESTS;
    private int highest = -1;
    private long lastGeneration;

    InFlight() {
        for (int i = 0; i < free.length; i++) {
            free[i] = free.length - 1 - i;
        }
    }

    /** How many requests more there may be. */
    int free() {
        return freeCount;
    }

    boolean isEmpty() {
        return freeCount == free.length;
    }

    /** Takes a slot under a cookie never used before on this lane; not to be called when none is free. */
    Slot begin() {
        int index = free[--freeCount];
        Slot slot = slots[index];
        if (slot == null) {
            slot = new Slot();
            slots[index] = slot;
            highest = Math.max(highest, index);
        }
        slot.cookie = Cookie.of(++lastGeneration, index);
        slot.busy = true;
        slot.start = 0;
        slot.length = 0;
        slot.position = 0;
        slot.landed = 0;
        return slot;
    }

    /** Finds the request that an answer belongs to; null when it was answered to the end before, or never made. */
    @Nullable
    Slot find(long cookie) {
        Slot slot = slots[Cookie.slot(cookie)];
        return slot != null && slot.busy && slot.cookie == cookie ? slot : null;
    }

    void end(Slot slot) {
        slot.busy = false;
        slot.ranges = null;
        slot.read = null;
        slot.query = null;
        slot.ping = false;
        slot.abandoned = false;
        free[freeCount++] = Cookie.slot(slot.cookie);
    }

    /** How far {@link #at} goes. */
    int highest() {
        return highest;
    }

    /** The request in a slot, or null. */
    @Nullable
    Slot at(int index) {
        Slot slot = slots[index];
        return slot != null && slot.busy ? slot : null;
    }

    /** One request. */
    static final class Slot {
        long cookie;
        /** Null for a query, and for a range whose read ended here while the server still answers it. */
        @Nullable
        Ranges ranges;
        /** That of the ranges. */
        @Nullable
        GuardedRead read;
        @Nullable
        RemoteRegion query;
        boolean ping;
        /** Its read ended here. */
        boolean abandoned;
        /** Where in the read the range begins. */
        long start;
        long length;
        long expected;
        /** Bytes of the range that were proven. */
        long position;
        /** Bytes of the range that arrived, wanted or not. */
        long landed;

        private boolean busy;
    }
}
