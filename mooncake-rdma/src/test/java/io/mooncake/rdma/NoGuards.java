package io.mooncake.rdma;

import io.mooncake.core.base.Memory;
import io.mooncake.core.transfer.GuardSource;
import org.jspecify.annotations.Nullable;

/** A node without blocks. */
final class NoGuards implements GuardSource {
    @Override
    public long pin(int region, long guardOffset, long expected, long offset, long length) {
        return REFUSED;
    }

    @Override
    public long guard(long handle) {
        return REFUSED;
    }

    @Override
    public void unpin(long handle) {
        // Nothing is pinned.
    }

    @Override
    public @Nullable Memory table(int region) {
        return null;
    }
}
