package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Trace.Request;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What a replay must count, computed without a store: one recency list a node. */
final class ReferenceLru {
    private final List<Map<Long, Boolean>> nodes = new ArrayList<>();
    private final int capacity;
    private long evictions;
    private long localHits;

    ReferenceLru(int nodes, int capacity) {
        this.capacity = capacity;
        for (int i = 0; i < nodes; i++) {
            this.nodes.add(new LinkedHashMap<>(16, 0.75f, true));
        }
    }

    /** Blocks of unbroken leading runs that some node had, in one more pass of the trace. */
    long hits(Trace trace) {
        long hits = 0;
        for (int number = 0; number < trace.requests().size(); number++) {
            Request request = trace.requests().get(number);
            Map<Long, Boolean> here = nodes.get(number % nodes.size());
            for (int i = 0; i < request.blocks() && isAnywhere(request.hashId(i)); i++) {
                localHits += here.containsKey(request.hashId(i)) ? 1 : 0;
                hits++;
            }
            for (int i = 0; i < request.blocks(); i++) {
                here.put(request.hashId(i), true);
            }
            for (var oldest = here.keySet().iterator(); here.size() > capacity; evictions++) {
                oldest.next();
                oldest.remove();
            }
        }
        return hits;
    }

    private boolean isAnywhere(long hashId) {
        return nodes.stream().anyMatch(node -> node.containsKey(hashId));
    }

    long localHits() {
        return localHits;
    }

    long evictions() {
        return evictions;
    }
}
