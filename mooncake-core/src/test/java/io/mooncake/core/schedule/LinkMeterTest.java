package io.mooncake.core.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.schedule.ActivationPlan.Link;
import java.util.ArrayDeque;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What moves over a link, on time of the test's, say of it. */
final class LinkMeterTest {
    private static final double STEP_NS = 1_000_000;

    private final LinkMeter meter = new LinkMeter();
    private final ArrayDeque<Long> going = new ArrayDeque<>();
    private long nowNs = -5_000_000_000L;
    private long sentNs = nowNs;
    private double blocksPerStep;
    private double delaySteps;

    private void set(double rate, double delay) {
        blocksPerStep = rate;
        delaySteps = delay;
    }

    /** As many at a time as the meter says, but not more than so many. */
    private void move(int count, int most) {
        ArrayDeque<Long> arrivals = new ArrayDeque<>();
        for (int begun = 0; begun < count || !going.isEmpty();) {
            if (begun < count && going.size() < Math.min(most, link().window())) {
                sentNs = Math.max(sentNs, nowNs) + (long) (STEP_NS / blocksPerStep);
                going.add(nowNs);
                arrivals.add(sentNs + (long) (delaySteps * STEP_NS));
                meter.begun();
                begun++;
            } else {
                nowNs = Math.max(nowNs, arrivals.remove());
                meter.ended(going.remove(), nowNs);
            }
        }
    }

    private Link link() {
        return meter.link(STEP_NS);
    }

    private void assertKnown(double rate, double delay) {
        assertEquals(rate, link().blocksPerStep(), 0.1 * rate, () -> link().toString());
        assertEquals(delay, link().delaySteps(), 0.1 * delay + 0.2 / rate, () -> link().toString());
    }

    @Test
    void shouldTakeWhatIsNotKnownForSlow() {
        assertTrue(link().blocksPerStep() < 1e-6 && link().window() >= 2);
    }

    @ParameterizedTest
    @CsvSource({"1, 0", "0.25, 0", "20, 0", "1, 8", "0.5, 30", "4, 16"})
    void shouldFindOutRateAndDelayAndKeepTheWayBusy(double rate, double delay) {
        set(rate, delay);
        move(400, Integer.MAX_VALUE);
        assertKnown(rate, delay);
        assertTrue(link().window() >= Math.ceil(1 + rate * delay), () -> link().toString());
        assertTrue(link().window() <= Math.max(4, 2 * Math.ceil(1 + rate * delay) + 1), () -> link().toString());
        long beganNs = nowNs;
        move(1_000, Integer.MAX_VALUE);
        double steps = (nowNs - beganNs) / STEP_NS;
        assertTrue(steps <= 1.05 * (1_000 / rate + delay), "as fast as the way is: " + steps + " steps");
    }

    @Test
    void shouldFindItOutSoon() {
        set(1, 15);
        move(40, Integer.MAX_VALUE);
        assertTrue(link().window() >= 16, () -> link().toString());
    }

    @Test
    void shouldNotTakeFewMovesForASlowWay() {
        set(2, 10);
        move(200, Integer.MAX_VALUE);
        move(100, 1);
        assertKnown(2, 10);
    }

    @Test
    void shouldSeeThatTheWayHasBecomeSlowerAndFasterAgain() {
        set(2, 5);
        move(200, Integer.MAX_VALUE);
        set(0.25, 5);
        move(300, Integer.MAX_VALUE);
        assertEquals(0.25, link().blocksPerStep(), 0.05, () -> link().toString());
        set(2, 5);
        move(600, Integer.MAX_VALUE);
        assertEquals(2, link().blocksPerStep(), 0.2, () -> link().toString());
    }

    @Test
    void shouldSeeThatTheWayHasBecomeSlowerByFewMovesToo() {
        set(10, 0);
        move(100, Integer.MAX_VALUE);
        set(0.5, 0);
        move(10, 1);
        assertEquals(0.5, link().blocksPerStep(), 0.05, () -> link().toString());
    }

    @Test
    void shouldHaveNoMoreOnTheirWayAsTimeGoesOn() {
        set(1, 4);
        move(400, Integer.MAX_VALUE);
        int window = link().window();
        move(5_000, Integer.MAX_VALUE);
        assertTrue(link().window() <= window + 2, () -> link().toString());
    }
}
