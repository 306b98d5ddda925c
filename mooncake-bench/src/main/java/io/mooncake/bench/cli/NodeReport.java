package io.mooncake.bench.cli;

import io.mooncake.core.Node;
import io.mooncake.core.base.Counter;
import io.mooncake.core.pool.BlockPool;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * What a node has to say when a replay is over. Immutable.
 *
 * @param name the node's
 * @param usage of its slots
 * @param counters everything that it counted
 * @param engines by which others may have reached it
 */
record NodeReport(String name, BlockPool.Usage usage, Map<Counter, Long> counters, Set<String> engines) {
    /** Copies. */
    NodeReport {
        counters = Map.copyOf(counters);
        engines = Set.copyOf(engines);
    }

    static NodeReport of(Node node) {
        return new NodeReport(node.id().name(), node.usage(), node.counters().snapshot(), node.addresses().keySet());
    }

    /** With what an earlier life of the node counted. */
    NodeReport after(NodeReport earlier) {
        Map<Counter, Long> sums = new EnumMap<>(Counter.class);
        for (Counter counter : Counter.values()) {
            sums.put(counter, counted(counter) + earlier.counted(counter));
        }
        return new NodeReport(name, usage, sums, engines);
    }

    long counted(Counter counter) {
        return counters.getOrDefault(counter, 0L);
    }

    /** For the report. */
    Map<String, Object> toMap() {
        Map<String, Object> all = new LinkedHashMap<>();
        for (Counter counter : Counter.values()) {
            all.put(counter.toString(), counted(counter));
        }
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("name", name);
        map.put("slotsUsed", usage.used());
        map.put("slotsQuarantined", usage.quarantined());
        map.put("slotsFree", usage.free());
        map.put("counters", all);
        return map;
    }
}
