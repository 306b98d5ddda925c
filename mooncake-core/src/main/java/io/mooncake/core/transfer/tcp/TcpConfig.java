package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/**
 * Settings of the TCP engine. Immutable.
 *
 * @param bind where to listen; port 0 takes any free one
 * @param advertised what peers are told to dial, with port 0 standing for the bound one; null for the bound address
 * @param secret what every peer must prove to know; null = no proof is asked for, and only loopback may be bound
 * @param times what must happen how soon
 * @param limits what there may be how much of
 */
public record TcpConfig(Endpoint bind, @Nullable Endpoint advertised, @Nullable ClusterSecret secret, Times times,
        Limits limits) {
    /** Connections to one peer at most. */
    public static final int MAX_LANES = 16;

    private static final long MILLI_NS = 1_000_000;
    private static final long SECOND_NS = 1000 * MILLI_NS;

    /**
     * What must happen how soon, in nanoseconds.
     *
     * @param connectNs how long a connection may take to be made
     * @param handshakeNs how long a connection may stay without a handshake
     * @param stallNs how long a peer may accept no byte, or answer none, before its connection is closed
     * @param cancelNs how long nothing may come while a canceled read has not ended at the peer, before its connection is made anew
     * @param keepAliveNs how long a connection with nothing outstanding may be silent before the peer is asked whether it is there
     * @param idleNs how long a connection may be of no use before it is closed
     */
    public record Times(long connectNs, long handshakeNs, long stallNs, long cancelNs, long keepAliveNs,
            long idleNs) {
        /**
         * Checks the numbers.
         *
         * @throws MooncakeException CONFIG_ERROR naming the setting
         */
        public Times {
            atLeast("connect timeout", connectNs, 1);
            atLeast("handshake timeout", handshakeNs, 1);
            atLeast("stall timeout", stallNs, 1);
            atLeast("cancel timeout", cancelNs, 1);
            atLeast("keep-alive interval", keepAliveNs, 1);
            atLeast("idle timeout", idleNs, 1);
        }

        /** How long a server hears nothing of a client that is there: it misses some of its keep-alives. */
        long silenceNs() {
            return stallNs + 3 * keepAliveNs;
        }
    }

    /**
     * What there may be how much of.
     *
     * @param queue reads and messages that may be accepted and not ended
     * @param peerQueue reads of one peer that may be: so that a slow one leaves room for others
     * @param lanes connections to one peer that large reads are spread over; 0 = one to this host, a few to others
     * @param chunkBytes most payload of a chunk
     * @param handshaking accepted connections that may be without a handshake; the oldest makes room
     * @param sendBufferBytes the socket's, 0 = the system's choice, on one host 512 KiB where the system grants it
     * @param receiveBufferBytes the socket's, 0 = the system's choice
     */
    public record Limits(int queue, int peerQueue, int lanes, int chunkBytes, int handshaking, int sendBufferBytes,
            int receiveBufferBytes) {
        /**
         * Checks the numbers.
         *
         * @throws MooncakeException CONFIG_ERROR naming the setting
         */
        public Limits {
            atLeast("queue capacity", queue, 1);
            atLeast("queue capacity of a peer", peerQueue, 1);
            atLeast("chunk bytes", chunkBytes, 1);
            atLeast("connections without handshake", handshaking, 1);
            atLeast("send buffer bytes", sendBufferBytes, 0);
            atLeast("receive buffer bytes", receiveBufferBytes, 0);
            if (lanes < 0 || lanes > MAX_LANES) {
                throw new MooncakeException(Kind.CONFIG_ERROR, "tcp.lanes = '" + lanes + "' must be 1 to " + MAX_LANES
                        + ", or 0 for one to this host and a few to others");
            }
            if (chunkBytes > EngineContext.MAX_CHUNK_BYTES) {
                throw new MooncakeException(Kind.CONFIG_ERROR,
                        "tcp: chunk bytes = " + chunkBytes + " must be at most " + EngineContext.MAX_CHUNK_BYTES);
            }
        }
    }

    /**
     * Listens on 127.0.0.1 at any free port.
     *
     * @return settings that suit most
     */
    public static TcpConfig defaults() {
        return new TcpConfig(new Endpoint("127.0.0.1", 0), null, null,
                new Times(5 * SECOND_NS, 5 * SECOND_NS, 10 * SECOND_NS, 500 * MILLI_NS, 10 * SECOND_NS,
                        300 * SECOND_NS),
                new Limits(4096, 2048, 0, EngineContext.MAX_CHUNK_BYTES, 256, 0, 0));
    }

    /**
     * Another address.
     *
     * @param bind where to listen
     * @param advertised what peers are told, or null
     * @return a copy
     */
    public TcpConfig withAddresses(Endpoint bind, @Nullable Endpoint advertised) {
        return new TcpConfig(bind, advertised, secret, times, limits);
    }

    /**
     * Another secret.
     *
     * @param secret the cluster's, or null for none
     * @return a copy
     */
    public TcpConfig withSecret(@Nullable ClusterSecret secret) {
        return new TcpConfig(bind, advertised, secret, times, limits);
    }

    /**
     * Other timeouts.
     *
     * @param connectNs nanoseconds
     * @param handshakeNs nanoseconds
     * @param stallNs nanoseconds
     * @return a copy
     */
    public TcpConfig withTimeouts(long connectNs, long handshakeNs, long stallNs) {
        return new TcpConfig(bind, advertised, secret,
                new Times(connectNs, handshakeNs, stallNs, times.cancelNs, times.keepAliveNs, times.idleNs), limits);
    }

    /**
     * Other limits.
     *
     * @param queue reads and messages
     * @param chunk bytes
     * @param handshaking connections
     * @return a copy
     */
    public TcpConfig withLimits(int queue, int chunk, int handshaking) {
        return new TcpConfig(bind, advertised, secret, times,
                new Limits(queue, limits.peerQueue, limits.lanes, chunk, handshaking, limits.sendBufferBytes,
                        limits.receiveBufferBytes));
    }

    /**
     * Other socket buffers.
     *
     * @param sendBytes 0 = the system's choice
     * @param receiveBytes 0 = the system's choice
     * @return a copy
     */
    public TcpConfig withSocketBuffers(int sendBytes, int receiveBytes) {
        return new TcpConfig(bind, advertised, secret, times,
                new Limits(limits.queue, limits.peerQueue, limits.lanes, limits.chunkBytes, limits.handshaking,
                        sendBytes, receiveBytes));
    }

    /**
     * Another number of connections to a peer.
     *
     * @param lanes 1 to {@value #MAX_LANES}; 0 = one to this host, a few to others
     * @return a copy
     */
    public TcpConfig withLanes(int lanes) {
        return new TcpConfig(bind, advertised, secret, times,
                new Limits(limits.queue, limits.peerQueue, lanes, limits.chunkBytes, limits.handshaking,
                        limits.sendBufferBytes, limits.receiveBufferBytes));
    }

    /**
     * Another bound for the reads of one peer.
     *
     * @param reads accepted and not ended
     * @return a copy
     */
    public TcpConfig withPeerQueue(int reads) {
        return new TcpConfig(bind, advertised, secret, times,
                new Limits(limits.queue, reads, limits.lanes, limits.chunkBytes, limits.handshaking,
                        limits.sendBufferBytes, limits.receiveBufferBytes));
    }

    /** Prepares a connection for the poller: small frames leave at once, no call blocks. */
    void tune(SocketChannel channel) throws IOException {
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        int sendBytes = limits.sendBufferBytes > 0 ? limits.sendBufferBytes : isNear(channel) ? Near.SEND_BYTES : 0;
        if (sendBytes > 0) {
            channel.setOption(StandardSocketOptions.SO_SNDBUF, sendBytes);
        }
        if (limits.receiveBufferBytes > 0) {
            channel.setOption(StandardSocketOptions.SO_RCVBUF, limits.receiveBufferBytes);
        }
    }

    /** What the sender's socket holds on one host, found out once. */
    private static final class Near {
        /** What the cache still remembers when the reader copies it; and no longer a burst, which the reader's core would have to handle. */
        private static final int WANTED = 512 << 10;

        static final int SEND_BYTES = probe();

        /** Where the system grants less than asked for, its own choice is better, and once asked it chooses no more. */
        private static int probe() {
            try (SocketChannel channel = SocketChannel.open()) {
                channel.setOption(StandardSocketOptions.SO_SNDBUF, WANTED);
                return channel.getOption(StandardSocketOptions.SO_SNDBUF) >= WANTED ? WANTED : 0;
            } catch (IOException e) {
                // Whoever really needs a socket will say so.
                return 0;
            }
        }
    }

    /** Whether it is accepted and the other end is on this host. */
    private static boolean isNear(SocketChannel channel) throws IOException {
        return channel.getRemoteAddress() instanceof InetSocketAddress from && from.getAddress().isLoopbackAddress();
    }

    private static void atLeast(String name, long value, long least) {
        if (value < least) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "tcp: " + name + " = " + value + " must be at least " + least);
        }
    }
}
