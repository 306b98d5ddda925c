package io.mooncake.rdma;

import io.mooncake.rdma.verbs.MemoryRegion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Memory of this engine's own that a card knows: for frames, for what bounces, for what peers write. Made and closed by the registrar. */
final class NicMemory implements AutoCloseable {
    final MemorySegment segment;
    private final Nic nic;
    private final Arena arena = Arena.ofShared();
    private final MemoryRegion registered;

    NicMemory(Nic nic, long bytes, long alignment, int access) {
        this.nic = nic;
        segment = arena.allocate(bytes, alignment);
        try {
            registered = nic.register(segment, access);
        } catch (RuntimeException e) {
            arena.close();
            throw e;
        }
    }

    /** Of a byte of it. */
    long address(long offset) {
        return segment.address() + offset;
    }

    int localKey() {
        return registered.localKey();
    }

    int remoteKey() {
        return registered.remoteKey();
    }

    @Override
    public void close() {
        nic.giveBack(registered::close, arena::close);
    }
}
