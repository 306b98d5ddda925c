package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ReadStatus;
import java.io.IOException;
import java.net.ProtocolException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * A connection that this node made to read from one peer.
 *
 * <pre>
 *   CONNECTING ──► GREETING (see ClientHandshake) ──► OPEN          any of them ──► lost: every read ends, the next one makes a new lane
 *
 *   add ──► waiting ──► (region unknown: QUERY, wait there) ──► READ sent, a slot in flight ──► CHUNKs proven ──► ended
 * </pre>
 */
final class ClientLane extends Lane {
    /** Room for any request. */
    private static final int REQUEST_BYTES = Frames.HEADER_BYTES + Frames.READ_BYTES;

    private final NodeId peer;
    private final Endpoint endpoint;
    private final EngineContext context;
    private final Landing landing;
    private final long madeNs;

    private final ClientHandshake handshake;
    private boolean connected;
    private boolean open;

    private final InFlight inFlight = new InFlight();
    private final ReadQueue waiting = new ReadQueue();
    private final ArrayDeque<byte[]> messages = new ArrayDeque<>();
    private final Int2ObjectHashMap<RemoteRegion> regions = new Int2ObjectHashMap<>();
    private long heardNs;

    ClientLane(TcpPoller poller, SocketChannel channel, NodeId peer, Endpoint endpoint) throws IOException {
        super(poller, channel, SelectionKey.OP_CONNECT);
        this.peer = peer;
        this.endpoint = endpoint;
        context = poller.context();
        landing = new Landing(this, inFlight);
        madeNs = poller.nowNs();
        handshake = new ClientHandshake(poller.credentials(),
                new Greeting(context.cluster(), context.self(), peer, poller.credentials().newNonce()));
        takeBuffers();
    }

    NodeId peer() {
        return peer;
    }

    @Override
    boolean isOpen() {
        return open;
    }

    /** Takes a read over. */
    void add(GuardedRead read) {
        waiting.add(read);
    }

    /** Takes a message over. */
    void add(byte[] message) {
        messages.add(message);
    }

    @Override
    boolean poll() throws IOException {
        if (!connected) {
            if (!channel.finishConnect()) {
                return false;
            }
            connected = true;
            handshake.begin(out);
        }
        return super.poll();
    }

    @Override
    void updateInterest() {
        if (connected) {
            super.updateInterest();
        }
    }

    @Override
    boolean pump() throws IOException {
        if (!connected) {
            return false;
        }
        boolean any = false;
        while (open) {
            byte[] message = messages.peek();
            if (message != null && hasRoom(Frames.HEADER_BYTES + message.length)) {
                messages.remove();
                Frames.header(out, Frames.MESSAGE, message.length, 0, peer.incarnation());
                out.put(message);
                context.counters().increment(Counter.MESSAGES_SENT);
                poller.messageGone();
            } else if (message == null && waiting.peek() != null && !inFlight.isFull() && hasRoom(REQUEST_BYTES)) {
                request();
            } else if (unsent() == 0 || !flush()) {
                return any;
            }
            any = true;
        }
        any |= unsent() > 0;
        flush();
        return any;
    }

    private void request() {
        GuardedRead read = waiting.poll();
        if (read == null) {
            return;
        }
        RemoteRegion region = regions.get(read.region());
        if (region == null) {
            region = new RemoteRegion(read.region());
            regions.put(region.id, region);
            InFlight.Slot slot = begin();
            slot.query = region;
            Frames.header(out, Frames.QUERY, Frames.QUERY_BYTES, slot.cookie, peer.incarnation());
            out.putInt(region.id);
        }
        if (!region.known) {
            region.waiting.add(read);
        } else if (!Bounds.contains(read.offset(), read.length(), region.length)) {
            poller.end(read, ReadStatus.REFUSED,
                    new MooncakeException(Kind.OUT_OF_BOUNDS, "region r" + region.id + " of node " + peer
                            + ": offset " + read.offset() + " + " + read.length() + " > length " + region.length
                            + " (or negative)"));
        } else {
            boolean guarded = read.guardOffset() != GuardedRead.NO_GUARD;
            InFlight.Slot slot = begin();
            slot.read = read;
            slot.length = read.length();
            slot.expected = guarded ? read.expected() : 0;
            Frames.header(out, Frames.READ, Frames.READ_BYTES, slot.cookie, peer.incarnation());
            out.putInt(region.id)
                    .putInt(guarded ? 1 : 0)
                    .putLong(region.keyEpoch)
                    .putLong(read.offset())
                    .putLong(read.length())
                    .putLong(guarded ? read.guardOffset() : 0)
                    .putLong(slot.expected);
        }
    }

    private InFlight.Slot begin() {
        if (inFlight.isEmpty()) {
            heardNs = poller.nowNs();
        }
        return inFlight.begin();
    }

    @Override
    int read() throws IOException {
        int got = landing.wantsDirect() ? landing.readDirect(channel) : fill(landing.readAhead(in.capacity()));
        if (got > 0) {
            heardNs = poller.nowNs();
        }
        return got;
    }

    @Override
    void consume() throws IOException {
        while (landing.isActive() ? landing.consume() : nextFrame()) {
            // each step takes something from what was received
        }
    }

    /** Handles one whole frame, or the head of a CHUNK; false when there is none. */
    private boolean nextFrame() throws IOException {
        int at = head;
        if (tail - at < Frames.HEADER_BYTES) {
            return false;
        }
        Frames.checkMagic(in, at);
        byte type = in.get(at + Frames.TYPE_AT);
        if (in.get(at + Frames.VERSION_AT) != Frames.VERSION && type != Frames.REFUSED) {
            throw new ProtocolException(
                    "it speaks version " + in.get(at + Frames.VERSION_AT) + " of the protocol, this node "
                            + Frames.VERSION + ": run the same release everywhere");
        }
        int body = Frames.checkBody(in, at, false);
        int needed = Frames.HEADER_BYTES + (type == Frames.CHUNK ? Frames.CHUNK_POSITION_BYTES : body);
        if (tail - at < needed) {
            return false;
        }
        head += needed;
        if (type != Frames.REFUSED && in.getLong(at + Frames.INCARNATION_AT) != peer.incarnation()) {
            throw new LaneLost(Kind.STALE_INCARNATION, "incarnation "
                    + Long.toHexString(in.getLong(at + Frames.INCARNATION_AT)) + " answers there");
        }
        if (open) {
            onFrame(type, at, body);
        } else if (handshake.onFrame(in, at, body, out)) {
            open = true;
            poller.onOpened(this);
        }
        return true;
    }

    private void onFrame(byte type, int at, int body) throws IOException {
        long cookie = in.getLong(at + Frames.COOKIE_AT);
        switch (type) {
            case Frames.CHUNK -> landing.begin(cookie, in.getLong(at + Frames.HEADER_BYTES),
                    body - Frames.CHUNK_POSITION_BYTES - Frames.TRAILER_BYTES);
            case Frames.END -> onEnd(cookie, at + Frames.HEADER_BYTES, body);
            case Frames.REGION -> onRegion(cookie, at + Frames.HEADER_BYTES);
            default -> throw new ProtocolException("a frame of type " + type + " came after the handshake's end");
        }
    }

    private void onRegion(long cookie, int at) throws ProtocolException {
        InFlight.Slot slot = inFlight.find(cookie);
        RemoteRegion region = slot == null ? null : slot.query;
        if (slot == null || region == null || region.id != in.getInt(at)) {
            throw new ProtocolException("an answer about region r" + in.getInt(at) + ", which nobody asked for");
        }
        inFlight.end(slot);
        region.known = in.getInt(at + 4) == 1;
        region.length = in.getLong(at + 8);
        region.keyEpoch = in.getLong(at + 16);
        if (!region.known) {
            regions.remove(region.id);
        }
        for (GuardedRead read = region.waiting.poll(); read != null; read = region.waiting.poll()) {
            if (region.known) {
                waiting.add(read);
            } else {
                poller.end(read, ReadStatus.REFUSED,
                        new MooncakeException(Kind.UNAUTHORIZED, "region r" + region.id + " of node "
                                + peer
                                + " is unknown, closed or not readable by peers: look up where the block is now"));
            }
        }
    }

    private void onEnd(long cookie, int at, int body) throws ProtocolException {
        InFlight.Slot slot = inFlight.find(cookie);
        if (slot == null || slot.query != null) {
            context.counters().increment(Counter.STALE_COMPLETIONS);
            return;
        }
        GuardedRead read = slot.read;
        int status = in.getInt(at);
        boolean whole = slot.length == 0;
        inFlight.end(slot);
        if (read == null) {
            context.counters().increment(Counter.STALE_COMPLETIONS);
        } else if (status == Frames.DONE && whole) {
            poller.end(read, ReadStatus.OK, null);
        } else if (status == Frames.STALE) {
            poller.end(read, ReadStatus.STALE, null);
        } else {
            String text = Frames.text(in, at, body);
            Kind kind = switch (status) {
                case Frames.NO_REGION -> Kind.UNAUTHORIZED;
                case Frames.OUT_OF_BOUNDS -> Kind.OUT_OF_BOUNDS;
                case Frames.BAD_GUARD -> Kind.INVALID_ARGUMENT;
                case Frames.STALE_KEY -> Kind.PEER_UNREACHABLE;
                case Frames.STALE_INCARNATION -> Kind.STALE_INCARNATION;
                default -> Kind.PROTOCOL_ERROR;
            };
            if (status == Frames.STALE_KEY || status == Frames.NO_REGION) {
                regions.remove(read.region());
            }
            poller.end(read, status == Frames.STALE_INCARNATION ? ReadStatus.UNREACHABLE : ReadStatus.REFUSED,
                    new MooncakeException(kind,
                            kind == Kind.PROTOCOL_ERROR
                                    ? "node " + peer + " ended the read with status " + status
                                    : text));
        }
    }

    /** Ends a read that is in flight before its answer has come; what comes yet is dropped. */
    void abandon(InFlight.Slot slot, GuardedRead read, ReadStatus status) {
        slot.read = null;
        if (hasRoom(Frames.HEADER_BYTES)) {
            Frames.header(out, Frames.CANCEL, 0, slot.cookie, peer.incarnation());
        }
        poller.end(read, status, null);
    }

    @Override
    void tick(long nowNs) throws IOException {
        super.tick(nowNs);
        if (!open) {
            long limitNs = connected ? poller.config().times().handshakeNs() : poller.config().times().connectNs();
            if (nowNs - madeNs >= limitNs) {
                throw new LaneLost(Kind.PEER_UNREACHABLE, (connected ? "no handshake within " : "no connection within ")
                        + limitNs / 1_000_000 + " ms");
            }
        } else if (!inFlight.isEmpty() && nowNs - heardNs >= poller.config().times().stallNs()) {
            throw new LaneLost(Kind.PEER_UNREACHABLE, "the peer answered nothing for "
                    + poller.config().times().stallNs() / 1_000_000 + " ms");
        }
        expire(waiting, nowNs);
        for (int i = 0; i <= inFlight.highest(); i++) {
            InFlight.Slot slot = inFlight.at(i);
            if (slot != null && slot.query != null) {
                expire(slot.query.waiting, nowNs);
            } else if (slot != null && slot.read != null) {
                GuardedRead read = slot.read;
                ReadStatus status = poller.expired(read, nowNs);
                if (status != null) {
                    abandon(slot, read, status);
                }
            }
        }
        pump();
    }

    private void expire(ReadQueue queue, long nowNs) {
        GuardedRead before = null;
        for (GuardedRead read = queue.peek(); read != null;) {
            GuardedRead next = ReadQueue.next(read);
            ReadStatus status = poller.expired(read, nowNs);
            if (status == null) {
                before = read;
            } else {
                queue.remove(before, read);
                poller.end(read, status, null);
            }
            read = next;
        }
    }

    @Override
    void onLost(Exception why) {
        Kind kind = why instanceof LaneLost lost
                ? lost.kind()
                : why instanceof ProtocolException ? Kind.PROTOCOL_ERROR : Kind.PEER_UNREACHABLE;
        MooncakeException cause = new MooncakeException(kind, "node " + peer + " at " + endpoint + " by tcp: "
                + (why.getMessage() == null ? why.toString() : why.getMessage()), why);
        ReadStatus status = kind == Kind.CLOSED ? ReadStatus.CANCELED : ReadStatus.UNREACHABLE;
        endAll(waiting, status, cause);
        for (int i = 0; i <= inFlight.highest(); i++) {
            InFlight.Slot slot = inFlight.at(i);
            if (slot != null) {
                GuardedRead read = slot.read;
                RemoteRegion query = slot.query;
                inFlight.end(slot);
                if (read != null) {
                    poller.end(read, status, cause);
                } else if (query != null) {
                    endAll(query.waiting, status, cause);
                }
            }
        }
        for (; messages.poll() != null;) {
            poller.messageGone();
        }
        giveBuffers();
    }

    private void endAll(ReadQueue queue, ReadStatus status, MooncakeException cause) {
        for (GuardedRead read = queue.poll(); read != null; read = queue.poll()) {
            poller.end(read, status, cause);
        }
    }

    /** Who and where, for messages. */
    @Override
    public String toString() {
        return "connection to node " + peer + " at " + endpoint;
    }
}
