package io.mooncake.rdma.sim;

import java.lang.foreign.MemorySegment;

/** Registered memory, of one protection domain. */
final class SimulatedMemory {
    /** All of this process's memory: work requests name it by addresses. */
    @SuppressWarnings("restricted")
    static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    final SimulatedDomain domain;
    final long address;
    final long length;
    final int access;
    final int localKey;
    final int remoteKey;

    SimulatedMemory(SimulatedDomain domain, long address, long length, int access, int key) {
        this.domain = domain;
        this.address = address;
        this.length = length;
        this.access = access;
        localKey = key;
        remoteKey = key + 1;
    }

    boolean covers(long from, long bytes, int right) {
        return from >= address && bytes <= length && from - address <= length - bytes && (access & right) == right;
    }
}
