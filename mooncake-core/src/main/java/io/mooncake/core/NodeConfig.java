package io.mooncake.core;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.schedule.Scheduler;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.MessageHandler;
import io.mooncake.core.transfer.TransferEngine;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * How one node is set up: validated once, immutable, printable. Every setting has a default but the name.
 *
 * @param name the node's name, alone of that name in the cluster
 * @param cluster the cluster's name; nodes of another are refused
 * @param clusterSecret what every node of the cluster must prove to know; null = none, then only loopback is listened on
 * @param poolSize bytes of host memory for blocks
 * @param blockSize bytes of the largest block; poolSize / blockSize slots are cut
 * @param spareSlots slots that are kept free for writers by evicting ahead; 0 = one of 16, 1 to 64
 * @param checksums whether blocks written here get a checksum for each MiB, which whoever reads them here or by TCP verifies (readers that map the pool verify none)
 * @param evictionPolicy name of the policy
 * @param sharedMemory where the pool lies so that this host's other nodes read it without a network: an absolute path of a directory of a
 *     memory file system, {@value #SHARED_MEMORY_AUTO} = {@code /dev/shm} where at most half of what is free there is needed, else the
 *     process's own memory, or {@value #SHARED_MEMORY_OFF}
 * @param bind where the TCP engine listens; port 0 = any free one. Loopback only where there is no cluster secret
 * @param advertise what peers are told to dial; null = what was bound
 * @param tcpLanes connections to a peer that large reads are spread over; 0 = one to this host, a few to others
 * @param transferTimeout default of a transfer
 * @param allocateTimeout how long an allocation waits for a free slot
 * @param writerTtl how long an id is its writer's alone
 * @param closeTimeout how long closing waits for pins
 * @param threading on how many threads the agents run
 * @param idle what they do when there is nothing to do
 * @param environment clocks, threads and the other nodes
 */
public record NodeConfig(String name, String cluster, @Nullable ClusterSecret clusterSecret, long poolSize,
        long blockSize, int spareSlots, boolean checksums, String evictionPolicy, String sharedMemory, Endpoint bind,
        @Nullable Endpoint advertise, int tcpLanes, Duration transferTimeout, Duration allocateTimeout,
        Duration writerTtl, Duration closeTimeout, ThreadingMode threading, IdleMode idle, Environment environment) {

    /**
     * What is injected rather than set.
     *
     * @param registry the cluster
     * @param scheduler decides where to read from
     * @param memory where the pool's memory comes from; null = by sharedMemory
     * @param messages takes control messages; called by the callback executor
     * @param callbackExecutor runs callbacks; null = one daemon thread of the node's (INVOKER: inside doWork)
     * @param nanoClock nanoseconds from an arbitrary start
     * @param wallClock gives the incarnation
     * @param random gives the incarnation
     * @param threads makes the agents' threads
     * @param engines makes the node's engines, in the order of preference; null = local, shared memory
     *     where it is not off, and TCP
     */
    public record Environment(Registry registry, Scheduler scheduler, @Nullable MemorySource memory,
            MessageHandler messages,
            @Nullable Executor callbackExecutor, LongSupplier nanoClock, InstantSource wallClock,
            RandomGenerator random, ThreadFactory threads,
            @Nullable Function<EngineContext, List<TransferEngine>> engines) {}

    /** {@link #sharedMemory}: shared where there is room. */
    public static final String SHARED_MEMORY_AUTO = "auto";
    /** {@link #sharedMemory}: the pool is the process's own, and no other's is mapped. */
    public static final String SHARED_MEMORY_OFF = "off";

    private static final long SMALL_BLOCK = 1 << 20;

    /**
     * Checks everything.
     *
     * @throws MooncakeException CONFIG_ERROR naming setting, value and remedy
     */
    public NodeConfig {
        for (Object setting : new Object[]{name, cluster, evictionPolicy, sharedMemory, bind, threading, idle,
                environment}) {
            Objects.requireNonNull(setting, "a setting of node " + name + " is null");
        }
        checkNames(name, cluster);
        positive("block.size", blockSize);
        positive("pool.size", poolSize);
        long slots = poolSize / blockSize;
        if (slots < 2 || slots > Integer.MAX_VALUE - 8) {
            throw bad("pool.size", ByteSize.format(poolSize), "has room for " + slots + " of "
                    + ByteSize.format(blockSize)
                    + " (block.size): at least 2 (one of them spare) and at most 2^31 are needed");
        }
        spareSlots = spareSlots == 0 ? Math.clamp(slots / 16, 1, 64) : spareSlots;
        if (spareSlots < 1 || spareSlots >= slots) {
            throw bad("pool.spareSlots", spareSlots,
                    "must be at least 1 and less than the " + slots + " slots of the pool");
        }
        checkSharedMemory(sharedMemory, environment);
        positive("transfer.timeout", transferTimeout);
        positive("allocate.timeout", allocateTimeout);
        positive("writer.ttl", writerTtl);
        positive("close.timeout", closeTimeout);
    }

    /**
     * Slots that are cut from the pool.
     *
     * @return poolSize / blockSize
     */
    public int slots() {
        return (int) (poolSize / blockSize);
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

    private static void checkNames(String name, String cluster) {
        try {
            NodeId _ = new NodeId(name, 1);
        } catch (MooncakeException e) {
            throw new MooncakeException(Kind.CONFIG_ERROR, e.getMessage(), e);
        }
        if (cluster.isBlank() || cluster.length() > 64) {
            throw bad("cluster", cluster, "must be 1 to 64 characters");
        }
    }

    private static void checkSharedMemory(String value, Environment environment) {
        if (value.equals(SHARED_MEMORY_AUTO) || value.equals(SHARED_MEMORY_OFF)) {
            return;
        }
        if (!value.startsWith("/") || value.indexOf('\0') >= 0) {
            throw bad("sharedMemory", value, "must be the absolute path of a directory, "
                    + SHARED_MEMORY_AUTO + " or " + SHARED_MEMORY_OFF);
        }
        if (environment.memory() != null || environment.engines() != null) {
            throw bad("sharedMemory", value,
                    "and a memory source for the pool, or engines, of your own exclude each other");
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

    private static MooncakeException bad(String key, Object value, String why) {
        return new MooncakeException(Kind.CONFIG_ERROR, key + " = '" + value + "' " + why);
    }

    /**
     * Starts from the defaults.
     *
     * @param name the node's name
     * @return a builder
     */
    public static Builder builder(String name) {
        return new Builder(name);
    }

    /** Collects settings; {@link #build()} checks them. Not thread-safe. */
    public static final class Builder {
        private static final Map<String, BiConsumer<Builder, String>> SETTINGS = new TreeMap<>();

        static {
            SETTINGS.put("cluster", Builder::cluster);
            SETTINGS.put("cluster.secret", (b, v) -> b.clusterSecret(ClusterSecret.of(v)));
            SETTINGS.put("cluster.secretFile",
                    (b, v) -> b.clusterSecret(ClusterSecret.fromFile(path("cluster.secretFile", v))));
            SETTINGS.put("pool.size", (b, v) -> b.poolSize(ByteSize.parse("pool.size", v)));
            SETTINGS.put("block.size", (b, v) -> b.blockSize(ByteSize.parse("block.size", v)));
            SETTINGS.put("pool.spareSlots", (b, v) -> b.spareSlots(integer("pool.spareSlots", v)));
            SETTINGS.put("pool.checksums", (b, v) -> b.checksums(bool("pool.checksums", v)));
            SETTINGS.put("eviction.policy", Builder::evictionPolicy);
            SETTINGS.put("sharedMemory", (b, v) -> b.sharedMemory(v.startsWith("/") ? v : v.toLowerCase(Locale.ROOT)));
            SETTINGS.put("tcp.bind", (b, v) -> b.bind(Endpoint.parse(v, 0)));
            SETTINGS.put("tcp.advertise", (b, v) -> b.advertise(Endpoint.parse(v, 0)));
            SETTINGS.put("tcp.lanes", (b, v) -> b.tcpLanes(integer("tcp.lanes", v)));
            SETTINGS.put("transfer.timeout", (b, v) -> b.transferTimeout(duration("transfer.timeout", v)));
            SETTINGS.put("allocate.timeout", (b, v) -> b.allocateTimeout(duration("allocate.timeout", v)));
            SETTINGS.put("writer.ttl", (b, v) -> b.writerTtl(duration("writer.ttl", v)));
            SETTINGS.put("close.timeout", (b, v) -> b.closeTimeout(duration("close.timeout", v)));
            SETTINGS.put("threading", (b, v) -> b.threading(constant("threading", ThreadingMode.class, v)));
            SETTINGS.put("idle", (b, v) -> b.idle(constant("idle", IdleMode.class, v)));
        }

        private final String name;
        private String cluster = "mooncake";
        private @Nullable ClusterSecret clusterSecret;
        private long poolSize = 1L << 30;
        private long blockSize = 64L << 20;
        private int spareSlots;
        private boolean checksums;
        private String evictionPolicy = "lru";
        private String sharedMemory = SHARED_MEMORY_AUTO;
        private Endpoint bind = new Endpoint("127.0.0.1", 0);
        private @Nullable Endpoint advertise;
        private int tcpLanes;
        private Duration transferTimeout = Duration.ofSeconds(30);
        private Duration allocateTimeout = Duration.ofSeconds(5);
        private Duration writerTtl = Duration.ofSeconds(30);
        private Duration closeTimeout = Duration.ofSeconds(10);
        private ThreadingMode threading = ThreadingMode.SHARED;
        private IdleMode idle = IdleMode.PARK;
        private @Nullable Registry registry;
        private Scheduler scheduler = Scheduler.cheapestHolder();
        private @Nullable MemorySource memory;
        private MessageHandler messages = (from, message) -> {};
        private @Nullable Executor callbackExecutor;
        private LongSupplier nanoClock = System::nanoTime;
        private InstantSource wallClock = InstantSource.system();
        private RandomGenerator random = RandomGenerator.getDefault();
        private ThreadFactory threads = Thread.ofPlatform().daemon().factory();
        private @Nullable Function<EngineContext, List<TransferEngine>> engines;

        Builder(String name) {
            this.name = name;
        }

        /**
         * Sets one setting by its name, as from a properties file. The names are those of the errors: {@code pool.size},
         * {@code block.size}, {@code pool.spareSlots}, {@code pool.checksums}, {@code eviction.policy}, {@code sharedMemory},
         * {@code tcp.bind}, {@code tcp.advertise}, {@code tcp.lanes},
         * {@code transfer.timeout}, {@code allocate.timeout}, {@code writer.ttl}, {@code close.timeout},
         * {@code threading}, {@code idle}, {@code cluster}, {@code cluster.secret}, {@code cluster.secretFile}. Sizes as {@link ByteSize} reads them, times as {@code 250ms}, {@code 5s},
         * {@code 2m}.
         *
         * @param key the setting
         * @param value its text
         * @return this
         * @throws MooncakeException CONFIG_ERROR naming key and value
         */
        public Builder set(String key, String value) {
            BiConsumer<Builder, String> setting = SETTINGS.get(key);
            if (setting == null) {
                // Whoever misspells a secret's key must not find the secret in a log.
                boolean secret = key.toLowerCase(Locale.ROOT).contains("secret");
                throw bad(key, secret ? "(not shown)" : value,
                        "is no setting; there are " + String.join(", ", SETTINGS.keySet()));
            }
            try {
                setting.accept(this, value.strip());
            } catch (MooncakeException e) {
                throw e.getMessage().startsWith(key) ? e : bad(key, value, "cannot be used: " + e.getMessage());
            }
            return this;
        }

        /**
         * Sets the cluster's name.
         *
         * @param cluster nodes of another are refused
         * @return this
         */
        public Builder cluster(String cluster) {
            this.cluster = cluster;
            return this;
        }

        /**
         * Sets what the nodes of the cluster prove to each other to know; with it any address may be bound.
         *
         * @param secret the same on every node
         * @return this
         */
        public Builder clusterSecret(ClusterSecret secret) {
            clusterSecret = secret;
            return this;
        }

        /**
         * Sets how much host memory holds blocks.
         *
         * @param bytes at least one block and one spare slot
         * @return this
         */
        public Builder poolSize(long bytes) {
            poolSize = bytes;
            return this;
        }

        /**
         * Sets the largest block.
         *
         * @param bytes default 64 MiB
         * @return this
         */
        public Builder blockSize(long bytes) {
            blockSize = bytes;
            return this;
        }

        /**
         * Sets how many slots are kept free for writers.
         *
         * @param slots default one of 16, 1 to 64
         * @return this
         */
        public Builder spareSlots(int slots) {
            if (slots < 1) {
                throw bad("pool.spareSlots", slots, "must be at least 1");
            }
            spareSlots = slots;
            return this;
        }

        /**
         * Sets whether blocks written here get checksums; off by default. A commit then takes a pass over the bytes longer.
         *
         * @param on a CRC32C for each MiB
         * @return this
         */
        public Builder checksums(boolean on) {
            checksums = on;
            return this;
        }

        /**
         * Sets the eviction policy.
         *
         * @param name {@code lru}
         * @return this
         */
        public Builder evictionPolicy(String name) {
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
        public Builder sharedMemory(String directory) {
            sharedMemory = directory;
            return this;
        }

        /**
         * Sets where the TCP engine listens.
         *
         * @param endpoint a loopback address, any with a cluster secret; port 0 = any free one
         * @return this
         */
        public Builder bind(Endpoint endpoint) {
            bind = endpoint;
            return this;
        }

        /**
         * Sets what peers are told to dial.
         *
         * @param endpoint no wildcard; port 0 = the bound one
         * @return this
         */
        public Builder advertise(Endpoint endpoint) {
            advertise = endpoint;
            return this;
        }

        /**
         * Sets over how many connections large reads from one peer are spread.
         *
         * @param lanes 1 to 16; default 0 = one to this host, a few to others
         * @return this
         */
        public Builder tcpLanes(int lanes) {
            tcpLanes = lanes;
            return this;
        }

        /**
         * Sets what a transfer has by default.
         *
         * @param timeout positive
         * @return this
         */
        public Builder transferTimeout(Duration timeout) {
            transferTimeout = timeout;
            return this;
        }

        /**
         * Sets how long an allocation waits for a free slot.
         *
         * @param timeout positive
         * @return this
         */
        public Builder allocateTimeout(Duration timeout) {
            allocateTimeout = timeout;
            return this;
        }

        /**
         * Sets how long an id is its writer's alone.
         *
         * @param ttl positive
         * @return this
         */
        public Builder writerTtl(Duration ttl) {
            writerTtl = ttl;
            return this;
        }

        /**
         * Sets how long closing waits for pins.
         *
         * @param timeout positive
         * @return this
         */
        public Builder closeTimeout(Duration timeout) {
            closeTimeout = timeout;
            return this;
        }

        /**
         * Sets on how many threads the agents run.
         *
         * @param mode default SHARED
         * @return this
         */
        public Builder threading(ThreadingMode mode) {
            threading = mode;
            return this;
        }

        /**
         * Sets what agents do when there is nothing to do.
         *
         * @param mode default PARK
         * @return this
         */
        public Builder idle(IdleMode mode) {
            idle = mode;
            return this;
        }

        /**
         * Sets the cluster's registry.
         *
         * @param registry shared by the nodes of a process; default one of its own
         * @return this
         */
        public Builder registry(Registry registry) {
            this.registry = registry;
            return this;
        }

        /**
         * Sets who decides where to read from.
         *
         * @param scheduler default {@link Scheduler#cheapestHolder()}
         * @return this
         */
        public Builder scheduler(Scheduler scheduler) {
            this.scheduler = scheduler;
            return this;
        }

        /**
         * Sets where the pool's memory comes from.
         *
         * @param source default by {@link #sharedMemory}
         * @return this
         */
        public Builder memory(MemorySource source) {
            memory = source;
            return this;
        }

        /**
         * Sets who takes control messages.
         *
         * @param handler called by the callback executor
         * @return this
         */
        public Builder messages(MessageHandler handler) {
            messages = handler;
            return this;
        }

        /**
         * Sets who runs callbacks.
         *
         * @param executor what it rejects, a thread of the node's runs
         * @return this
         */
        public Builder callbackExecutor(Executor executor) {
            callbackExecutor = executor;
            return this;
        }

        /**
         * Sets the node's clock.
         *
         * @param clock nanoseconds from an arbitrary start, never falling
         * @return this
         */
        public Builder nanoClock(LongSupplier clock) {
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
        public Builder incarnationFrom(InstantSource clock, RandomGenerator bits) {
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
        public Builder threads(ThreadFactory factory) {
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
        public Builder engines(Function<EngineContext, List<TransferEngine>> factory) {
            engines = factory;
            return this;
        }

        /**
         * Checks everything.
         *
         * @return the configuration
         * @throws MooncakeException CONFIG_ERROR naming setting, value and remedy
         */
        public NodeConfig build() {
            Environment environment = new Environment(registry == null ? new LocalRegistry() : registry, scheduler,
                    memory,
                    messages, callbackExecutor, nanoClock, wallClock, random, threads, engines);
            return new NodeConfig(name, cluster, clusterSecret, poolSize, blockSize, spareSlots, checksums,
                    evictionPolicy, sharedMemory, bind, advertise, tcpLanes,
                    transferTimeout, allocateTimeout, writerTtl, closeTimeout, threading, idle, environment);
        }

        private static boolean bool(String key, String value) {
            return switch (value.toLowerCase(Locale.ROOT)) {
                case "true", "on" -> true;
                case "false", "off" -> false;
                default -> throw bad(key, value, "is neither on nor off");
            };
        }

        private static Path path(String key, String value) {
            if (value.isEmpty() || value.indexOf('\0') >= 0) {
                throw bad(key, value, "is no file's name");
            }
            return Path.of(value);
        }

        private static int integer(String key, String value) {
            try {
                return Integer.parseInt(value);
            } catch (NumberFormatException e) {
                throw bad(key, value, "is no whole number");
            }
        }

        private static Duration duration(String key, String value) {
            if (!value.matches("\\d{1,12}(ms|s|m)")) {
                throw bad(key, value, "is no time: write for example 250ms, 5s, 2m");
            }
            long number = Long.parseLong(value.replaceAll("\\D", ""));
            if (number == 0) {
                throw bad(key, value, "must be positive");
            }
            return value.endsWith("ms")
                    ? Duration.ofMillis(number)
                    : value.endsWith("s") ? Duration.ofSeconds(number) : Duration.ofMinutes(number);
        }

        private static <E extends Enum<E>> E constant(String key, Class<E> type, String value) {
            for (E constant : type.getEnumConstants()) {
                if (constant.name().equalsIgnoreCase(value)) {
                    return constant;
                }
            }
            throw bad(key, value, "is none of " + Arrays.toString(type.getEnumConstants()).toLowerCase(Locale.ROOT));
        }
    }
}
