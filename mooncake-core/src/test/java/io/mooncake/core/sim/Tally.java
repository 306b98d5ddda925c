package io.mooncake.core.sim;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** How often something was met, by name; the names that must be met are known beforehand. Not thread-safe: one a world, then added up. */
public final class Tally {
    /** What a simulation of some size must meet, each often. */
    static final Set<String> REQUIRED = Set.of("block FREE -> ALLOCATED", "block ALLOCATED -> WRITTEN",
            "block ALLOCATED -> FREE", "block WRITTEN -> EVICTED", "block EVICTED -> FREE",
            "transfer CREATED -> QUEUED", "transfer QUEUED -> POSTED", "transfer -> COMPLETED",
            "transfer -> FAILED", "transfer -> CANCELED", "transfer -> TIMED_OUT", "transfer -> released",
            "piece OK", "piece ABSENT", "piece STALE", "piece TIMED_OUT", "piece CANCELED", "piece UNREACHABLE",
            "piece CHECKSUM",
            "fault crash", "fault restart", "fault partition", "fault heal", "fault lane break", "fault stall",
            "fault late landing", "fault cancel storm", "fault eviction storm", "fault tiny deadlines",
            "fault bit flip",
            "use resubmit", "use stages", "use shared pull", "use by reference", "use scattered pages", "use view",
            "use slow writer", "use close while in use", "memory quarantined",
            "cause PEER_UNREACHABLE", "cause STALE_INCARNATION", "cause OUT_OF_BOUNDS", "cause OUT_OF_MEMORY");

    private final Map<String, Long> counts = new TreeMap<>();

    void hit(String what) {
        counts.merge(what, 1L, Long::sum);
    }

    void add(Tally other) {
        other.counts.forEach((what, times) -> counts.merge(what, times, Long::sum));
    }

    /** How often it was met. */
    public long of(String what) {
        return counts.getOrDefault(what, 0L);
    }

    /** All that was met, by name. */
    public Map<String, Long> counts() {
        return Collections.unmodifiableMap(counts);
    }

    /** What was required and met less often than that. */
    public List<String> below(long least) {
        List<String> rare = new ArrayList<>();
        for (String what : REQUIRED) {
            if (of(what) < least) {
                rare.add(what + ": " + of(what));
            }
        }
        rare.sort(null);
        return rare;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        counts.forEach((what, times) -> text.append(String.format("  %-40s %,12d%n", what, times)));
        return text.toString();
    }
}
