package io.mooncake.bench.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A longer wire to a port of this host: connections to it go there, and what comes back comes so much later. Any thread.
 *
 * <pre>
 *   client ──────────────────────────────────▶ server
 *          ◀── write when due ◀── queue ◀── read
 * </pre>
 */
final class LateRelay implements AutoCloseable {
    private static final int CHUNK_BYTES = 64 << 10;
    /** What is under way at most is so many chunks. */
    private static final int CHUNKS = 1024;

    private final int target;
    private final ServerSocket listener;
    private final List<Socket> sockets = new ArrayList<>();
    private volatile long delayNs;

    /** Bytes that are due at some time. */
    private record Chunk(ByteBuffer bytes, long dueNs) {
        static final Chunk END = new Chunk(ByteBuffer.allocate(0), 0);
    }

    LateRelay(int target) {
        this.target = target;
        try {
            listener = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    /** From now on. */
    void delay(long ms) {
        delayNs = TimeUnit.MILLISECONDS.toNanos(ms);
    }

    private static void start(Runnable task) {
        Thread.ofPlatform().daemon().name("late-relay").start(task);
    }

    private void accept() {
        try {
            while (true) {
                Socket client = keep(listener.accept());
                Socket server = keep(new Socket(InetAddress.getLoopbackAddress(), target));
                BlockingQueue<Chunk> queue = new ArrayBlockingQueue<>(CHUNKS);
                start(() -> forward(client, server));
                start(() -> take(server, queue));
                start(() -> give(queue, client));
            }
        } catch (IOException e) {
            // Closed, or nobody listens there any more: whoever connects finds out.
            closeAll();
        }
    }

    private synchronized Socket keep(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        sockets.add(socket);
        return socket;
    }

    private static void forward(Socket from, Socket to) {
        try (from; to; InputStream in = from.getInputStream(); OutputStream out = to.getOutputStream()) {
            in.transferTo(out);
        } catch (IOException e) {
            // One side has gone, and so does the other.
        }
    }

    private void take(Socket from, BlockingQueue<Chunk> queue) {
        byte[] buffer = new byte[CHUNK_BYTES];
        try (from; InputStream in = from.getInputStream()) {
            for (int n = in.read(buffer); n > 0; n = in.read(buffer)) {
                queue.put(new Chunk(ByteBuffer.wrap(Arrays.copyOf(buffer, n)), System.nanoTime() + delayNs));
            }
            queue.put(Chunk.END);
        } catch (IOException e) {
            boolean _ = queue.offer(Chunk.END);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void give(BlockingQueue<Chunk> queue, Socket to) {
        try (to; WritableByteChannel out = Channels.newChannel(to.getOutputStream())) {
            for (Chunk chunk = queue.take(); chunk.bytes.hasRemaining(); chunk = queue.take()) {
                for (long left = chunk.dueNs - System.nanoTime(); left > 0; left = chunk.dueNs - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
                out.write(chunk.bytes);
            }
        } catch (IOException e) {
            // The client has gone.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void closeAll() {
        for (Socket socket : sockets) {
            try {
                socket.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Override
    public void close() {
        try {
            listener.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        closeAll();
    }
}
