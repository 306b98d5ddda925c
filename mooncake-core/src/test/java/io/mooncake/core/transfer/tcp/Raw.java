package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Peer;
import io.mooncake.testing.EngineRig.Side;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The other end of a connection, spoken by hand. The rig runs while it waits. */
final class Raw implements AutoCloseable {
    private final Rig rig;
    private final SocketChannel channel;
    private final ByteBuffer in = buffer(4 << 20);
    private boolean ended;

    private Raw(Rig rig, SocketChannel channel) throws IOException {
        this.rig = rig;
        this.channel = channel;
        channel.configureBlocking(false);
    }

    static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Dials an engine. */
    static Raw dial(Rig rig, Endpoint endpoint) throws IOException {
        return new Raw(rig, SocketChannel.open(new InetSocketAddress(endpoint.host(), endpoint.port())));
    }

    /** Dials a node and shakes hands with it. */
    static Raw dialed(Rig rig, Side server) throws IOException {
        Raw raw = dial(rig, Rig.endpoint(server));
        raw.send(hello("raw", "c", server.id));
        Frame welcome = raw.next();
        if (welcome.type != Frames.WELCOME || welcome.incarnation != server.id.incarnation()) {
            throw new AssertionError("not welcome: " + welcome);
        }
        return raw;
    }

    /** HELLO of a node, whose name need not be one. */
    static ByteBuffer hello(String name, String cluster, NodeId wanted) {
        byte[] nonce = new byte[Frames.NONCE_BYTES];
        ByteBuffer frame = buffer(512);
        new Greeting(cluster, new NodeId("x".repeat(name.length()), 9), wanted, nonce).put(frame);
        int nameAt = Frames.HEADER_BYTES + Frames.HELLO_FIXED_BYTES + cluster.getBytes(StandardCharsets.UTF_8).length;
        return frame.put(nameAt, name.getBytes(StandardCharsets.UTF_8)).flip();
    }

    static ByteBuffer frame(byte type, long cookie, long incarnation, byte[] body) {
        ByteBuffer frame = buffer(Frames.HEADER_BYTES + body.length);
        Frames.header(frame, type, body.length, cookie, incarnation);
        return frame.put(body).flip();
    }

    static ByteBuffer read(NodeId of, int region, long offset, long length) {
        return read(of, region, 1, offset, length, -1, 0);
    }

    /** A READ; a negative guard offset stands for none. */
    static ByteBuffer read(NodeId of, int region, long keyEpoch, long offset, long length, long guardOffset,
            long expected) {
        ByteBuffer frame = buffer(Frames.HEADER_BYTES + Frames.READ_BYTES);
        Frames.header(frame, Frames.READ, Frames.READ_BYTES, 77, of.incarnation());
        frame.putInt(region).putInt(guardOffset < 0 ? 0 : 1).putLong(keyEpoch).putLong(offset).putLong(length);
        return frame.putLong(Math.max(guardOffset, 0)).putLong(expected).flip();
    }

    void send(ByteBuffer bytes) {
        rig.until(() -> {
            try {
                channel.write(bytes);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return !bytes.hasRemaining();
        });
    }

    /** The next frame. */
    Frame next() {
        rig.until(() -> {
            receive();
            return whole() != null || ended;
        });
        Frame frame = whole();
        if (frame == null) {
            throw new AssertionError("the connection ended with " + in.position() + " bytes");
        }
        in.flip().position(Frames.HEADER_BYTES + frame.body.capacity());
        in.compact();
        return frame;
    }

    /** Waits for the connection's end; says how many bytes came before it. */
    int awaitEnd() {
        rig.until(() -> {
            receive();
            return ended;
        });
        return in.position();
    }

    boolean hasEnded() {
        receive();
        return ended;
    }

    private void receive() {
        if (ended) {
            return;
        }
        try {
            ended = channel.read(in) < 0;
        } catch (IOException e) {
            ended = true;
        }
    }

    private @Nullable Frame whole() {
        if (in.position() < Frames.HEADER_BYTES || in.position() < Frames.HEADER_BYTES + in.getInt(Frames.BODY_AT)) {
            return null;
        }
        byte[] body = new byte[in.getInt(Frames.BODY_AT)];
        in.get(Frames.HEADER_BYTES, body);
        return new Frame(in.get(Frames.TYPE_AT), in.getLong(Frames.COOKIE_AT), in.getLong(Frames.INCARNATION_AT),
                ByteBuffer.wrap(body).order(ByteOrder.LITTLE_ENDIAN));
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    /** A frame that arrived. */
    static final class Frame {
        final byte type;
        final long cookie;
        final long incarnation;
        final ByteBuffer body;

        Frame(byte type, long cookie, long incarnation, ByteBuffer body) {
            this.type = type;
            this.cookie = cookie;
            this.incarnation = incarnation;
            this.body = body;
        }

        byte[] bytes() {
            byte[] bytes = new byte[body.capacity()];
            body.get(0, bytes);
            return bytes;
        }

        int status() {
            return body.getInt(0);
        }

        String text() {
            return Frames.text(body, 0, body.capacity());
        }

        @Override
        public String toString() {
            return "frame of type " + type + " with " + body.capacity() + " bytes";
        }
    }

    /** Listens as a node would. */
    static final class Listener implements AutoCloseable {
        private final Rig rig;
        final ServerSocketChannel server;
        final NodeId id = new NodeId("raw", 5);

        Listener(Rig rig) throws IOException {
            this.rig = rig;
            server = ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            server.configureBlocking(false);
        }

        Peer peer() throws IOException {
            int port = ((InetSocketAddress) server.getLocalAddress()).getPort();
            return new Peer(id, Map.of("tcp", "127.0.0.1:" + port));
        }

        Raw accept() {
            SocketChannel[] accepted = new SocketChannel[1];
            rig.until(() -> {
                try {
                    accepted[0] = server.accept();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
                return accepted[0] != null;
            });
            try {
                return new Raw(rig, accepted[0]);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** Accepts and welcomes, then tells about region 1 what is asked, and returns at the first READ. */
        Raw serving(long regionLength, Frame[] read) {
            Raw raw = accept();
            raw.next();
            raw.send(frame(Frames.WELCOME, 0, id.incarnation(), new byte[0]));
            Frame query = raw.next();
            ByteBuffer region = buffer(Frames.HEADER_BYTES + Frames.REGION_BYTES);
            Frames.header(region, Frames.REGION, Frames.REGION_BYTES, query.cookie, id.incarnation());
            raw.send(region.putInt(query.body.getInt(0)).putInt(1).putLong(regionLength).putLong(1).flip());
            read[0] = raw.next();
            return raw;
        }

        ByteBuffer chunk(long cookie, long position, byte[] payload, long guard) {
            ByteBuffer frame = buffer(Frames.HEADER_BYTES + 24 + payload.length);
            Frames.header(frame, Frames.CHUNK, 24 + payload.length, cookie, id.incarnation());
            return frame.putLong(position).put(payload).putLong(guard).putLong(-1).flip();
        }

        @Override
        public void close() throws IOException {
            server.close();
        }
    }
}
