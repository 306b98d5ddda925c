package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Counter;
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

/**
 * A connection that this node made to read from one peer: what {@link PeerLanes} asks of it, and what comes of that.
 *
 * <pre>
 *   CONNECTING ──► GREETING (see ClientHandshake) ──► OPEN          any of them ──► lost: PeerLanes decides what becomes of its ranges
 *
 *   request ──► READ sent, a slot in flight ──► CHUNKs proven ──► the range is proven
 *                    └── given up: CANCEL sent, what comes yet goes nowhere; the slot is free when the server's last frame has come
 * </pre>
 */
final class ClientLane extends Lane {
    /** Room for any request. */
    private static final int REQUEST_BYTES = Frames.HEADER_BYTES + Frames.READ_BYTES;

    private final PeerLanes owner;
    private final NodeId peer;
    private final EngineContext context;
    private final Landing landing;
    private final long madeNs;

    private final ClientHandshake handshake;
    private boolean connected;
    private boolean open;

    private final InFlight inFlight = new InFlight();
    private long outstanding;
    private int abandoned;
    private long abandonedNs;
    private long heardNs;
    private long usedNs;

    ClientLane(TcpPoller poller, SocketChannel channel, PeerLanes owner) throws IOException {
        super(poller, channel, SelectionKey.OP_CONNECT);
        this.owner = owner;
        peer = owner.id();
        context = poller.context();
        landing = new Landing(this, inFlight);
        madeNs = poller.nowNs();
        heardNs = madeNs;
        usedNs = madeNs;
        handshake = new ClientHandshake(poller.credentials(),
                new Greeting(context.cluster(), context.self(), peer, poller.credentials().newNonce()));
        takeBuffers();
    }

    @Override
    NodeId peer() {
        return peer;
    }

    PeerLanes owner() {
        return owner;
    }

    InFlight inFlight() {
        return inFlight;
    }

    @Override
    boolean isOpen() {
        return open;
    }

    /** Bytes asked for that have not arrived. */
    long outstanding() {
        return outstanding;
    }

    /** Whether one more request may go here now. */
    boolean takes(boolean small) {
        // One slot is kept for the query that the request may need before it.
        return open && !lost && inFlight.free() > 1 && hasRoom(2 * REQUEST_BYTES)
                && (small || outstanding < owner.windowBytes());
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
            Message message = owner.messageFor(this);
            if (message != null && hasRoom(Frames.HEADER_BYTES + message.bytes.length)) {
                usedNs = poller.nowNs();
                Frames.header(out, Frames.MESSAGE, message.bytes.length, message.topic.number(),
                        peer.incarnation());
                out.put(message.bytes);
                context.counters().increment(Counter.MESSAGES_SENT);
                owner.messageSent();
            } else if ((message != null || !owner.assign(this)) && (unsent() == 0 || !flush())) {
                return any;
            }
            any = true;
        }
        any |= unsent() > 0;
        flush();
        return any;
    }

    /** Asks what a region is. */
    void query(RemoteRegion region) {
        InFlight.Slot slot = begin();
        slot.query = region;
        Frames.header(out, Frames.QUERY, Frames.QUERY_BYTES, slot.cookie, peer.incarnation());
        out.putInt(region.id);
    }

    /** Asks for the range that was cut. */
    void request(Ranges ranges, RemoteRegion region) {
        GuardedRead read = ranges.read();
        boolean guarded = read.guardOffset() != GuardedRead.NO_GUARD;
        InFlight.Slot slot = begin();
        slot.ranges = ranges;
        slot.read = read;
        slot.start = ranges.at;
        slot.length = ranges.bytes;
        slot.expected = guarded ? read.expected() : 0;
        outstanding += ranges.bytes;
        Frames.header(out, Frames.READ, Frames.READ_BYTES, slot.cookie, peer.incarnation());
        out.putInt(region.id)
                .putInt(guarded ? 1 : 0)
                .putLong(region.keyEpoch)
                .putLong(read.offset() + ranges.at)
                .putLong(ranges.bytes)
                .putLong(guarded ? read.guardOffset() : 0)
                .putLong(slot.expected);
    }

    private InFlight.Slot begin() {
        if (inFlight.isEmpty()) {
            heardNs = poller.nowNs();
        }
        usedNs = poller.nowNs();
        return inFlight.begin();
    }

    @Override
    int read(int most) throws IOException {
        int got = landing.wantsDirect() ? landing.readDirect(channel, most) : fill(landing.readAhead(most));
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
            owner.onOpened();
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
            case Frames.PONG -> onPong(cookie);
            default -> throw new ProtocolException("a frame of type " + type + " came after the handshake's end");
        }
    }

    private void onPong(long cookie) throws ProtocolException {
        InFlight.Slot slot = inFlight.find(cookie);
        if (slot == null || !slot.ping) {
            throw new ProtocolException("a PONG that nobody asked for");
        }
        inFlight.end(slot);
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
        owner.onRegion(region);
    }

    private void onEnd(long cookie, int at, int body) {
        InFlight.Slot slot = inFlight.find(cookie);
        if (slot == null || slot.query != null || slot.ping) {
            context.counters().increment(Counter.STALE_COMPLETIONS);
            return;
        }
        Ranges ranges = slot.ranges;
        int status = in.getInt(at);
        boolean whole = slot.length == 0;
        settle(slot);
        if (ranges == null) {
            context.counters().increment(Counter.STALE_COMPLETIONS);
        } else if (status == Frames.DONE && whole) {
            owner.onProgress();
            owner.onProven(ranges, 0);
        } else {
            ranges.outstanding--;
            owner.end(ranges, endOf(status), status == Frames.STALE ? null : refusal(ranges.read(), status, at, body));
        }
    }

    private static ReadStatus endOf(int status) {
        return switch (status) {
            case Frames.STALE -> ReadStatus.STALE;
            case Frames.STALE_INCARNATION -> ReadStatus.UNREACHABLE;
            default -> ReadStatus.REFUSED;
        };
    }

    private MooncakeException refusal(GuardedRead read, int status, int at, int body) {
        Kind kind = switch (status) {
            case Frames.NO_REGION -> Kind.UNAUTHORIZED;
            case Frames.OUT_OF_BOUNDS -> Kind.OUT_OF_BOUNDS;
            case Frames.BAD_GUARD -> Kind.INVALID_ARGUMENT;
            case Frames.STALE_KEY -> Kind.PEER_UNREACHABLE;
            case Frames.STALE_INCARNATION -> Kind.STALE_INCARNATION;
            default -> Kind.PROTOCOL_ERROR;
        };
        if (status == Frames.STALE_KEY || status == Frames.NO_REGION) {
            owner.forgetRegion(read.region());
        }
        return new MooncakeException(kind, kind == Kind.PROTOCOL_ERROR
                ? "node " + peer + " ended the read with status " + status
                : Frames.text(in, at, body));
    }

    /** So much of a request was received. */
    void onArrived(InFlight.Slot slot, int bytes) {
        slot.landed += bytes;
        outstanding -= bytes;
    }

    /** So much of a request was proven. */
    void onChunk(InFlight.Slot slot, int bytes) {
        slot.position += bytes;
        owner.onProgress();
    }

    /** The server's last frame of a request has come. */
    void settle(InFlight.Slot slot) {
        outstanding -= slot.length - slot.landed;
        if (slot.abandoned) {
            abandoned--;
        }
        inFlight.end(slot);
    }

    /** Wants nothing more of a read: what comes of it yet is dropped. */
    void abandon(Ranges ranges) {
        for (int i = 0; i <= inFlight.highest(); i++) {
            InFlight.Slot slot = inFlight.at(i);
            if (slot != null && ranges.equals(slot.ranges)) {
                slot.ranges = null;
                slot.read = null;
                slot.abandoned = true;
                ranges.outstanding--;
                if (abandoned++ == 0) {
                    abandonedNs = poller.nowNs();
                }
                if (hasRoom(Frames.HEADER_BYTES)) {
                    Frames.header(out, Frames.CANCEL, 0, slot.cookie, peer.incarnation());
                }
            }
        }
    }

    @Override
    void tick(long nowNs) throws IOException {
        super.tick(nowNs);
        if (open) {
            watch(nowNs);
        } else {
            long limitNs = connected ? poller.config().times().handshakeNs() : poller.config().times().connectNs();
            if (nowNs - madeNs >= limitNs) {
                throw LaneLost.stalled(
                        (connected ? "no handshake within " : "no connection within ") + limitNs / 1_000_000 + " ms");
            }
        }
        pump();
    }

    /** Ends the reads in flight that are due or were given up. */
    void expire(long nowNs) {
        for (int i = 0; i <= inFlight.highest(); i++) {
            InFlight.Slot slot = inFlight.at(i);
            if (slot != null && slot.query != null) {
                owner.expire(slot.query.waiting, nowNs);
            } else if (slot != null && slot.ranges != null) {
                Ranges ranges = slot.ranges;
                ReadStatus status = poller.expired(ranges.read(), nowNs);
                if (status != null) {
                    owner.end(ranges, status, null);
                }
            }
        }
    }

    /** A peer that is gone says so seldom: asks where nothing is outstanding, and gives up what nobody answers or nobody uses. */
    private void watch(long nowNs) throws LaneLost {
        TcpConfig.Times times = poller.config().times();
        if (!inFlight.isEmpty() && nowNs - heardNs >= times.stallNs()) {
            throw LaneLost.stalled("the peer answered nothing for " + times.stallNs() / 1_000_000 + " ms");
        }
        if (abandoned > 0 && nowNs - Math.max(heardNs, abandonedNs) >= times.cancelNs()) {
            throw new LaneLost(Kind.PEER_UNREACHABLE, "canceled reads did not end: no byte came for "
                    + times.cancelNs() / 1_000_000 + " ms");
        }
        if (inFlight.isEmpty() && nowNs - usedNs >= times.idleNs()) {
            throw new LaneLost(Kind.CLOSED, "nobody used it for " + times.idleNs() / 1_000_000 + " ms");
        }
        if (inFlight.isEmpty() && nowNs - heardNs >= times.keepAliveNs() && hasRoom(Frames.HEADER_BYTES)) {
            long lastUsedNs = usedNs;
            InFlight.Slot slot = begin();
            usedNs = lastUsedNs;
            slot.ping = true;
            Frames.header(out, Frames.PING, 0, slot.cookie, peer.incarnation());
        }
    }

    @Override
    void onLost(Exception why) {
        giveBuffers();
        owner.onLost(this, why);
    }

    /** Who and where, for messages. */
    @Override
    public String toString() {
        return "connection to " + owner;
    }
}
