package io.mooncake.rdma.sim;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A protection domain. */
final class SimulatedDomain {
    final SimulatedContext context;
    private final Map<Integer, SimulatedMemory> byLocalKey = new HashMap<>();
    private final Map<Integer, SimulatedMemory> byRemoteKey = new HashMap<>();
    int users;

    SimulatedDomain(SimulatedContext context) {
        this.context = context;
    }

    void add(SimulatedMemory memory) {
        byLocalKey.put(memory.localKey, memory);
        byRemoteKey.put(memory.remoteKey, memory);
        users++;
    }

    void remove(SimulatedMemory memory) {
        byLocalKey.remove(memory.localKey);
        byRemoteKey.remove(memory.remoteKey);
        users--;
    }

    /** Memory that a request of this process may use so; null when it may not. */
    @Nullable
    SimulatedMemory local(int key, long from, long bytes, int right) {
        SimulatedMemory memory = byLocalKey.get(key);
        return memory != null && memory.covers(from, bytes, right) ? memory : null;
    }

    /** Memory that a peer may use so; null when it may not. */
    @Nullable
    SimulatedMemory remote(int key, long from, long bytes, int right) {
        SimulatedMemory memory = byRemoteKey.get(key);
        return memory != null && memory.covers(from, bytes, right) ? memory : null;
    }

    int registered() {
        return byLocalKey.size();
    }
}
