package io.mooncake.core;

import io.mooncake.core.NodeConfig.Agents;
import io.mooncake.core.NodeConfig.Cluster;
import io.mooncake.core.NodeConfig.Environment;
import io.mooncake.core.NodeConfig.FileTier;
import io.mooncake.core.NodeConfig.Pool;
import io.mooncake.core.NodeConfig.Tcp;
import io.mooncake.core.NodeConfig.Timeouts;
import io.mooncake.core.NodeConfig.Topology;
import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.registry.Discovery;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.registry.Membership;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.schedule.Scheduler;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.MessageHandler;
import io.mooncake.core.transfer.TransferEngine;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** Collects the settings of a {@link NodeConfig}; {@link #build()} checks them. Not thread-safe. */
public final class NodeConfigBuilder {
    private final String name;
    private String cluster = "mooncake";
    private @Nullable ClusterSecret clusterSecret;
    private @Nullable Discovery discovery;
    private @Nullable Endpoint clusterBind;
    private Duration heartbeat = Membership.DEFAULT_HEARTBEAT;
    private int heartbeatMisses = Membership.DEFAULT_MISSES;
    private long poolSize = 1L << 30;
    private long blockSize = 64L << 20;
    private long leastBlock;
    private int spareSlots;
    private boolean checksums;
    private String evictionPolicy = "adaptive";
    private long prefetchBandwidth = 1L << 30;
    private long replicaBudget;
    private final Map<String, Double> shares = new HashMap<>();
    private String sharedMemory = NodeConfig.SHARED_MEMORY_AUTO;
    private @Nullable Path fileDirectory;
    private long fileSize = 16L << 30;
    private boolean fileDirect = true;
    private int fileDepth = 4;
    private Duration fileSyncDelay = Duration.ofMillis(10);
    private Endpoint bind = new Endpoint("127.0.0.1", 0);
    private @Nullable Endpoint advertise;
    private int tcpLanes;
    private String host = "";
    private String rack = "";
    private String zone = "";
    private Duration transferTimeout = Duration.ofSeconds(30);
    private Duration allocateTimeout = Duration.ofSeconds(5);
    private Duration writerTtl = Duration.ofSeconds(30);
    private Duration closeTimeout = Duration.ofSeconds(10);
    private ThreadingMode threading = ThreadingMode.SHARED;
    private IdleMode idle = IdleMode.PARK;
    private @Nullable Registry registry;
    private Scheduler scheduler = Scheduler.cheapestHolder();
    private @Nullable MemorySource memory;
    private @Nullable Supplier<? extends BlockPool> vram;
    private MessageHandler messages = (from, message) -> {};
    private @Nullable Executor callbackExecutor;
    private LongSupplier nanoClock = System::nanoTime;
    private InstantSource wallClock = InstantSource.system();
    private RandomGenerator random = RandomGenerator.getDefault();
    private ThreadFactory threads = Thread.ofPlatform().daemon().factory();
    private @Nullable Function<EngineContext, List<TransferEngine>> engines;
    private final List<Function<EngineContext, @Nullable TransferEngine>> addedEngines = new ArrayList<>();

    NodeConfigBuilder(String name) {
        this.name = name;
    }

    /**
     * Sets one setting by its name, as from a properties file. The names are those of the errors: {@code cluster},
     * {@code cluster.secret}, {@code cluster.secretFile}, {@code cluster.discovery}, {@code cluster.bind}, {@code cluster.heartbeat},
     * {@code cluster.heartbeatMisses}, {@code pool.size}, {@code block.size}, {@code pool.leastBlock}, {@code pool.spareSlots},
     * {@code pool.checksums}, {@code eviction.policy}, {@code prefetch.bandwidth}, {@code replica.budget}, {@code tenant.shares}
     * ({@code a:0.5,b:0.25}), {@code sharedMemory}, {@code file.directory}, {@code file.size},
     * {@code file.direct}, {@code file.depth}, {@code file.syncDelay}, {@code tcp.bind}, {@code tcp.advertise},
     * {@code tcp.lanes}, {@code topology.host}, {@code topology.rack}, {@code topology.zone}, {@code transfer.timeout},
     * {@code allocate.timeout}, {@code writer.ttl}, {@code close.timeout},
     * {@code threading}, {@code idle}. Sizes as {@link ByteSize} reads them, times as {@code 250ms}, {@code 5s}, {@code 2m}.
     *
     * @param key the setting
     * @param value its text
     * @return this
     * @throws MooncakeException CONFIG_ERROR naming key and value
     */
    public NodeConfigBuilder set(String key, String value) {
        TextSettings.apply(this, key, value);
        return this;
    }

    /**
     * Sets the cluster's name.
     *
     * @param cluster nodes of another are refused
     * @return this
     */
    public NodeConfigBuilder cluster(String cluster) {
        this.cluster = cluster;
        return this;
    }

    /**
     * Sets what the nodes of the cluster prove to each other to know; with it any address may be bound.
     *
     * @param secret the same on every node
     * @return this
     */
    public NodeConfigBuilder clusterSecret(ClusterSecret secret) {
        clusterSecret = secret;
        return this;
    }

    /**
     * Makes the node a member of a cluster of several processes and says how it finds them. Takes JGroups on the path.
     *
     * @param discovery by a list of addresses, by multicast or by DNS
     * @return this
     */
    public NodeConfigBuilder discovery(Discovery discovery) {
        this.discovery = discovery;
        return this;
    }

    /**
     * Sets where the node listens for other members.
     *
     * @param endpoint no wildcard; a loopback address, any with a cluster secret; port 0 = any free one. Default: the host of
     *     {@link #bind}, port {@value Discovery#DEFAULT_PORT}
     * @return this
     */
    public NodeConfigBuilder clusterBind(Endpoint endpoint) {
        clusterBind = endpoint;
        return this;
    }

    /**
     * Sets when a member that is silent is suspected.
     *
     * @param interval from one heartbeat to the next, default 1 s
     * @param misses heartbeats that are missing then, default 3
     * @return this
     */
    public NodeConfigBuilder heartbeat(Duration interval, int misses) {
        heartbeat = interval;
        heartbeatMisses = misses;
        return this;
    }

    /** One of the two alone. */
    NodeConfigBuilder heartbeat(Duration interval) {
        return heartbeat(interval, heartbeatMisses);
    }

    /** One of the two alone. */
    NodeConfigBuilder heartbeatMisses(int misses) {
        return heartbeat(heartbeat, misses);
    }

    /**
     * Sets how much host memory holds blocks.
     *
     * @param bytes at least one block and one spare slot
     * @return this
     */
    public NodeConfigBuilder poolSize(long bytes) {
        poolSize = bytes;
        return this;
    }

    /**
     * Sets the largest block.
     *
     * @param bytes default 64 MiB
     * @return this
     */
    public NodeConfigBuilder blockSize(long bytes) {
        blockSize = bytes;
        return this;
    }

    /**
     * Sets how many slots are kept free for writers.
     *
     * @param slots default one of 16, 1 to 64
     * @return this
     */
    public NodeConfigBuilder spareSlots(int slots) {
        if (slots < 1) {
            throw NodeConfig.bad("pool.spareSlots", slots, "must be at least 1");
        }
        spareSlots = slots;
        return this;
    }

    /**
     * Sets how much may be fetched ahead; 1 GiB a second by default. Where blocks that were fetched ahead are evicted unused, it is less.
     *
     * @param bytesPerSecond positive
     * @return this
     */
    public NodeConfigBuilder prefetchBandwidth(long bytesPerSecond) {
        prefetchBandwidth = bytesPerSecond;
        return this;
    }

    /**
     * Sets how much of the pool copies of other nodes' blocks may take that the node makes by itself, because they are read often from here.
     *
     * @param bytes at most the pool's; 0, the default, = it makes none
     * @return this
     */
    public NodeConfigBuilder replicaBudget(long bytes) {
        replicaBudget = bytes;
        return this;
    }

    /**
     * Gives a tenant a share: others evict nothing of what it has up to that. What nobody needs may be had by anybody. None by default.
     *
     * @param salt of its {@link io.mooncake.core.block.PrefixChain}, not empty
     * @param share of memory and of the file, more than 0; at most 1 together
     * @return this
     */
    public NodeConfigBuilder share(String salt, double share) {
        shares.put(salt, share);
        return this;
    }

    /**
     * Lets blocks take as many bytes as they need instead of a slot each: for pools of blocks of many sizes. What is free is kept together
     * by moving blocks, in idle windows and when a long one needs it.
     *
     * @param bytes of a small block: the pool has size / bytes blocks at most; 0, the default, = a slot each
     * @return this
     */
    public NodeConfigBuilder leastBlock(long bytes) {
        leastBlock = bytes;
        return this;
    }

    /**
     * Sets whether blocks written here get checksums; off by default. A commit then takes a pass over the bytes longer.
     *
     * @param on a CRC32C for each MiB
     * @return this
     */
    public NodeConfigBuilder checksums(boolean on) {
        checksums = on;
        return this;
    }

    /**
     * Sets the eviction policy.
     *
     * @param name {@code adaptive}, the default: between recency and frequency; {@code lru} or {@code s3fifo}
     * @return this
     */
    public NodeConfigBuilder evictionPolicy(String name) {
        evictionPolicy = name;
        return this;
    }

    /**
     * Sets where the pool lies so that this host's other nodes read it without a network.
     *
     * @param directory an existing directory of a memory file system, or {@value NodeConfig#SHARED_MEMORY_AUTO} or
     *     {@value NodeConfig#SHARED_MEMORY_OFF}
     * @return this
     */
    public NodeConfigBuilder sharedMemory(String directory) {
        sharedMemory = directory;
        return this;
    }

    /**
     * Gives the node a slow tier: blocks that are evicted from memory go into a file first, are read from there, and are back after a restart.
     *
     * @param directory exists, and is this node's alone
     * @param bytes of the file, all of them taken at the first start
     * @return this
     */
    public NodeConfigBuilder fileTier(Path directory, long bytes) {
        fileDirectory = directory;
        fileSize = bytes;
        return this;
    }

    NodeConfigBuilder fileDirectory(Path directory) {
        fileDirectory = directory;
        return this;
    }

    NodeConfigBuilder fileSize(long bytes) {
        fileSize = bytes;
        return this;
    }

    /**
     * Sets whether the file is read and written past the page cache, where its file system lets it; on by default.
     *
     * @param on direct I/O
     * @return this
     */
    public NodeConfigBuilder fileDirect(boolean on) {
        fileDirect = on;
        return this;
    }

    /**
     * Sets how many requests the file's device has at a time, each by a thread.
     *
     * @param requests 1 to 64
     * @return this
     */
    public NodeConfigBuilder fileDepth(int requests) {
        fileDepth = requests;
        return this;
    }

    /**
     * Sets how long a block that is written to the file waits at most for others to become durable with.
     *
     * @param delay positive
     * @return this
     */
    public NodeConfigBuilder fileSyncDelay(Duration delay) {
        fileSyncDelay = delay;
        return this;
    }

    /**
     * Sets where the TCP engine listens.
     *
     * @param endpoint a loopback address, any with a cluster secret; port 0 = any free one
     * @return this
     */
    public NodeConfigBuilder bind(Endpoint endpoint) {
        bind = endpoint;
        return this;
    }

    /**
     * Sets what peers are told to dial.
     *
     * @param endpoint no wildcard; port 0 = the bound one
     * @return this
     */
    public NodeConfigBuilder advertise(Endpoint endpoint) {
        advertise = endpoint;
        return this;
    }

    /**
     * Sets over how many connections large reads from one peer are spread.
     *
     * @param lanes 1 to 16; default 0 = one to this host, a few to others
     * @return this
     */
    public NodeConfigBuilder tcpLanes(int lanes) {
        tcpLanes = lanes;
        return this;
    }

    /**
     * Sets the name of the host that the node runs on.
     *
     * @param name the same for all nodes of the host; default found out
     * @return this
     */
    public NodeConfigBuilder host(String name) {
        host = name;
        return this;
    }

    /**
     * Sets the name of the host's rack.
     *
     * @param name the same for all nodes of the rack; default not known
     * @return this
     */
    public NodeConfigBuilder rack(String name) {
        rack = name;
        return this;
    }

    /**
     * Sets the name of the rack's zone.
     *
     * @param name the same for all nodes of the zone; default not known
     * @return this
     */
    public NodeConfigBuilder zone(String name) {
        zone = name;
        return this;
    }

    /**
     * Sets what a transfer has by default.
     *
     * @param timeout positive
     * @return this
     */
    public NodeConfigBuilder transferTimeout(Duration timeout) {
        transferTimeout = timeout;
        return this;
    }

    /**
     * Sets how long an allocation waits for a free slot.
     *
     * @param timeout positive
     * @return this
     */
    public NodeConfigBuilder allocateTimeout(Duration timeout) {
        allocateTimeout = timeout;
        return this;
    }

    /**
     * Sets how long an id is its writer's alone.
     *
     * @param ttl positive
     * @return this
     */
    public NodeConfigBuilder writerTtl(Duration ttl) {
        writerTtl = ttl;
        return this;
    }

    /**
     * Sets how long closing waits for pins.
     *
     * @param timeout positive
     * @return this
     */
    public NodeConfigBuilder closeTimeout(Duration timeout) {
        closeTimeout = timeout;
        return this;
    }

    /**
     * Sets on how many threads the agents run.
     *
     * @param mode default SHARED
     * @return this
     */
    public NodeConfigBuilder threading(ThreadingMode mode) {
        threading = mode;
        return this;
    }

    /**
     * Sets what agents do when there is nothing to do.
     *
     * @param mode default PARK
     * @return this
     */
    public NodeConfigBuilder idle(IdleMode mode) {
        idle = mode;
        return this;
    }

    /**
     * Sets the cluster's registry.
     *
     * @param registry shared by the nodes of a process; default one of its own
     * @return this
     */
    public NodeConfigBuilder registry(Registry registry) {
        this.registry = registry;
        return this;
    }

    /**
     * Sets who decides where to read from.
     *
     * @param scheduler default {@link Scheduler#cheapestHolder()}
     * @return this
     */
    public NodeConfigBuilder scheduler(Scheduler scheduler) {
        this.scheduler = scheduler;
        return this;
    }

    /**
     * Sets where the pool's memory comes from.
     *
     * @param source default by {@link #sharedMemory}
     * @return this
     */
    public NodeConfigBuilder memory(MemorySource source) {
        memory = source;
        return this;
    }

    /**
     * Gives the node a tier above its host memory: blocks go there by {@code promote}, or are written there by {@link Placement#VRAM}, and go down
     * into host memory when room is needed. An engine that copies between the two is to be there, too, by {@link #addEngine}.
     *
     * @param pool opens a pool of tier VRAM with at least two slots, one of them spare, none longer than {@code block.size}; called once, at
     *     start; the node closes the pool
     * @return this
     */
    public NodeConfigBuilder vram(Supplier<? extends BlockPool> pool) {
        vram = pool;
        return this;
    }

    /**
     * Sets who takes control messages.
     *
     * @param handler called by the callback executor
     * @return this
     */
    public NodeConfigBuilder messages(MessageHandler handler) {
        messages = handler;
        return this;
    }

    /**
     * Sets who runs callbacks.
     *
     * @param executor what it rejects, a thread of the node's runs
     * @return this
     */
    public NodeConfigBuilder callbackExecutor(Executor executor) {
        callbackExecutor = executor;
        return this;
    }

    /**
     * Sets the node's clock.
     *
     * @param clock nanoseconds from an arbitrary start, never falling
     * @return this
     */
    public NodeConfigBuilder nanoClock(LongSupplier clock) {
        nanoClock = clock;
        return this;
    }

    /**
     * Sets where the incarnation comes from.
     *
     * @param clock the wall clock
     * @param bits random bits
     * @return this
     */
    public NodeConfigBuilder incarnationFrom(InstantSource clock, RandomGenerator bits) {
        wallClock = clock;
        random = bits;
        return this;
    }

    /**
     * Sets who makes the agents' threads.
     *
     * @param factory default daemon platform threads
     * @return this
     */
    public NodeConfigBuilder threads(ThreadFactory factory) {
        threads = factory;
        return this;
    }

    /**
     * Replaces the engines that a node has by default, for engines of one's own.
     *
     * @param factory makes them in the order of preference, at least one; called once, at start. Where threads are shared the
     *     thread parks in the last one's poller, hence the others' commands are to wake that
     * @return this
     */
    public NodeConfigBuilder engines(Function<EngineContext, List<TransferEngine>> factory) {
        engines = factory;
        return this;
    }

    /**
     * Adds an engine to those that a node has by default: it stands behind those of this process and this host, and before TCP.
     *
     * @param factory makes it, or null where it cannot be had and the node is to do without; called once, at start. Where threads are shared
     *     its commands are to call {@link EngineContext#wakeup}
     * @return this
     */
    public NodeConfigBuilder addEngine(Function<EngineContext, @Nullable TransferEngine> factory) {
        addedEngines.add(factory);
        return this;
    }

    /**
     * Checks everything.
     *
     * @return the configuration
     * @throws MooncakeException CONFIG_ERROR naming setting, value and remedy
     */
    public NodeConfig build() {
        return new NodeConfig(name,
                new Cluster(cluster, clusterSecret, membership()),
                new Pool(poolSize, blockSize, leastBlock, spareSlots, checksums, evictionPolicy, prefetchBandwidth,
                        replicaBudget, shares, sharedMemory),
                fileDirectory == null
                        ? null
                        : new FileTier(fileDirectory, fileSize, fileDirect, fileDepth, fileSyncDelay),
                new Tcp(bind, advertise, tcpLanes),
                new Topology(host, rack, zone),
                new Timeouts(transferTimeout, allocateTimeout, writerTtl, closeTimeout),
                new Agents(threading, idle),
                new Environment(registry == null ? new LocalRegistry() : registry, scheduler, memory, vram,
                        messages, callbackExecutor, nanoClock, wallClock, random, threads, engines,
                        addedEngines));
    }

    private @Nullable Membership membership() {
        if (discovery == null) {
            if (clusterBind != null) {
                throw NodeConfig.bad("cluster.bind", clusterBind,
                        "does nothing without cluster.discovery: set that too");
            }
            return null;
        }
        if (registry != null) {
            throw NodeConfig.bad("cluster.discovery", discovery, "and a registry of your own exclude each other");
        }
        Endpoint where = clusterBind == null ? new Endpoint(bind.host(), Discovery.DEFAULT_PORT) : clusterBind;
        return new Membership(discovery, where, heartbeat, heartbeatMisses);
    }
}
