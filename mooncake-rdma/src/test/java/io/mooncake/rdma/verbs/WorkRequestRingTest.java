package io.mooncake.rdma.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a device is given to read when a batch is posted, and what becomes of a batch that it does not take. */
class WorkRequestRingTest {

    @SuppressWarnings("restricted") // A device reads all memory by its addresses.
    private static final MemorySegment MEMORY = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    /** Reads requests as verbs.h lays them out, and refuses from one of them on. */
    private static final class Device implements Provider.DataPath {
        final List<String> posted = new ArrayList<>();
        int refuseFrom = Integer.MAX_VALUE;
        boolean doorbellFails;

        @Override
        public int postSend(long qp, long wr, long bad) {
            int count = 0;
            for (long at = wr; at != 0; at = MEMORY.get(JAVA_LONG, at + 8)) {
                if (count++ == refuseFrom) {
                    MEMORY.set(JAVA_LONG, bad, at);
                    return -Errno.ENOMEM;
                }
                long sge = MEMORY.get(JAVA_LONG, at + 16);
                assertEquals(1, MEMORY.get(JAVA_INT, at + 24));
                posted.add("id %d op %d flags %d, %d bytes at %d key %d, remote %d key %d".formatted(
                        MEMORY.get(JAVA_LONG, at), MEMORY.get(JAVA_INT, at + 28), MEMORY.get(JAVA_INT, at + 32),
                        MEMORY.get(JAVA_INT, sge + 8), MEMORY.get(JAVA_LONG, sge), MEMORY.get(JAVA_INT, sge + 12),
                        MEMORY.get(JAVA_LONG, at + 40), MEMORY.get(JAVA_INT, at + 48)));
            }
            return doorbellFails ? -Errno.EIO : 0;
        }

        @Override
        public int postRecv(long qp, long wr, long bad) {
            throw new AssertionError();
        }

        @Override
        public int pollCq(long cq, int entries, long wc) {
            throw new AssertionError();
        }

        @Override
        public int requestNotify(long cq, boolean solicitedOnly) {
            throw new AssertionError();
        }
    }

    private final Device device = new Device();

    @Test
    void shouldLayOutRequestsAsTheHeaderDoes() {
        try (WorkRequestRing ring = new WorkRequestRing(4)) {
            ring.read(1, false).remote(1000, 10).local(2000, 64, 20);
            ring.write(2, true).remote(3000, -1).local(4000, 65, 21);
            ring.send(3, true, true).local(5000, 66, 22);
            assertEquals(3, ring.post(device, 7));
            assertEquals(List.of("id 1 op 4 flags 0, 64 bytes at 2000 key 20, remote 1000 key 10",
                    "id 2 op 0 flags 2, 65 bytes at 4000 key 21, remote 3000 key -1"), device.posted.subList(0, 2));
            assertTrue(device.posted.get(2).startsWith("id 3 op 2 flags 10, 66 bytes at 5000 key 22"),
                    device.posted::toString);
        }
    }

    @Test
    void shouldPostBatchAfterBatchOfAnyLength() {
        try (WorkRequestRing ring = new WorkRequestRing(4)) {
            for (int count : new int[]{4, 1, 3, 4, 2, 0}) {
                device.posted.clear();
                for (int i = 0; i < count; i++) {
                    assertTrue(ring.hasRoom());
                    ring.read(i, true).remote(0, 0).local(0, 8, 0);
                }
                assertEquals(count, ring.post(device, 7));
                assertEquals(count, device.posted.size());
            }
        }
    }

    @Test
    void shouldTellHowManyWereTaken() {
        try (WorkRequestRing ring = new WorkRequestRing(4)) {
            device.refuseFrom = 3;
            for (int i = 0; i < 4; i++) {
                ring.read(i, true).remote(0, 0).local(0, 8, 0);
            }
            assertFalse(ring.hasRoom());
            assertEquals(3, ring.post(device, 7));
            assertEquals(Errno.ENOMEM, ring.refusal());
            assertEquals(0, ring.filled(), "what was not taken is forgotten");
        }
    }

    @Test
    void shouldCountAsTakenWhatMayYetBeDone() {
        try (WorkRequestRing ring = new WorkRequestRing(4)) {
            device.doorbellFails = true;
            ring.read(1, true).remote(0, 0).local(0, 8, 0);
            assertEquals(1, ring.post(device, 7));
            assertEquals(Errno.EIO, ring.refusal());
        }
    }

    @Test
    void shouldRefuseMoreThanItHolds() {
        try (WorkRequestRing ring = new WorkRequestRing(1)) {
            ring.read(1, true).remote(0, 0).local(0, 8, 0);
            assertThrows(IndexOutOfBoundsException.class, () -> ring.read(2, true));
            ring.clear();
            assertEquals(0, ring.post(device, 7));
        }
    }
}
