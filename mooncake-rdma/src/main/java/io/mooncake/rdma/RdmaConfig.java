package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;
import java.util.HashSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Settings of the RDMA engine. Immutable.
 *
 * @param devices which network cards, and by which address
 * @param link how queue pairs are connected
 * @param window what is outstanding at once
 * @param limits what there may be how much of
 * @param registrar who makes the calls that take long
 */
public record RdmaConfig(Devices devices, Link link, Window window, Limits limits, Registrar registrar) {
    /** Who registers memory and connects queue pairs. */
    public enum Registrar {
        /** A thread of the engine's own: the poller goes on meanwhile. */
        THREAD,
        /** The engine's poller, for nodes without threads (INVOKER): reads wait meanwhile. */
        POLLER
    }

    /**
     * Which network cards, and by which address.
     *
     * @param names of the devices, such as {@code mlx5_0}; none: each with an active port
     * @param port number of the port of each, from 1
     * @param gid the port's address that peers see, as an index of its table or as text such as {@code 10.0.0.1}; null: chosen by rule
     */
    public record Devices(List<String> names, int port, @Nullable String gid) {
        /**
         * Checks and copies.
         *
         * @throws MooncakeException CONFIG_ERROR naming the setting
         */
        public Devices {
            names = List.copyOf(names);
            if (new HashSet<>(names).size() < names.size()) {
                throw new MooncakeException(Kind.CONFIG_ERROR, "rdma.devices = " + names + " names one twice");
            }
            check("rdma.port", port, 1, 255);
        }
    }

    /**
     * How queue pairs are connected; see {@code man ibv_modify_qp}.
     *
     * @param timeout of a packet's acknowledgement: 4.096 us times 2 to the power of it
     * @param retries before an unanswered request fails, 0 to 6: 7 would be for ever on some cards, and no read could end by itself
     * @param reads READs that a queue pair may have on the wire
     * @param mtuBytes largest packet; 0: the port's
     */
    public record Link(int timeout, int retries, int reads, int mtuBytes) {
        /**
         * Checks the numbers.
         *
         * @throws MooncakeException CONFIG_ERROR naming the setting
         */
        public Link {
            check("rdma.timeout", timeout, 1, 31);
            check("rdma.retries", retries, 0, 6);
            check("rdma.reads", reads, 1, 128);
            if (mtuBytes != 0 && (Integer.bitCount(mtuBytes) != 1 || mtuBytes < 256 || mtuBytes > 4096)) {
                throw new MooncakeException(Kind.CONFIG_ERROR,
                        "rdma.mtu = " + mtuBytes + " must be 256, 512, 1024, 2048, 4096, or 0 for the port's");
            }
        }
    }

    /**
     * What is outstanding at once.
     *
     * @param lanes queue pairs to one peer
     * @param chunkBytes of one READ at most; at most 1 MiB
     * @param laneBytes outstanding on one queue pair
     * @param laneRequests outstanding on one queue pair
     * @param completions requests outstanding in all: the depth of each card's completion queue
     */
    public record Window(int lanes, long chunkBytes, long laneBytes, int laneRequests, int completions) {
        /**
         * Checks the numbers.
         *
         * @throws MooncakeException CONFIG_ERROR naming the setting
         */
        public Window {
            check("rdma.lanes", lanes, 1, 64);
            check("rdma.chunkBytes", chunkBytes, Long.BYTES, EngineContext.MAX_CHUNK_BYTES);
            check("rdma.laneBytes", laneBytes, Long.BYTES, Long.MAX_VALUE);
            check("rdma.laneRequests", laneRequests, 1, 4096);
            check("rdma.completions", completions, 4, 1 << 20);
        }
    }

    /**
     * What there may be how much of.
     *
     * @param reads reads accepted that have not ended
     * @param peers peers that are read from at once
     * @param served queue pairs for peers that read from this node; the one longest without a sign of use makes room
     * @param memory what is registered
     */
    public record Limits(int reads, int peers, int served, Memory memory) {
        /**
         * Checks the numbers.
         *
         * @throws MooncakeException CONFIG_ERROR naming the setting
         */
        public Limits {
            check("rdma.queue", reads, 1, 1 << 20);
            check("rdma.peers", peers, 1, 1 << 20);
            check("rdma.served", served, 1, 1 << 20);
        }
    }

    /**
     * What is registered with each card.
     *
     * @param registrationBytes of one registration: larger regions are registered in parts
     * @param landingBytes of the landing region, where peers write long messages, 64 KiB each; 0: no message goes by the cards
     * @param cachedBytes of the caller's regions that are read into; beyond that the one is deregistered that was not read into for longest
     */
    public record Memory(long registrationBytes, long landingBytes, long cachedBytes) {
        /**
         * Checks the numbers.
         *
         * @throws MooncakeException CONFIG_ERROR naming the setting
         */
        public Memory {
            check("rdma.cachedBytes", cachedBytes, 0, Long.MAX_VALUE);
            check("rdma.registrationBytes", registrationBytes, 2 * EngineContext.MAX_CHUNK_BYTES, Long.MAX_VALUE);
            if (landingBytes != 0) {
                check("rdma.landingBytes", landingBytes, EngineContext.MAX_MESSAGE_BYTES, 1L << 30);
            }
        }
    }

    /**
     * Every card with an active port, four queue pairs a peer with 4 MiB outstanding on each, an unanswered request fails after half a
     * second.
     *
     * @return settings that suit most
     */
    public static RdmaConfig defaults() {
        return new RdmaConfig(new Devices(List.of(), 1, null), new Link(14, 6, 16, 0),
                new Window(4, EngineContext.MAX_CHUNK_BYTES, 4L << 20, 16, 4096),
                new Limits(4096, 1024, 4096, new Memory(64L << 30, 4L << 20, 64L << 30)), Registrar.THREAD);
    }

    /**
     * Other cards.
     *
     * @param newDevices which, and by which address
     * @return a copy
     */
    public RdmaConfig withDevices(Devices newDevices) {
        return new RdmaConfig(newDevices, link, window, limits, registrar);
    }

    /**
     * Another way to connect.
     *
     * @param newLink how queue pairs are connected
     * @return a copy
     */
    public RdmaConfig withLink(Link newLink) {
        return new RdmaConfig(devices, newLink, window, limits, registrar);
    }

    /**
     * Another window.
     *
     * @param newWindow what is outstanding at once
     * @return a copy
     */
    public RdmaConfig withWindow(Window newWindow) {
        return new RdmaConfig(devices, link, newWindow, limits, registrar);
    }

    /**
     * Other limits.
     *
     * @param newLimits what there may be how much of
     * @return a copy
     */
    public RdmaConfig withLimits(Limits newLimits) {
        return new RdmaConfig(devices, link, window, newLimits, registrar);
    }

    /**
     * Another thread for what takes long.
     *
     * @param newRegistrar who makes the calls that take long
     * @return a copy
     */
    public RdmaConfig withRegistrar(Registrar newRegistrar) {
        return new RdmaConfig(devices, link, window, limits, newRegistrar);
    }

    private static void check(String key, long value, long least, long most) {
        if (value < least || value > most) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    key + " = " + value + " must be " + least + " to " + most);
        }
    }
}
