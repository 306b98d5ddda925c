package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How the poller waits. */
@Timeout(60)
class ParkingTest {
    private static final long LONG_NS = 1_000_000_000_000L;

    @Test
    void shouldWakeTheThreadThatItSharesWhereThatParks() {
        AtomicInteger wakeups = new AtomicInteger();
        Parking parking = new Parking(() -> true, wakeups::incrementAndGet);
        parking.wakeup();
        parking.wakeup();
        assertEquals(2, wakeups.get());
    }

    @Test
    void shouldNotParkAfterAWakeup() {
        AtomicInteger looks = new AtomicInteger();
        Parking parking = new Parking(() -> looks.incrementAndGet() == 0, null);
        parking.wakeup();
        parking.park(null, LONG_NS);
        assertEquals(0, looks.get(), "it was woken before it looked");
        parking.park(null, LONG_NS);
        assertTrue(looks.get() > 0);
    }
}
