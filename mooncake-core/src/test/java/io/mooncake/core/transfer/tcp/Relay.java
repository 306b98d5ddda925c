package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.transfer.Peer;
import io.mooncake.testing.EngineRig.Side;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A network between a client and a server that can stop, and lose connections. Runs in the rig's cycles. */
final class Relay implements AutoCloseable {
    private static final int BUFFER_BYTES = 256 * 1024;

    private final ServerSocketChannel server;
    private final Side target;
    private final List<Pipe> pipes = new ArrayList<>();
    /** Nothing passes, nothing ends. */
    boolean frozen;
    /** Each connection is cut when so many bytes have come from the server. */
    long cutAfter = Long.MAX_VALUE;
    int accepted;

    Relay(Rig rig, Side target) throws IOException {
        this.target = target;
        server = ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        server.configureBlocking(false);
        rig.others.add(this::run);
    }

    /** The target, by way of here. */
    Peer peer() throws IOException {
        int port = ((InetSocketAddress) server.getLocalAddress()).getPort();
        return new Peer(target.id, Map.of("tcp", "127.0.0.1:" + port));
    }

    int open() {
        return pipes.size();
    }

    void cut(int index) {
        pipes.remove(index).close();
    }

    private void run() {
        if (frozen || !server.isOpen()) {
            return;
        }
        try {
            for (SocketChannel channel = server.accept(); channel != null; channel = server.accept()) {
                Endpoint to = Rig.endpoint(target);
                accepted++;
                pipes.add(new Pipe(channel, SocketChannel.open(new InetSocketAddress(to.host(), to.port()))));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        for (int i = pipes.size() - 1; i >= 0; i--) {
            Pipe pipe = pipes.get(i);
            if (!pipe.pass() || pipe.passed >= cutAfter) {
                cut(i);
            }
        }
    }

    @Override
    public void close() throws IOException {
        while (!pipes.isEmpty()) {
            cut(0);
        }
        server.close();
    }

    private static final class Pipe {
        private final SocketChannel client;
        private final SocketChannel server;
        private final ByteBuffer up = ByteBuffer.allocateDirect(BUFFER_BYTES);
        private final ByteBuffer down = ByteBuffer.allocateDirect(BUFFER_BYTES);
        private long passed;

        Pipe(SocketChannel client, SocketChannel server) throws IOException {
            this.client = client;
            this.server = server;
            client.configureBlocking(false);
            server.configureBlocking(false);
        }

        /** False when one of the two has closed it. */
        boolean pass() {
            try {
                return pass(client, up, server) >= 0 && pass(server, down, client) >= 0;
            } catch (IOException e) {
                return false;
            }
        }

        private int pass(SocketChannel from, ByteBuffer bytes, SocketChannel to) throws IOException {
            int got = from.read(bytes);
            bytes.flip();
            int sent = to.write(bytes);
            bytes.compact();
            if (from.equals(server)) {
                passed += sent;
            }
            return got;
        }

        void close() {
            try {
                client.close();
                server.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
