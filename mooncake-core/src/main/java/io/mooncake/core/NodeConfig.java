package io.mooncake.core;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Site;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.RangeBook;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.registry.Membership;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.schedule.Scheduler;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.MessageHandler;
import io.mooncake.core.transfer.TransferEngine;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * How one node is set up: validated once, immutable, printable. Every setting has a default but the name.
 *
 * @param name the node's name, alone of that name in the cluster
 * @param cluster whom it belongs to
 * @param pool its memory for blocks
 * @param fileTier its slow tier; null = none
 * @param tcp its sockets
 * @param topology where it runs
 * @param timeouts how long what may take
 * @param agents its threads
 * @param environment clocks, threads and the other nodes
 */
public record NodeConfig(String name, Cluster cluster, Pool pool, @Nullable FileTier fileTier, Tcp tcp,
        Topology topology, Timeouts timeouts, Agents agents, Environment environment) {
    /** {@link Pool#sharedMemory}: shared where there is room. */
    public static final String SHARED_MEMORY_AUTO = "auto";
    /** {@link Pool#sharedMemory}: the pool is the process's own, and no other's is mapped. */
    public static final String SHARED_MEMORY_OFF = "off";

    private static final long SMALL_BLOCK = 1 << 20;

    /**
     * Checks what the parts cannot check by themselves.
     *
     * @throws MooncakeException CONFIG_ERROR naming setting, value and remedy
     */
    public NodeConfig {
        try {
            NodeId _ = new NodeId(name, 1);
        } catch (MooncakeException e) {
            throw new MooncakeException(Kind.CONFIG_ERROR, e.getMessage(), e);
        }
        if (fileTier != null && environment.engines != null) {
            throw bad("file.directory", fileTier.directory,
                    "and engines of your own exclude each other: a file has an engine of its own");
        }
        if (fileTier != null && fileTier.slots(pool.blockSize) < 2) {
            throw bad("file.size", ByteSize.format(fileTier.size), "has no room for two blocks of "
                    + ByteSize.format(pool.blockSize) + " (block.size), one of them spare");
        }
        if (pool.sharedMemory.startsWith("/") && (environment.memory != null || environment.engines != null)) {
            throw bad("sharedMemory", pool.sharedMemory,
                    "and a memory source for the pool, or engines, of your own exclude each other");
        }
    }

    /**
     * Starts from the defaults.
     *
     * @param name the node's name
     * @return a builder
     */
    public static NodeConfigBuilder builder(String name) {
        return new NodeConfigBuilder(name);
    }

    /**
     * Whom a node belongs to.
     *
     * @param name nodes of another cluster are refused
     * @param secret what every node of the cluster must prove to know; null = none, then only loopback is listened on
     * @param membership how nodes of other processes are found and watched, by JGroups, which the application adds to its path; null =
     *     there are none but those of {@link Environment#registry}
     */
    public record Cluster(String name, @Nullable ClusterSecret secret, @Nullable Membership membership) {
        /**
         * Checks the name.
         *
         * @throws MooncakeException CONFIG_ERROR naming setting, value and remedy
         */
        public Cluster {
            if (name.isBlank() || name.length() > 64) {
                throw bad("cluster", name, "must be 1 to 64 characters");
            }
        }
    }

    /**
     * A node's memory for blocks.
     *
     * @param size bytes of host memory for blocks
     * @param blockSize bytes of the largest block; size / blockSize slots are cut
     * @param leastBlock bytes of a small block: each takes as many bytes as it needs, size / leastBlock blocks at most, and what is free is
     *     kept together by moving them; 0 = each takes a slot of blockSize
     * @param spareSlots slots that are kept free for writers by evicting ahead; 0 = one of 16, 1 to 64
     * @param checksums whether blocks written here get a checksum for each MiB, which whoever copies them here, from
     *     shared memory, by TCP or through a one-sided engine verifies (a view of a block is no copy)
     * @param evictionPolicy name of the policy
     * @param prefetchBandwidth bytes a second that may be fetched ahead of their use, as long as such guesses prove right
     * @param replicaBudget bytes at most of copies of other nodes' blocks that the node takes by itself, because they are read often from
     *     here; 0 = it takes none
     * @param shares by salt of a {@link io.mooncake.core.block.PrefixChain}, that is by tenant: what part of memory, and of the file, is its own:
     *     what it has there up to that part is evicted for nobody else; their sum is at most 1
     * @param sharedMemory where the pool lies so that this host's other nodes read it without a network: an absolute path of a
     *     directory of a memory file system, {@value NodeConfig#SHARED_MEMORY_AUTO} = {@code /dev/shm} where at most half of what is
     *     free there is needed, else the process's own memory, or {@value NodeConfig#SHARED_MEMORY_OFF}
     */
    public record Pool(long size, long blockSize, long leastBlock, int spareSlots, boolean checksums,
            String evictionPolicy, long prefetchBandwidth, long replicaBudget, Map<String, Double> shares,
            String sharedMemory) {
        /**
         * Checks the numbers, and how many spare slots there are where that is left open.
         *
         * @throws MooncakeException CONFIG_ERROR naming setting, value and remedy
         */
        public Pool {
            Objects.requireNonNull(evictionPolicy, "eviction.policy is null");
            positive("block.size", blockSize);
            positive("pool.size", size);
            positive("prefetch.bandwidth", prefetchBandwidth);
            if (replicaBudget < 0 || replicaBudget > size) {
                throw bad("replica.budget", ByteSize.format(replicaBudget),
                        "must be at most " + ByteSize.format(size) + " (pool.size), and not negative");
            }
            shares = Map.copyOf(shares);
            double sum = shares.values().stream().mapToDouble(Double::doubleValue).sum();
            if (!shares.values().stream().allMatch(share -> share > 0) || !(sum <= 1) || shares.containsKey("")) {
                throw bad("tenant.shares", shares,
                        "must be positive, at most 1 together, and of salts that are not empty");
            }
            if (leastBlock < 0 || leastBlock > blockSize) {
                throw bad("pool.leastBlock", leastBlock, "must be 0 or at most " + blockSize + " (block.size)");
            }
            if (leastBlock > 0 && size / leastBlock > RangeBook.MAX_GRANULES) {
                throw bad("pool.leastBlock", ByteSize.format(leastBlock), "is too little for a pool of "
                        + ByteSize.format(size) + " (pool.size), whose bytes are counted in at most "
                        + RangeBook.MAX_GRANULES + " parts: set it to " + ByteSize.format((size - 1)
                                / RangeBook.MAX_GRANULES + 1)
                        + " or more");
            }
            long slots = size / (leastBlock == 0 ? blockSize : leastBlock);
            if (size / blockSize < 2 || slots > Integer.MAX_VALUE - 8) {
                throw bad("pool.size", ByteSize.format(size), "has room for " + slots + " of "
                        + ByteSize.format(blockSize)
                        + " (block.size): at least 2 (one of them spare) and at most 2^31 are needed");
            }
            spareSlots = spareSlots == 0 ? Math.clamp(slots / 16, 1, 64) : spareSlots;
            if (spareSlots < 1 || spareSlots >= slots) {
                throw bad("pool.spareSlots", spareSlots,
                        "must be at least 1 and less than the " + slots + " slots of the pool");
            }
            if (!sharedMemory.equals(SHARED_MEMORY_AUTO) && !sharedMemory.equals(SHARED_MEMORY_OFF)
                    && (!sharedMemory.startsWith("/") || sharedMemory.indexOf('\0') >= 0)) {
                throw bad("sharedMemory", sharedMemory, "must be the absolute path of a directory, "
                        + SHARED_MEMORY_AUTO + " or " + SHARED_MEMORY_OFF);
            }
        }

        /**
         * Blocks that the pool can have.
         *
         * @return size / blockSize, or, where each takes as many bytes as it needs, size / leastBlock
         */
        public int slots() {
            return (int) (size / (leastBlock == 0 ? blockSize : leastBlock));
        }

        /** By what the ids of a salt have in common. */
        Map<Integer, Double> sharesByTag() {
            Map<Integer, Double> byTag = new HashMap<>();
            shares.forEach((salt, share) -> byTag.merge(BlockId.saltTag(salt), share, Double::sum));
            return byTag;
        }

        /** The pool that it describes. */
        DramPool open(MemorySource source) {
            SizeClass blocks = new SizeClass(blockSize, slots());
            return leastBlock == 0
                    ? new DramPool("dram", List.of(blocks), source, checksums)
                    : DramPool.ofRanges("dram", blocks, size, source, checksums);
        }

        /**
         * Blocks that the node keeps at most; beyond, it evicts.
         *
         * @return slots minus spare slots
         */
        public int cachedBlocks() {
            return slots() - spareSlots;
        }

        /**
         * Whether blocks are so small that their bookkeeping is worth a warning.
         *
         * @return the arithmetic, or null
         */
        @Nullable
        String smallBlockWarning() {
            return blockSize >= SMALL_BLOCK
                    ? null
                    : "blocks of " + ByteSize.format(blockSize) + ": " + slots()
                            + " slots need about " + ByteSize.rounded(slots() * 400.0)
                            + " of bookkeeping here and a registry entry each;"
                            + " 1 MiB and more is meant";
        }
    }

    /**
     * A file of blocks that were evicted from memory: the slow tier, which outlives the process.
     *
     * @param directory where it is; exists, and is this node's alone
     * @param size bytes of the file, all of them taken at the first start; size / block size slots are cut
     * @param direct whether to go past the page cache where the file system lets it
     * @param depth requests that the device has at a time
     * @param syncDelay how long a block that is written waits at most for others to become durable with
     */
    public record FileTier(Path directory, long size, boolean direct, int depth, Duration syncDelay) {
        private static final int MAX_DEPTH = 64;
        private static final long ALIGNMENT = 4096;

        /**
         * Checks the numbers.
         *
         * @throws MooncakeException CONFIG_ERROR naming setting, value and remedy
         */
        public FileTier {
            positive("file.size", size);
            positive("file.syncDelay", syncDelay);
            if (depth < 1 || depth > MAX_DEPTH) {
                throw bad("file.depth", depth, "must be 1 to " + MAX_DEPTH);
            }
        }

        /**
         * Slots that are cut from the file.
         *
         * @param blockSize bytes of the largest block
         * @return each from a multiple of 4096 on
         */
        public int slots(long blockSize) {
            return (int) Math.min(Integer.MAX_VALUE - 8,
                    size / Math.max(blockSize, (blockSize + ALIGNMENT - 1) & -ALIGNMENT));
        }
    }

    /**
     * A node's sockets.
     *
     * @param bind where the TCP engine listens; port 0 = any free one. Loopback only where there is no cluster secret
     * @param advertise what peers are told to dial; null = what was bound
     * @param lanes connections to a peer that large reads are spread over; 0 = one to this host, a few to others
     */
    public record Tcp(Endpoint bind, @Nullable Endpoint advertise, int lanes) {
        /** Refuses to have no address. */
        public Tcp {
            Objects.requireNonNull(bind, "tcp.bind is null");
        }
    }

    /**
     * Where a node runs: blocks are read from the nearest holder. Each is a name of at most 231 bytes, the same for
     * whoever is at the same place; empty = not known.
     *
     * @param host found out where it is empty
     * @param rack the host's
     * @param zone the rack's
     */
    public record Topology(String host, String rack, String zone) {
        /**
         * Checks the names.
         *
         * @throws MooncakeException CONFIG_ERROR naming setting, value and remedy
         */
        public Topology {
            name("topology.host", host);
            name("topology.rack", rack);
            name("topology.zone", zone);
        }

        private static void name(String key, String name) {
            // Of the process's name, which begins with the host's, something is left.
            int bytes = name.getBytes(StandardCharsets.UTF_8).length;
            if (bytes > Site.MAX_NAME_BYTES - 24) {
                throw bad(key, name, "has " + bytes + " bytes: at most " + (Site.MAX_NAME_BYTES - 24));
            }
        }
    }

    /**
     * How long what may take.
     *
     * @param transfer default of a transfer
     * @param allocate how long an allocation waits for a free slot
     * @param writerTtl how long an id is its writer's alone
     * @param close how long closing waits for pins
     */
    public record Timeouts(Duration transfer, Duration allocate, Duration writerTtl, Duration close) {
        /**
         * Checks that each is positive and at most a year.
         *
         * @throws MooncakeException CONFIG_ERROR naming setting, value and remedy
         */
        public Timeouts {
            positive("transfer.timeout", transfer);
            positive("allocate.timeout", allocate);
            positive("writer.ttl", writerTtl);
            positive("close.timeout", close);
        }
    }

    /**
     * A node's threads.
     *
     * @param threading on how many threads the agents run
     * @param idle what they do when there is nothing to do
     */
    public record Agents(ThreadingMode threading, IdleMode idle) {
        /** Refuses to have none. */
        public Agents {
            Objects.requireNonNull(threading, "threading is null");
            Objects.requireNonNull(idle, "idle is null");
        }
    }

    /**
     * What is injected rather than set.
     *
     * @param registry the cluster, where it is not found by {@link Cluster#membership}
     * @param scheduler decides where to read from
     * @param memory where the pool's memory comes from; null = by {@link Pool#sharedMemory}
     * @param vram opens the pool of the tier above host memory, which the node closes; null = none
     * @param messages takes control messages; called by the callback executor
     * @param callbackExecutor runs callbacks; null = one daemon thread of the node's (INVOKER: inside doWork)
     * @param nanoClock nanoseconds from an arbitrary start
     * @param wallClock gives the incarnation
     * @param random gives the incarnation
     * @param threads makes the agents' threads
     * @param engines makes the node's engines, in the order of preference; null = local, shared memory
     *     where it is not off, and TCP
     * @param addedEngines make what stands between shared memory and TCP, in the order of preference
     */
    public record Environment(Registry registry, Scheduler scheduler, @Nullable MemorySource memory,
            @Nullable Supplier<? extends BlockPool> vram, MessageHandler messages, @Nullable Executor callbackExecutor,
            LongSupplier nanoClock,
            InstantSource wallClock, RandomGenerator random, ThreadFactory threads,
            @Nullable Function<EngineContext, List<TransferEngine>> engines,
            List<Function<EngineContext, @Nullable TransferEngine>> addedEngines) {
        /** Refuses engines that would be ignored. */
        public Environment {
            addedEngines = List.copyOf(addedEngines);
            if (engines != null && !addedEngines.isEmpty()) {
                throw new MooncakeException(Kind.CONFIG_ERROR, "engines and " + addedEngines.size()
                        + " added engine(s) are set: put the added ones into the list that engines makes");
            }
        }
    }

    private static void positive(String key, long value) {
        if (value <= 0) {
            throw bad(key, value, "must be positive");
        }
    }

    private static void positive(String key, Duration value) {
        if (value.isNegative() || value.isZero() || value.compareTo(Duration.ofDays(365)) > 0) {
            throw bad(key, value, "must be positive and at most a year");
        }
    }

    /** A setting by its name, its value, and what to do about it. */
    static MooncakeException bad(String key, Object value, String why) {
        return new MooncakeException(Kind.CONFIG_ERROR, key + " = '" + value + "' " + why);
    }
}
