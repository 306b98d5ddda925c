package io.mooncake.rdma.verbs;

import java.util.List;
import java.util.function.LongSupplier;

/**
 * Registered memory with its keys. Immutable but for its end; any thread. Closing it takes its pages from the device: READs of peers that
 * are under way fail, by a remote access error or by running out of retries.
 */
public final class MemoryRegion extends NativeObject {

    private final Range range;
    private final int localKey;
    private final int remoteKey;

    /** What is registered. */
    record Range(long address, long length, int access) {
        @Override
        public String toString() {
            return "region 0x" + Long.toHexString(address) + ", " + length + " bytes, access " + access;
        }
    }

    MemoryRegion(ProtectionDomain domain, Range range, LongSupplier register, String call) {
        super(domain.provider, range + " of " + domain, List.of(domain), call, register);
        this.range = range;
        localKey = provider.localKey(handle());
        remoteKey = provider.remoteKey(handle());
    }

    /**
     * How work requests and peers name its first byte.
     *
     * @return an address
     */
    public long address() {
        return range.address;
    }

    /**
     * Bytes.
     *
     * @return more than 0
     */
    public long length() {
        return range.length;
    }

    /**
     * The key for work requests of this process.
     *
     * @return any int
     */
    public int localKey() {
        return localKey;
    }

    /**
     * The key for peers.
     *
     * @return any int; of no use without a remote right
     */
    public int remoteKey() {
        return remoteKey;
    }

    @Override
    String destroyCall() {
        return "ibv_dereg_mr";
    }

    @Override
    int destroy(long object) {
        return provider.deregMr(object);
    }
}
