package io.mooncake.core;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.registry.Discovery;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;

/** The settings that have a name and a text form: which there are, and how each is read. */
final class TextSettings {
    private static final Map<String, BiConsumer<NodeConfigBuilder, String>> ALL = new TreeMap<>();

    static {
        ALL.put("cluster", NodeConfigBuilder::cluster);
        ALL.put("cluster.secret", (b, v) -> b.clusterSecret(ClusterSecret.of(v)));
        ALL.put("cluster.secretFile", (b, v) -> b.clusterSecret(ClusterSecret.fromFile(path("cluster.secretFile", v))));
        ALL.put("cluster.discovery", (b, v) -> b.discovery(Discovery.parse(v)));
        ALL.put("cluster.bind", (b, v) -> b.clusterBind(Endpoint.parse(v, Discovery.DEFAULT_PORT)));
        ALL.put("cluster.heartbeat", (b, v) -> b.heartbeat(duration("cluster.heartbeat", v)));
        ALL.put("cluster.heartbeatMisses", (b, v) -> b.heartbeatMisses(integer("cluster.heartbeatMisses", v)));
        ALL.put("pool.size", (b, v) -> b.poolSize(ByteSize.parse("pool.size", v)));
        ALL.put("block.size", (b, v) -> b.blockSize(ByteSize.parse("block.size", v)));
        ALL.put("pool.leastBlock", (b, v) -> b.leastBlock(ByteSize.parse("pool.leastBlock", v)));
        ALL.put("pool.spareSlots", (b, v) -> b.spareSlots(integer("pool.spareSlots", v)));
        ALL.put("pool.checksums", (b, v) -> b.checksums(bool("pool.checksums", v)));
        ALL.put("eviction.policy", NodeConfigBuilder::evictionPolicy);
        ALL.put("prefetch.bandwidth", (b, v) -> b.prefetchBandwidth(ByteSize.parse("prefetch.bandwidth", v)));
        ALL.put("replica.budget", (b, v) -> b.replicaBudget(ByteSize.parse("replica.budget", v)));
        ALL.put("tenant.shares", TextSettings::shares);
        ALL.put("sharedMemory", (b, v) -> b.sharedMemory(v.startsWith("/") ? v : v.toLowerCase(Locale.ROOT)));
        ALL.put("file.directory", (b, v) -> b.fileDirectory(path("file.directory", v)));
        ALL.put("file.size", (b, v) -> b.fileSize(ByteSize.parse("file.size", v)));
        ALL.put("file.direct", (b, v) -> b.fileDirect(bool("file.direct", v)));
        ALL.put("file.depth", (b, v) -> b.fileDepth(integer("file.depth", v)));
        ALL.put("file.syncDelay", (b, v) -> b.fileSyncDelay(duration("file.syncDelay", v)));
        ALL.put("tcp.bind", (b, v) -> b.bind(Endpoint.parse(v, 0)));
        ALL.put("tcp.advertise", (b, v) -> b.advertise(Endpoint.parse(v, 0)));
        ALL.put("tcp.lanes", (b, v) -> b.tcpLanes(integer("tcp.lanes", v)));
        ALL.put("topology.host", NodeConfigBuilder::host);
        ALL.put("topology.rack", NodeConfigBuilder::rack);
        ALL.put("topology.zone", NodeConfigBuilder::zone);
        ALL.put("transfer.timeout", (b, v) -> b.transferTimeout(duration("transfer.timeout", v)));
        ALL.put("allocate.timeout", (b, v) -> b.allocateTimeout(duration("allocate.timeout", v)));
        ALL.put("writer.ttl", (b, v) -> b.writerTtl(duration("writer.ttl", v)));
        ALL.put("close.timeout", (b, v) -> b.closeTimeout(duration("close.timeout", v)));
        ALL.put("threading", (b, v) -> b.threading(constant("threading", ThreadingMode.class, v)));
        ALL.put("idle", (b, v) -> b.idle(constant("idle", IdleMode.class, v)));
    }

    private TextSettings() {}

    /** Reads a setting into a builder; CONFIG_ERROR names key and value, but never a secret. */
    static void apply(NodeConfigBuilder builder, String key, String value) {
        BiConsumer<NodeConfigBuilder, String> setting = ALL.get(key);
        if (setting == null) {
            // Whoever misspells a secret's key must not find the secret in a log.
            boolean secret = key.toLowerCase(Locale.ROOT).contains("secret");
            throw NodeConfig.bad(key, secret ? "(not shown)" : value,
                    "is no setting; there are " + String.join(", ", ALL.keySet()));
        }
        try {
            setting.accept(builder, value.strip());
        } catch (MooncakeException e) {
            throw e.getMessage().startsWith(key)
                    ? e
                    : NodeConfig.bad(key, value, "cannot be used: " + e.getMessage());
        }
    }

    private static void shares(NodeConfigBuilder builder, String text) {
        for (String one : text.split(",", -1)) {
            int colon = one.lastIndexOf(':');
            try {
                builder.share(one.substring(0, Math.max(0, colon)).strip(),
                        Double.parseDouble(one.substring(colon + 1)));
            } catch (NumberFormatException e) {
                throw NodeConfig.bad("tenant.shares", text, "is no list of shares: write for example a:0.5,b:0.25");
            }
        }
    }

    private static boolean bool(String key, String value) {
        return switch (value.toLowerCase(Locale.ROOT)) {
            case "true", "on" -> true;
            case "false", "off" -> false;
            default -> throw NodeConfig.bad(key, value, "is neither on nor off");
        };
    }

    private static Path path(String key, String value) {
        if (value.isEmpty() || value.indexOf('\0') >= 0) {
            throw NodeConfig.bad(key, value, "is no file's name");
        }
        return Path.of(value);
    }

    private static int integer(String key, String value) {
        try {
            return Integer.parseInt(value);
        } catch (NumberFormatException e) {
            throw NodeConfig.bad(key, value, "is no whole number");
        }
    }

    private static Duration duration(String key, String value) {
        if (!value.matches("\\d{1,12}(ms|s|m)")) {
            throw NodeConfig.bad(key, value, "is no time: write for example 250ms, 5s, 2m");
        }
        long number = Long.parseLong(value.replaceAll("\\D", ""));
        if (number == 0) {
            throw NodeConfig.bad(key, value, "must be positive");
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
        throw NodeConfig.bad(key, value,
                "is none of " + Arrays.toString(type.getEnumConstants()).toLowerCase(Locale.ROOT));
    }
}
