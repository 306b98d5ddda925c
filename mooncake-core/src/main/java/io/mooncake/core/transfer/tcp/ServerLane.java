package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardSource;
import java.io.IOException;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * An accepted connection: answers a peer's reads, one chunk of each in turn.
 *
 * <p>A chunk's bytes are pinned (and its region retained) from before its header until its last byte was copied: into {@link #out}
 * where it is small, else by the socket. Then the guard is read, then the pin ends, then the guard is sent.
 */
final class ServerLane extends Lane {
    /** Payloads up to here are copied together with header and trailer, so that the answer is one write. */
    static final int SMALL_BYTES = 32 * 1024;

    private static final int SMALL_FRAME_BYTES = Frames.HEADER_BYTES + Frames.CHUNK_POSITION_BYTES + SMALL_BYTES
            + Frames.TRAILER_BYTES;
    private static final long NO_PIN = -1;

    private final EngineContext context;
    private final String remote;
    private final long handshakeDeadlineNs;
    private final ServerHandshake handshake;
    private @Nullable NodeId peer;
    private boolean closing;
    private long heardNs;

    private final ArrayDeque<ServerRequest> active = new ArrayDeque<>(1);
    private final ArrayDeque<ServerRequest> spare = new ArrayDeque<>(1);

    /** The large chunk that is partly sent; null between chunks. */
    private @Nullable ServerRequest current;
    private @Nullable Windows source;
    private long pin = NO_PIN;
    private int chunkBytes;
    private int chunkSent;

    ServerLane(TcpPoller poller, SocketChannel channel) throws IOException {
        super(poller, channel, SelectionKey.OP_READ);
        context = poller.context();
        handshake = new ServerHandshake(context, poller.credentials());
        remote = String.valueOf(channel.getRemoteAddress());
        heardNs = poller.nowNs();
        handshakeDeadlineNs = poller.nowNs() + poller.config().times().handshakeNs();
    }

    @Override
    boolean isOpen() {
        return peer != null && !closing;
    }

    @Override
    @Nullable
    NodeId peer() {
        return peer;
    }

    long handshakeDeadlineNs() {
        return handshakeDeadlineNs;
    }

    @Override
    void tick(long nowNs) throws IOException {
        super.tick(nowNs);
        if (!isOpen() && nowNs - handshakeDeadlineNs >= 0) {
            throw new LaneLost(Kind.TIMEOUT,
                    "no handshake within " + poller.config().times().handshakeNs() / 1_000_000 + " ms");
        }
        if (isOpen() && !wantsWrite() && nowNs - heardNs >= poller.config().times().silenceNs()) {
            throw new LaneLost(Kind.TIMEOUT, "the peer said nothing for "
                    + poller.config().times().silenceNs() / 1_000_000 + " ms: it is gone");
        }
    }

    @Override
    int read(int most) throws IOException {
        if (in.capacity() == 0) {
            in = Buffers.small(Frames.MAX_HELLO_BYTES);
        }
        int got = fill(Math.min(most, in.capacity()));
        if (got > 0) {
            heardNs = poller.nowNs();
        }
        return got;
    }

    @Override
    void consume() throws IOException {
        while (!closing && tail - head >= Short.BYTES) {
            int at = head;
            Frames.checkMagic(in, at);
            if (tail - at < Frames.HEADER_BYTES) {
                return;
            }
            if (in.get(at + Frames.VERSION_AT) != Frames.VERSION) {
                refuseVersion(at);
                return;
            }
            int body = Frames.checkBody(in, at, true);
            byte type = in.get(at + Frames.TYPE_AT);
            if (peer == null != (type == Frames.HELLO || type == Frames.PROOF)) {
                throw new ProtocolException("a connection begins with one handshake, a frame of type " + type
                        + " came instead");
            }
            if (tail - at < Frames.HEADER_BYTES + body) {
                return;
            }
            head += Frames.HEADER_BYTES + body;
            if (peer == null) {
                greet(at, body);
            } else {
                onFrame(type, at, body);
            }
        }
        if (closing) {
            head = tail;
        }
    }

    private void onFrame(byte type, int at, int body) throws IOException {
        switch (type) {
            case Frames.READ -> onRead(at);
            case Frames.QUERY, Frames.PING -> {
                ServerRequest request = accept(at);
                request.kind = type;
                request.region = type == Frames.QUERY ? in.getInt(at + Frames.HEADER_BYTES) : 0;
                active.add(request);
            }
            case Frames.CANCEL -> onCancel(in.getLong(at + Frames.COOKIE_AT));
            default -> onMessage(at, in.getLong(at + Frames.COOKIE_AT), body);
        }
    }

    private void refuseVersion(int at) throws ProtocolException {
        if (peer != null) {
            throw new ProtocolException("the protocol's version changed to " + in.get(at + Frames.VERSION_AT));
        }
        refuse(handshake.otherVersion(in.get(at + Frames.VERSION_AT) & 0xFF));
    }

    private void greet(int at, int body) throws ProtocolException {
        if (out.capacity() == 0) {
            out = Buffers.small(2 * Frames.MAX_GREETING_ANSWER_BYTES);
        }
        try {
            NodeId settled = handshake.onFrame(in, at, body, out);
            if (settled != null) {
                peer = settled;
                takeBuffers();
                poller.onOpened(this);
            }
        } catch (Refusal refusal) {
            refuse(refusal);
        }
    }

    private void refuse(Refusal refusal) {
        closing = true;
        out = Buffers.small(Frames.HEADER_BYTES + Integer.BYTES + Frames.MAX_TEXT_BYTES);
        Frames.text(out, Frames.REFUSED, 0, handshake.shownIncarnation(), refusal.why(), refusal.told());
        poller.onRefused(remote, String.valueOf(refusal.getMessage()));
    }

    private ServerRequest accept(int at) throws ProtocolException {
        if (active.size() + (current == null ? 0 : 1) == Frames.MAX_REQUESTS) {
            throw new ProtocolException("more than " + Frames.MAX_REQUESTS + " requests outstanding");
        }
        ServerRequest request = spare.isEmpty() ? new ServerRequest() : spare.pop();
        request.cookie = in.getLong(at + Frames.COOKIE_AT);
        request.kind = Frames.READ;
        request.position = 0;
        request.status = ServerRequest.ACTIVE;
        return request;
    }

    private void onRead(int at) throws ProtocolException {
        ServerRequest request = accept(at);
        int body = at + Frames.HEADER_BYTES;
        request.region = in.getInt(body);
        request.guarded = in.getInt(body + 4) != 0;
        request.keyEpoch = in.getLong(body + 8);
        request.offset = in.getLong(body + 16);
        request.length = in.getLong(body + 24);
        request.guardOffset = in.getLong(body + 32);
        request.expected = in.getLong(body + 40);
        check(request, in.getLong(at + Frames.INCARNATION_AT));
        active.add(request);
    }

    private void check(ServerRequest request, long incarnation) {
        Windows windows = poller.source(request.region);
        if (incarnation != context.self().incarnation()) {
            end(request, Frames.STALE_INCARNATION, "node " + context.self() + " answers here, incarnation "
                    + Long.toHexString(incarnation) + " was asked for");
        } else if (windows == null) {
            noRegion(request);
        } else if (request.keyEpoch != windows.region().keyEpoch()) {
            end(request, Frames.STALE_KEY, windows.region() + ": key epoch " + request.keyEpoch + " is not its "
                    + windows.region().keyEpoch() + ": ask again");
        } else if (!Bounds.contains(request.offset, request.length, windows.region().length())) {
            end(request, Frames.OUT_OF_BOUNDS, windows.region() + ": offset " + request.offset + " + " + request.length
                    + " > length " + windows.region().length() + " (or negative)");
        } else if (request.guarded != (windows.region().access() == Access.GUARDED)) {
            end(request, Frames.BAD_GUARD, windows.region() + (request.guarded
                    ? " has no guards: read it without one"
                    : " is guarded: read it by a block reference"));
        }
    }

    private void noRegion(ServerRequest request) {
        end(request, Frames.NO_REGION, "region r" + request.region + " of node " + context.self()
                + " is unknown, closed or not readable by peers");
    }

    private void end(ServerRequest request, int status, String text) {
        request.status = status;
        request.text = text;
        context.counters().increment(status == Frames.STALE ? Counter.READS_STALE : Counter.READS_REFUSED);
    }

    private void onCancel(long cookie) {
        for (ServerRequest request : active) {
            if (request.cookie == cookie && request.status == ServerRequest.ACTIVE && request.kind == Frames.READ) {
                request.status = Frames.CANCELED;
                request.text = "";
            }
        }
        if (current != null && current.cookie == cookie) {
            current.status = Frames.CANCELED;
            current.text = "";
        }
    }

    private void onMessage(int at, long topic, int body) {
        byte[] message = new byte[body];
        in.get(at + Frames.HEADER_BYTES, message);
        context.counters().increment(Counter.MESSAGES_RECEIVED);
        if (peer != null) {
            context.control().deliver(topic, peer, message);
        }
    }

    @Override
    boolean wantsWrite() {
        return unsent() > 0 || current != null || !active.isEmpty();
    }

    @Override
    boolean pump() throws IOException {
        boolean any = false;
        for (int budget = poller.sendBudget(this); budget > 0;) {
            if (current != null) {
                int before = chunkSent;
                if (!flush()) {
                    return any;
                }
                boolean all = sendPayload(current, budget);
                budget -= chunkSent - before;
                any |= chunkSent > before;
                if (!all) {
                    return any;
                }
                if (chunkSent == chunkBytes) {
                    finishChunk(current);
                }
                any = true;
            } else if (!active.isEmpty() && hasRoom(SMALL_FRAME_BYTES)) {
                ServerRequest request = active.remove();
                budget -= answer(request);
                any = true;
            } else if (unsent() == 0) {
                break;
            } else if (!flush()) {
                return any;
            } else {
                any = true;
            }
        }
        flush();
        if (closing && unsent() == 0) {
            throw new LaneLost(Kind.UNAUTHORIZED, "refused in the handshake");
        }
        return any;
    }

    /** Appends the next frame of a request, or begins a large chunk; says how many bytes of payload that were. */
    private int answer(ServerRequest request) {
        long self = context.self().incarnation();
        if (request.kind == Frames.PING) {
            Frames.header(out, Frames.PONG, 0, request.cookie, self);
            spare.push(request);
            return Frames.HEADER_BYTES;
        }
        if (request.kind == Frames.QUERY) {
            Windows windows = poller.source(request.region);
            Frames.header(out, Frames.REGION, Frames.REGION_BYTES, request.cookie, self);
            out.putInt(request.region)
                    .putInt(windows == null ? 0 : 1)
                    .putLong(windows == null ? 0 : windows.region().length())
                    .putLong(windows == null ? 0 : windows.region().keyEpoch());
            spare.push(request);
            return Frames.REGION_BYTES;
        }
        int bytes = (int) Math.min(poller.config().limits().chunkBytes(), request.length - request.position);
        Windows windows = request.status == ServerRequest.ACTIVE ? take(request, bytes) : null;
        if (windows == null) {
            Frames.text(out, Frames.END, request.cookie, self, request.status, request.text);
            spare.push(request);
            return Frames.HEADER_BYTES;
        }
        source = windows;
        if (pin >= 0) {
            bytes = (int) Math.min(bytes, context.guards().unitRest(pin, request.offset + request.position));
        }
        chunkBytes = bytes;
        chunkSent = 0;
        if (bytes == 0) {
            long guard = giveBack(request);
            int status = guard == request.expected ? Frames.DONE : Frames.STALE;
            context.counters().increment(status == Frames.DONE ? Counter.READS_SERVED : Counter.READS_STALE);
            Frames.text(out, Frames.END, request.cookie, self, status, "");
            spare.push(request);
            return Frames.HEADER_BYTES;
        }
        Frames.header(out, Frames.CHUNK, Frames.CHUNK_POSITION_BYTES + bytes + Frames.TRAILER_BYTES, request.cookie,
                self);
        out.putLong(request.position);
        if (bytes <= SMALL_BYTES) {
            out.put(windows.at(request.offset + request.position, bytes));
            finishChunk(request);
        } else {
            current = request;
        }
        return bytes;
    }

    /** Pins and retains a request's next bytes; null when they are not to be had, which the request's status then says. */
    private @Nullable Windows take(ServerRequest request, int bytes) {
        Windows windows = poller.source(request.region);
        if (windows == null || !windows.region().retain()) {
            noRegion(request);
            return null;
        }
        pin = NO_PIN;
        if (request.guarded) {
            pin = context.guards()
                    .pin(request.region, request.guardOffset, request.expected, request.offset + request.position,
                            bytes);
            if (pin < 0) {
                windows.region().release();
                end(request, pin == GuardSource.STALE ? Frames.STALE : Frames.BAD_GUARD, pin == GuardSource.STALE
                        ? ""
                        : windows.region() + ": no guard at " + request.guardOffset + " covers offset " + request.offset
                                + " + "
                                + request.length);
                return null;
            }
        }
        return windows;
    }

    /** Reads the guard, 0 without one, and ends the pin. */
    private long giveBack(ServerRequest request) {
        long guard = request.guarded ? context.guards().guard(pin) : request.expected;
        release();
        return guard;
    }

    private void release() {
        if (pin >= 0) {
            context.guards().unpin(pin);
            pin = NO_PIN;
        }
        Windows windows = source;
        if (windows != null) {
            windows.region().release();
            source = null;
        }
    }

    /** Sends on, so many bytes at most; says whether the socket took them all. */
    private boolean sendPayload(ServerRequest request, int most) throws IOException {
        Windows windows = source;
        if (windows == null) {
            throw new IllegalStateException("a chunk without its region");
        }
        int left = Math.min(chunkBytes - chunkSent, most);
        ByteBuffer payload = windows.at(request.offset + request.position + chunkSent, left);
        int sent = channel.write(payload);
        chunkSent += sent;
        return wrote(sent, sent == left);
    }

    /** After the last byte was copied: the guard, as it is now, proves what was copied or does not. */
    private void finishChunk(ServerRequest request) {
        boolean guarded = request.guarded;
        long checksum = guarded
                ? context.guards().checksum(pin, request.offset + request.position, chunkBytes)
                : GuardSource.NO_CHECKSUM;
        long guard = giveBack(request);
        out.putLong(guarded ? guard : 0).putLong(checksum);
        current = null;
        request.position += chunkBytes;
        context.counters().add(Counter.BYTES_SERVED, chunkBytes);
        if (guarded && guard != request.expected) {
            context.counters().increment(Counter.READS_STALE);
            spare.push(request);
        } else if (request.position == request.length) {
            context.counters().increment(Counter.READS_SERVED);
            spare.push(request);
        } else {
            active.add(request);
        }
    }

    @Override
    void onLost(Exception why) {
        release();
        current = null;
        active.clear();
        if (peer != null) {
            giveBuffers();
        }
    }

    /** Who and where, for messages. */
    @Override
    public String toString() {
        return "connection from " + (peer == null ? "" : "node " + peer + " at ") + remote;
    }
}
