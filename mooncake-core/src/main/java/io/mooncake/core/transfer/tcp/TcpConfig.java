package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/**
 * Settings of the TCP engine. Immutable.
 *
 * @param bind where to listen; port 0 takes any free one
 * @param advertised what peers are told to dial, with port 0 standing for the bound one; null for the bound address
 * @param connectTimeoutNs how long a connection may take to be made, nanoseconds
 * @param handshakeTimeoutNs how long a connection may stay without a handshake, nanoseconds
 * @param stallTimeoutNs how long a peer may accept no byte, or answer none, before its connection is closed, nanoseconds
 * @param queueCapacity reads and messages that may be accepted and not ended
 * @param chunkBytes most payload of a chunk
 * @param sendBufferBytes the socket's, 0 = the system's choice
 * @param receiveBufferBytes the socket's, 0 = the system's choice
 * @param maxHandshaking accepted connections that may be without a handshake; the oldest makes room
 */
public record TcpConfig(Endpoint bind, @Nullable Endpoint advertised, long connectTimeoutNs, long handshakeTimeoutNs,
        long stallTimeoutNs, int queueCapacity, int chunkBytes, int sendBufferBytes, int receiveBufferBytes,
        int maxHandshaking) {
    private static final long SECOND_NS = 1_000_000_000;

    /**
     * Checks the numbers.
     *
     * @throws MooncakeException CONFIG_ERROR naming the setting
     */
    public TcpConfig {
        atLeast("connect timeout", connectTimeoutNs, 1);
        atLeast("handshake timeout", handshakeTimeoutNs, 1);
        atLeast("stall timeout", stallTimeoutNs, 1);
        atLeast("queue capacity", queueCapacity, 1);
        atLeast("chunk bytes", chunkBytes, 1);
        atLeast("send buffer bytes", sendBufferBytes, 0);
        atLeast("receive buffer bytes", receiveBufferBytes, 0);
        atLeast("connections without handshake", maxHandshaking, 1);
        if (chunkBytes > EngineContext.MAX_CHUNK_BYTES) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "tcp: chunk bytes = " + chunkBytes + " must be at most " + EngineContext.MAX_CHUNK_BYTES);
        }
    }

    /**
     * Listens on 127.0.0.1 at any free port.
     *
     * @return settings that suit most
     */
    public static TcpConfig defaults() {
        return new TcpConfig(new Endpoint("127.0.0.1", 0), null, 5 * SECOND_NS, 5 * SECOND_NS, 10 * SECOND_NS, 4096,
                EngineContext.MAX_CHUNK_BYTES, 0, 0, 256);
    }

    /**
     * Another address.
     *
     * @param bind where to listen
     * @param advertised what peers are told, or null
     * @return a copy
     */
    public TcpConfig withAddresses(Endpoint bind, @Nullable Endpoint advertised) {
        return new TcpConfig(bind, advertised, connectTimeoutNs, handshakeTimeoutNs, stallTimeoutNs, queueCapacity,
                chunkBytes,
                sendBufferBytes, receiveBufferBytes, maxHandshaking);
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
        return new TcpConfig(bind, advertised, connectNs, handshakeNs, stallNs, queueCapacity, chunkBytes,
                sendBufferBytes,
                receiveBufferBytes, maxHandshaking);
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
        return new TcpConfig(bind, advertised, connectTimeoutNs, handshakeTimeoutNs, stallTimeoutNs, queue, chunk,
                sendBufferBytes,
                receiveBufferBytes, handshaking);
    }

    /**
     * Other socket buffers.
     *
     * @param sendBytes 0 = the system's choice
     * @param receiveBytes 0 = the system's choice
     * @return a copy
     */
    public TcpConfig withSocketBuffers(int sendBytes, int receiveBytes) {
        return new TcpConfig(bind, advertised, connectTimeoutNs, handshakeTimeoutNs, stallTimeoutNs, queueCapacity,
                chunkBytes,
                sendBytes, receiveBytes, maxHandshaking);
    }

    /** Prepares a connection for the poller: small frames leave at once, no call blocks. */
    void tune(SocketChannel channel) throws IOException {
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        if (sendBufferBytes > 0) {
            channel.setOption(StandardSocketOptions.SO_SNDBUF, sendBufferBytes);
        }
        if (receiveBufferBytes > 0) {
            channel.setOption(StandardSocketOptions.SO_RCVBUF, receiveBufferBytes);
        }
    }

    private static void atLeast(String name, long value, long least) {
        if (value < least) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    "tcp: " + name + " = " + value + " must be at least " + least);
        }
    }
}
