package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.ClusterWatch.Pair;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What is a violation, and what is not. */
class ClusterWatchTest {
    private static final Pair TO_VICTIM = new Pair(0, 1);

    private final ClusterWatch watch = new ClusterWatch(new PrintWriter(new StringWriter()));

    @Test
    void shouldExcuseOnlyThoseToWhomSomethingWasDone() {
        watch.excuse(List.of(TO_VICTIM));
        watch.onLine(0, "up 10 1");
        watch.onLine(0, "lost 20 1 UNREACHABLE");
        watch.onLine(0, "event 21 SUSPECT 1 it cannot be reached");
        watch.onLine(0, "event 30 DEAD 1 gone");
        assertEquals(List.of(), watch.violations());
        watch.onLine(0, "lost 40 2 TIMED_OUT");
        watch.onLine(0, "event 41 DEAD 2 gone");
        watch.onLine(2, "lost 42 1 UNREACHABLE");
        assertEquals(3, watch.violations().size(), () -> watch.violations().toString());
    }

    @Test
    void shouldExcuseNobodyAnyLonger() {
        watch.excuse(List.of(TO_VICTIM));
        watch.excuseNobody();
        watch.onLine(0, "event 50 SUSPECT 1 slow");
        watch.onLine(0, "event 51 JOINED 1 its facts are known here");
        assertEquals(1, watch.violations().size());
        assertTrue(watch.violations().getFirst().contains("false suspicion"), () -> watch.violations().toString());
    }

    @Test
    void shouldNeverExcuseAWrongByteOrALateTransfer() {
        watch.excuse(List.of(TO_VICTIM, new Pair(1, 0)));
        watch.onLine(0, "wrong 10 1 byte 7 of x");
        watch.onLine(0, "late 11 1 transfer 5");
        assertEquals(2, watch.violations().size());
        watch.frozen(1);
        watch.onLine(1, "late 12 0 transfer 6");
        assertEquals(2, watch.violations().size(), "it stood still itself");
    }

    @Test
    void shouldKnowWhoReadsFromWhomAndSinceWhen() {
        watch.onLine(0, "ready");
        assertTrue(watch.isReady(0));
        watch.onLine(0, "up 10 1");
        assertTrue(watch.areUp(List.of(TO_VICTIM)));
        assertFalse(watch.areUp(List.of(TO_VICTIM, new Pair(0, 2))));
        assertEquals(10, watch.firstNs(TO_VICTIM, Set.of("up"), 5).orElseThrow());
        assertTrue(watch.firstNs(TO_VICTIM, Set.of("up"), 11).isEmpty());
        watch.onEnd(0);
        assertTrue(watch.hasEnded(0));
        assertFalse(watch.areUp(List.of(TO_VICTIM)));
        assertFalse(watch.await(() -> watch.isReady(0), Duration.ofMillis(1)));
    }
}
