package io.mooncake.core;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.transfer.Peer;
import io.mooncake.testing.ForwardingRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** A network before one node that lets so many of its bytes pass, then stands still until it is opened. Threads of its own. */
final class Gate implements AutoCloseable {
    private static final int BUFFER_BYTES = 64 << 10;
    private static final int WIDE_OPEN = 1 << 30;

    private final Peer behind;
    private final ServerSocketChannel listening;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    /** A permit a byte that comes from the node. */
    private final Semaphore bytes = new Semaphore(WIDE_OPEN);

    Gate(Peer behind) throws IOException {
        this.behind = behind;
        listening = ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        threads.execute(this::accept);
    }

    /** From now on so many bytes of the node pass. */
    void letPass(int count) {
        bytes.drainPermits();
        bytes.release(count);
    }

    /** What stands before it passes, and whatever comes. */
    void open() {
        letPass(WIDE_OPEN);
    }

    /** A registry whose users find the node by way of here. */
    Registry before(Registry registry) throws IOException {
        int port = ((InetSocketAddress) listening.getLocalAddress()).getPort();
        Peer here = new Peer(behind.id(), Map.of("tcp", "127.0.0.1:" + port));
        return new ForwardingRegistry(registry) {
            @Override
            public @Nullable Peer peer(NodeId node) {
                return node.equals(here.id()) ? here : super.peer(node);
            }
        };
    }

    private void accept() {
        Endpoint to = Endpoint.parse(String.valueOf(behind.addresses().get("tcp")), 0);
        try {
            for (;;) {
                SocketChannel client = listening.accept();
                SocketChannel server = SocketChannel.open(new InetSocketAddress(to.host(), to.port()));
                threads.execute(() -> pass(client, server, null));
                threads.execute(() -> pass(server, client, bytes));
            }
        } catch (IOException e) {
            // Closed: the test is over.
            bytes.drainPermits();
        }
    }

    private static void pass(SocketChannel from, SocketChannel to, @Nullable Semaphore permits) {
        ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
        try (from; to) {
            while (from.read(buffer) >= 0) {
                buffer.flip();
                if (permits != null) {
                    permits.acquire(buffer.remaining());
                }
                while (buffer.hasRemaining()) {
                    to.write(buffer);
                }
                buffer.clear();
            }
        } catch (IOException | InterruptedException e) {
            // One end or the test closed it: both ends are closed now.
            buffer.clear();
        }
    }

    @Override
    public void close() throws IOException {
        listening.close();
        threads.shutdownNow();
        threads.close();
    }
}
