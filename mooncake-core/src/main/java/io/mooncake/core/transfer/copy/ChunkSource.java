package io.mooncake.core.transfer.copy;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ReadStatus;
import org.jspecify.annotations.Nullable;

/** Memory that this process can read, as one copying engine sees it. Any thread; allocates nothing where it succeeds. */
public interface ChunkSource {
    /**
     * Why a read cannot be served; asked before each of its chunks.
     *
     * @param read what and where to
     * @return null when it can; PEER_UNREACHABLE or STALE_INCARNATION ends it as unreachable, any other kind as refused
     */
    @Nullable
    MooncakeException refusal(GuardedRead read);

    /**
     * Copies the next chunk and proves it.
     *
     * @param read served as far as {@link GuardedRead#received}
     * @param length bytes to copy from there on
     * @return OK when the bytes are the block's; CHECKSUM; STALE; UNREACHABLE; REFUSED when no block stands there, or it is shorter
     */
    ReadStatus copy(GuardedRead read, long length);
}
