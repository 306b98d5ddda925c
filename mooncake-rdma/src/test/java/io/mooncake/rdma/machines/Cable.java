package io.mooncake.rdma.machines;

import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * The cable between virtual machines: each plugs in by a TCP connection, on which every frame has its length before it, and what one sends
 * the others get. Cut, it swallows every frame; and like any network it drops what a machine does not take.
 */
final class Cable implements AutoCloseable {
    private static final int MOST_FRAME_BYTES = 1 << 16;
    private static final int QUEUED_FRAMES = 8192;

    private final ServerSocket socket;
    private final List<End> ends = new CopyOnWriteArrayList<>();
    private volatile boolean cut;

    Cable() throws IOException {
        socket = new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
        start("cable", this::accept);
    }

    private interface Forwarding {
        void run() throws IOException, InterruptedException;
    }

    private static void start(String name, Forwarding what) {
        Thread.ofPlatform().daemon().name(name).start(() -> {
            try {
                what.run();
            } catch (EOFException | SocketException | InterruptedException over) {
                // Its machine was killed, or the test has ended.
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    int port() {
        return socket.getLocalPort();
    }

    void cut() {
        cut = true;
    }

    void mend() {
        cut = false;
    }

    private void accept() throws IOException {
        while (true) {
            End end = new End(socket.accept());
            ends.add(end);
            start("cable-from", end::receive);
            start("cable-to", end::send);
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
        for (End end : ends) {
            end.socket.close();
        }
    }

    private final class End {
        private final Socket socket;
        private final ArrayBlockingQueue<byte[]> toSend = new ArrayBlockingQueue<>(QUEUED_FRAMES);

        End(Socket socket) throws IOException {
            this.socket = socket;
            socket.setTcpNoDelay(true);
        }

        void receive() throws IOException {
            try (socket) {
                DataInputStream in = new DataInputStream(socket.getInputStream());
                while (true) {
                    int length = in.readInt();
                    if (length < 0 || length > MOST_FRAME_BYTES) {
                        throw new IOException("a frame of " + length + " bytes");
                    }
                    byte[] frame = new byte[Integer.BYTES + length];
                    ByteBuffer.wrap(frame).putInt(length);
                    in.readFully(frame, Integer.BYTES, length);
                    if (!cut) {
                        ends.stream().filter(other -> other != this).forEach(other -> other.toSend.offer(frame));
                    }
                }
            } finally {
                ends.remove(this);
            }
        }

        void send() throws IOException, InterruptedException {
            while (!socket.isClosed()) {
                socket.getOutputStream().write(toSend.take());
            }
        }
    }
}
