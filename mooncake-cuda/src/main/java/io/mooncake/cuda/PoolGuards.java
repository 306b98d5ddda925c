package io.mooncake.cuda;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.transfer.shm.SharedGuards;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.Device;
import io.mooncake.cuda.runtime.PinnedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Pinned host memory for a pool's guards: where that can be, such that this host's other processes read it. */
final class PoolGuards implements AutoCloseable {
    /** Readers look at an owner's state every {@link PeerVrams#TICK_NS}, and end what they copy just then. */
    private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(5);
    private static final long PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final Logger LOG = LoggerFactory.getLogger(PoolGuards.class);

    private final @Nullable SharedGuards file;
    private final @Nullable PinnedMemory own;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment segment;

    /**
     * Zeros.
     *
     * @param export makes what readers need to reach the pool's bytes
     * @throws CudaException when so much can't be pinned
     */
    PoolGuards(CudaDevices devices, Device device, long bytes, Supplier<byte[]> export) {
        SharedGuards shared = null;
        MemorySegment mapped = null;
        Path directory = devices.config().sharedDirectory();
        if (directory != null) {
            try {
                SharedGuards made = SharedGuards.create(directory, bytes, export.get());
                shared = made;
                mapped = devices.pins().reserve((length, _, scope) -> made.map(scope), bytes, 1, arena);
            } catch (MooncakeException e) {
                LOG.info("the pool of {} is not read in place by other processes: {}", device, e.getMessage());
            }
        }
        if (mapped == null && shared != null) {
            shared.close();
        }
        if (mapped != null) {
            file = shared;
            own = null;
            segment = mapped;
        } else {
            PinnedMemory pinned = new PinnedMemory(device, bytes);
            file = null;
            own = pinned;
            segment = pinned.segment();
        }
    }

    MemorySegment segment() {
        return segment;
    }

    Optional<Path> shared() {
        return file == null ? Optional.empty() : Optional.of(file.path());
    }

    /** Lets no other process begin, and waits a while for those that read; true when one does so still. */
    boolean awaitReaders() {
        if (file == null) {
            return false;
        }
        file.retire();
        long began = System.nanoTime();
        while (file.isRead()) {
            if (System.nanoTime() - began > PATIENCE_NS) {
                return true;
            }
            LockSupport.parkNanos(this, PAUSE_NS);
        }
        return false;
    }

    @Override
    public void close() {
        arena.close();
        if (file != null) {
            file.close();
        }
        if (own != null) {
            own.close();
        }
    }
}
