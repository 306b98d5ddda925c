package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ProgressTest {
    private final StringWriter shown = new StringWriter();
    private long nowNs;

    @Test
    void shouldPrintALineEveryFewSecondsWithoutATerminal() {
        run(false);
        assertEquals("""
                5 of 20 requests (25 %), 1/s, 0.20 GB/s, hit ratio 0.5000, 15 s left
                10 of 20 requests (50 %), 1/s, 0.20 GB/s, hit ratio 0.5000, 10 s left
                """, shown.toString().replace(System.lineSeparator(), "\n"));
    }

    @Test
    void shouldRewriteOneLineOnATerminalAndTakeItAway() {
        run(true);
        String[] lines = shown.toString().split("\r\u001b\\[K", -1);
        assertEquals(12, lines.length); // ten states, before them nothing, after the last erasure nothing
        assertEquals("10 of 20 requests (50 %), 1/s, 0.20 GB/s, hit ratio 0.5000, 10 s left", lines[10]);
        assertEquals("", lines[11]);
    }

    private void run(boolean terminal) {
        ReplayStats stats = new ReplayStats(new PrintWriter(new StringWriter()));
        Progress progress = new Progress(new PrintWriter(shown), terminal, () -> nowNs, 20, "requests");
        for (int i = 0; i < 10; i++) {
            nowNs += TimeUnit.SECONDS.toNanos(1);
            stats.request(1_000, 2, 1, 200_000_000);
            progress.update(stats.requests().count(), stats::progress);
            progress.update(stats.requests().count(), stats::progress);
        }
        progress.clear();
    }

    @Test
    void shouldHoldRequestsBackAsTheTraceDoesAndFaster() {
        List<Long> parked = new ArrayList<>();
        Pace pace = new Pace(2, () -> nowNs, ns -> {
            parked.add(ns);
            nowNs += (ns + 1) / 2; // wakes early
        });
        nowNs = 1_000_000_000;
        pace.start();
        pace.await(0);
        assertEquals(List.of(), parked);
        pace.await(3_000);
        assertEquals(2_500_000_000L, nowNs);
        pace.await(2_000);
        assertEquals(2_500_000_000L, nowNs);
        new Pace(0, () -> nowNs, ns -> {
            throw new AssertionError("unthrottled");
        }).await(Long.MAX_VALUE);
    }
}
