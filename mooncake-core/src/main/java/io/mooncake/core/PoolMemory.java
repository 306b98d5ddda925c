package io.mooncake.core;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.pool.GuardTable;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.transfer.UnitChecksums;
import io.mooncake.core.transfer.shm.SharedMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a node's pool lies: in memory that this host's other nodes can map, or in its own.
 *
 * @param shared null when it is the process's own
 * @param source for the pool
 */
record PoolMemory(@Nullable SharedMemory shared, MemorySource source) {
    /** A memory file system on every Linux; in a container often a very small one. */
    private static final Path DEFAULT = Path.of("/dev/shm");
    /** Other programs live there too: by itself a node takes at most one part in so many of what is free. */
    private static final int SHARE = 2;
    private static final Set<String> MEMORY_TYPES = Set.of("tmpfs", "ramfs", "hugetlbfs");
    private static final Logger LOG = LoggerFactory.getLogger(PoolMemory.class);

    /**
     * Shared where the configuration names a directory, or leaves it to us and there is room; in the second case whatever goes wrong
     * costs a log line and the pool is the process's own.
     */
    static PoolMemory choose(NodeConfig config, NodeId id) {
        MemorySource given = config.environment().memory();
        boolean ownEngines = config.environment().engines() != null;
        if (given != null || ownEngines || config.pool().sharedMemory().equals(NodeConfig.SHARED_MEMORY_OFF)) {
            return new PoolMemory(null, given == null ? MemorySource.anonymous() : given);
        }
        if (!config.pool().sharedMemory().equals(NodeConfig.SHARED_MEMORY_AUTO)) {
            return in(Path.of(config.pool().sharedMemory()), config, id);
        }
        String why;
        try {
            why = objection(bytes(config));
            if (why == null) {
                return in(DEFAULT, config, id);
            }
        } catch (MooncakeException e) {
            why = e.getMessage();
        }
        LOG.info("node {}: the pool is no shared memory, nodes of this host read it by tcp: {}", id, why);
        return new PoolMemory(null, MemorySource.anonymous());
    }

    /** Takes the files away; what is mapped stays until the pool closes. */
    void close() {
        if (shared != null) {
            shared.close();
        }
    }

    @Override
    public String toString() {
        return shared == null ? "no shared memory" : shared.toString();
    }

    private static PoolMemory in(Path directory, NodeConfig config, NodeId id) {
        warnOfDisk(directory, id);
        SharedMemory shared = SharedMemory.create(directory, id, bytes(config), config.environment().nanoClock());
        return new PoolMemory(shared, shared::reserve);
    }

    private static void warnOfDisk(Path directory, NodeId id) {
        try {
            String type = Files.getFileStore(directory).type();
            if (!MEMORY_TYPES.contains(type)) {
                LOG.warn(
                        "node {}: sharedMemory = '{}' is of type {}, no memory file system: what is written to the pool"
                                + " goes to its disk, too; name a tmpfs, such as {}",
                        id, directory, type, DEFAULT);
            }
        } catch (IOException e) {
            LOG.debug("node {}: {} does not say what it is; whether it can be used is seen next", id, directory, e);
        }
    }

    /** Slots, guards and, where blocks have any, checksums, each from a page on. */
    private static long bytes(NodeConfig config) {
        try {
            long slot = Math.addExact(config.pool().blockSize(), 63) & -64;
            long slots = config.pool().leastBlock() > 0
                    ? config.pool().size()
                    : Math.multiplyExact(slot, (long) config.pool().slots());
            long guards = (long) config.pool().slots() * GuardTable.STRIDE;
            long checksums = config.pool().checksums()
                    ? UnitChecksums.bytes(config.pool().slots(), config.pool().blockSize())
                    : 0;
            return Math.addExact(Math.addExact(page(slots), page(guards)), page(checksums));
        } catch (ArithmeticException e) {
            throw new MooncakeException(MooncakeException.Kind.CONFIG_ERROR, "pool.size = '"
                    + ByteSize.format(config.pool().size()) + "' is too large for any file", e);
        }
    }

    private static long page(long bytes) {
        return Math.addExact(bytes, SharedMemory.PAGE - 1) & -SharedMemory.PAGE;
    }

    private static @Nullable String objection(long bytes) {
        try {
            long free = Files.isDirectory(DEFAULT) ? Files.getFileStore(DEFAULT).getUsableSpace() : -1;
            if (free < 0) {
                return "there is no " + DEFAULT;
            }
            if (bytes <= free / SHARE) {
                return null;
            }
            return DEFAULT + " has " + ByteSize.rounded((double) free) + " free and the pool needs "
                    + ByteSize.rounded((double) bytes) + (bytes > free
                            ? ""
                            : ", by itself at most half of that;"
                                    + " set sharedMemory = " + DEFAULT + " to have it all the same")
                    + "; in a container --shm-size gives more";
        } catch (IOException e) {
            return DEFAULT + " cannot be used: " + e.getMessage();
        }
    }
}
