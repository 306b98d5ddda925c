package io.mooncake.cuda;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Settings of the devices of a node. Immutable.
 *
 * @param chunkBytes a copy is cut into pieces of at most so many bytes, each proven by itself: what a cancel waits for at most,
 *     times the window; 4 KiB to 256 MiB
 * @param window chunks that are queued at a time for each direction, 1 to 64
 * @param pinLimit bytes of host memory that are pinned at most; 0 = none
 * @param probePeers whether the ways between devices are measured when they are opened
 * @param sharedDirectory where pools make known to this host's other processes how they read them in place; null = nowhere
 */
public record CudaConfig(long chunkBytes, int window, long pinLimit, boolean probePeers,
        @Nullable Path sharedDirectory) {
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final long LEAST_CHUNK_BYTES = 4L << 10;
    private static final long MOST_CHUNK_BYTES = 256L << 20;
    private static final int MOST_WINDOW = 64;

    /**
     * Checks the numbers.
     *
     * @throws MooncakeException CONFIG_ERROR naming the value
     */
    public CudaConfig {
        if (chunkBytes < LEAST_CHUNK_BYTES || chunkBytes > MOST_CHUNK_BYTES) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "cuda.chunkBytes = " + chunkBytes + ": from "
                    + ByteSize.format(LEAST_CHUNK_BYTES) + " to " + ByteSize.format(MOST_CHUNK_BYTES));
        }
        if (window < 1 || window > MOST_WINDOW) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "cuda.window = " + window + ": from 1 to " + MOST_WINDOW);
        }
        if (pinLimit < 0) {
            throw new MooncakeException(Kind.CONFIG_ERROR, "cuda.pinLimit = " + pinLimit + ": 0 or more bytes");
        }
    }

    /**
     * Chunks of 4 MiB, four at a time, no limit of pinned memory, ways between devices measured, pools shared with this host's other processes where
     * there is {@code /dev/shm}.
     *
     * @return the settings to begin with
     */
    public static CudaConfig defaults() {
        return new CudaConfig(4L << 20, 4, Long.MAX_VALUE, true,
                Files.isDirectory(SHARED_MEMORY) ? SHARED_MEMORY : null);
    }

    /**
     * Sets how copies are cut.
     *
     * @param bytes of a chunk
     * @param atATime chunks queued for each direction
     * @return settings with that
     * @throws MooncakeException CONFIG_ERROR
     */
    public CudaConfig withChunks(long bytes, int atATime) {
        return new CudaConfig(bytes, atATime, pinLimit, probePeers, sharedDirectory);
    }

    /**
     * Sets how much host memory may be pinned.
     *
     * @param bytes at most
     * @return settings with that
     * @throws MooncakeException CONFIG_ERROR
     */
    public CudaConfig withPinLimit(long bytes) {
        return new CudaConfig(chunkBytes, window, bytes, probePeers, sharedDirectory);
    }

    /**
     * Sets whether the ways between devices are measured; without, devices that can reach each other do.
     *
     * @param probe whether
     * @return settings with that
     */
    public CudaConfig withPeerProbe(boolean probe) {
        return new CudaConfig(chunkBytes, window, pinLimit, probe, sharedDirectory);
    }

    /**
     * Sets where pools make known how this host's other processes of the same user read them in place: a directory of a memory file system.
     *
     * @param directory an existing one; null = they do not
     * @return settings with that
     */
    public CudaConfig withSharedDirectory(@Nullable Path directory) {
        return new CudaConfig(chunkBytes, window, pinLimit, probePeers, directory);
    }
}
