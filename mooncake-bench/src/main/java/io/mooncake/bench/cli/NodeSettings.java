package io.mooncake.bench.cli;

import io.mooncake.core.IdleMode;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.rdma.Rdma;
import io.mooncake.rdma.RdmaConfig;
import io.mooncake.rdma.RdmaTransferEngine;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * How the nodes of a measurement are set up, on the pulling and on the serving side. Immutable.
 *
 * @param threading of the nodes; INVOKER on the pulling side only
 * @param idle of the nodes
 * @param more any other settings, by their names
 */
public record NodeSettings(ThreadingMode threading, IdleMode idle, Map<String, String> more) {
    /** The engine that a node has only when it is asked for; as a setting: the device that it uses, or {@link #ANY_DEVICE}. */
    static final String RDMA = "rdma";
    private static final String ANY_DEVICE = "any";
    private static final String RDMA_LANES = "rdma.lanes";
    private static final String TCP_LANES = "tcp.lanes";
    private static final List<String> ENGINES = List.of("tcp", "shm", RDMA);
    private static final int MOST_RDMA_LANES = 64;

    /** Copies the settings. */
    public NodeSettings {
        more = Map.copyOf(more);
    }

    /** With one more setting. */
    NodeSettings with(String key, String value) {
        Map<String, String> all = new LinkedHashMap<>(more);
        all.put(key, value);
        return new NodeSettings(threading, idle, all);
    }

    /** With a number of connections to each peer, by an engine. */
    NodeSettings withLanes(String engine, int lanes) {
        return with(engine.equals(RDMA) ? RDMA_LANES : TCP_LANES, Integer.toString(lanes));
    }

    /** The devices that RDMA may use; none: any. */
    List<String> rdmaDevices() {
        String device = more.getOrDefault(RDMA, ANY_DEVICE);
        return device.equals(ANY_DEVICE) ? List.of() : List.of(device);
    }

    /**
     * For one engine: pools are shared where that is what is measured, and nobody looks for readers where it is not.
     *
     * @throws BadInputException when there is none of that name
     * @throws MooncakeException UNSUPPORTED when this machine has nothing for it: before anything is filled or started
     */
    NodeSettings forEngine(String engine) {
        if (!ENGINES.contains(engine)) {
            throw new BadInputException("--engine = " + engine + " is none of " + String.join(", ", ENGINES));
        }
        Throwable missing = engine.equals(RDMA) ? Rdma.unavailabilityCause() : null;
        if (missing != null) {
            throw new MooncakeException(Kind.UNSUPPORTED, "--engine = " + engine + ": " + missing.getMessage(),
                    missing);
        }
        NodeSettings settings = engine.equals(RDMA) && !more.containsKey(RDMA) ? with(RDMA, ANY_DEVICE) : this;
        return engine.equals("shm") || more.containsKey("sharedMemory")
                ? settings
                : settings.with("sharedMemory", "off");
    }

    /** For a process that serves: its node has a thread of its own in any case. */
    NodeSettings serving() {
        return threading == ThreadingMode.INVOKER ? new NodeSettings(ThreadingMode.SHARED, idle, more) : this;
    }

    /** For the command line of another process: {@code key=value} each. */
    List<String> toArgs() {
        List<String> args = new ArrayList<>(List.of("threading=" + threading, "idle=" + idle));
        more.forEach((key, value) -> args.add(key + "=" + value));
        return args;
    }

    /** What {@link #toArgs} wrote. */
    static NodeSettings ofArgs(List<String> args) {
        Map<String, String> all = byKey(args);
        ThreadingMode threading = ThreadingMode.valueOf(String.valueOf(all.remove("threading")));
        return new NodeSettings(threading, IdleMode.valueOf(String.valueOf(all.remove("idle"))), all);
    }

    /** {@code key=value} each, in their order. */
    static Map<String, String> byKey(List<String> args) {
        Map<String, String> all = new LinkedHashMap<>();
        for (String arg : args) {
            int at = arg.indexOf('=');
            all.put(arg.substring(0, at), arg.substring(at + 1));
        }
        return all;
    }

    /** What the JVM of such a node needs, so that it does not warn of what the settings ask for. */
    List<String> jvmFlags() {
        return more.containsKey(RDMA) ? List.of("--enable-native-access=ALL-UNNAMED") : List.of();
    }

    /** Sets everything on a node to be. */
    NodeConfigBuilder applyTo(NodeConfigBuilder builder) {
        RdmaConfig rdma = rdma();
        more.forEach((key, value) -> {
            if (key.equals(RDMA)) {
                builder.addEngine(context -> RdmaTransferEngine.create(context, rdma));
            } else if (key.startsWith(RDMA + ".")) {
                checkRdma(key);
            } else {
                builder.set(key, value);
            }
        });
        return builder.threading(threading).idle(idle);
    }

    private static void checkRdma(String key) {
        if (!key.equals(RDMA_LANES)) {
            throw new BadInputException("--set " + key + ": of RDMA there are " + RDMA + ", a device or " + ANY_DEVICE
                    + ", and " + RDMA_LANES + "; everything else of it a program sets (RdmaConfig)");
        }
    }

    private int rdmaLanes(int otherwise) {
        String lanes = more.getOrDefault(RDMA_LANES, Integer.toString(otherwise));
        if (!lanes.matches("[0-9]{1,3}")) {
            throw new BadInputException("--set " + RDMA_LANES + " = '" + lanes + "' must be a number, 1 to "
                    + MOST_RDMA_LANES);
        }
        ReplayOptions.within("--set " + RDMA_LANES, Integer.parseInt(lanes), 1, MOST_RDMA_LANES);
        return Integer.parseInt(lanes);
    }

    private RdmaConfig rdma() {
        RdmaConfig.Window window = RdmaConfig.defaults().window();
        int lanes = rdmaLanes(window.lanes());
        return RdmaConfig.defaults()
                .withRegistrar(threading == ThreadingMode.INVOKER
                        ? RdmaConfig.Registrar.POLLER
                        : RdmaConfig.Registrar.THREAD)
                .withDevices(new RdmaConfig.Devices(rdmaDevices(), 1, null))
                // Other numbers of lanes have as many bytes outstanding in all.
                .withWindow(new RdmaConfig.Window(lanes, window.chunkBytes(),
                        Math.max(window.chunkBytes(), window.laneBytes() * window.lanes() / lanes),
                        window.laneRequests(), window.completions()));
    }

    /** Beside every figure, since it decides on latency and on processor time. */
    String idleText() {
        return idle == IdleMode.PARK ? "spin-yield-park" : "spin";
    }

    String threadingText() {
        return threading == ThreadingMode.INVOKER
                ? "client invoker, server shared"
                : threading.name().toLowerCase(Locale.ROOT);
    }

    /** For the report. */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("threading", threadingText());
        map.put("idle", idleText());
        map.put("settings", more);
        return map;
    }
}
