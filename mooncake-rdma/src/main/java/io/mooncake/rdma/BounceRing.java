package io.mooncake.rdma;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.verbs.Access;
import java.lang.foreign.MemorySegment;

/**
 * Registered places in which short reads land whose destination the card does not know. Made and closed by the registrar, used by the poller,
 * who copies what has landed before anybody is told of it.
 */
final class BounceRing implements AutoCloseable {
    private static final int PLACES = 64;
    private static final long PLACE_BYTES = DestinationPath.MOST_BOUNCED_BYTES;

    private final NicMemory memory;
    private final int[] free = new int[PLACES];
    private int freeCount;

    BounceRing(Nic nic) {
        memory = new NicMemory(nic, PLACES * PLACE_BYTES, PLACE_BYTES, Access.LOCAL_WRITE);
        for (int i = PLACES - 1; i >= 0; i--) {
            free[freeCount++] = i;
        }
    }

    boolean hasRoom() {
        return freeCount > 0;
    }

    int take() {
        return free[--freeCount];
    }

    /** Nothing lands in a place any more. */
    void give(int place) {
        free[freeCount++] = place;
    }

    long address(int place) {
        return memory.address(place * PLACE_BYTES);
    }

    int key() {
        return memory.localKey();
    }

    /**
     * Brings what has landed to where it goes.
     *
     * @throws IllegalStateException when that was freed
     */
    void copy(int place, Region destination, long offset, long bytes) {
        MemorySegment.copy(memory.segment, place * PLACE_BYTES, ((HostMemory) destination.memory()).segment(), offset,
                bytes);
    }

    @Override
    public void close() {
        memory.close();
    }
}
