package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;

/**
 * One connection: what both ends have in common, which is bytes received and not consumed, and bytes to be sent. The poller's alone.
 *
 * <pre>
 *   in    | consumed |head  received  tail| room |         out   | sent |sentTo  to be sent  position| room |
 * </pre>
 */
abstract class Lane {
    private static final ByteBuffer EMPTY = ByteBuffer.allocate(0);

    final TcpPoller poller;
    final SocketChannel channel;
    private final SelectionKey key;
    private int interest;

    ByteBuffer in = EMPTY;
    int head;
    int tail;
    /** Set by {@link #read}: the socket had less than was asked for, so it is empty. */
    boolean drained;

    ByteBuffer out = EMPTY;
    private int sentTo;
    private boolean blocked;
    private long progressNs;

    /** Where the poller keeps it. */
    int index = -1;
    boolean hot;
    boolean ready;
    /** How many lanes share the budget of this one's peer. */
    int sharers = 1;
    int idlePolls;
    boolean lost;

    Lane(TcpPoller poller, SocketChannel channel, int interest) throws IOException {
        this.poller = poller;
        this.channel = channel;
        this.interest = interest;
        key = channel.register(poller.selector(), interest, this);
    }

    /** Receives and sends what is possible now, within the budget; says whether anything was. */
    boolean poll() throws IOException {
        boolean received = receive();
        boolean sent = pump();
        return received || sent;
    }

    private boolean receive() throws IOException {
        boolean any = false;
        for (int budget = poller.receiveBudget(this); budget > 0;) {
            int got = read(budget);
            if (got < 0) {
                throw new LaneLost(Kind.PEER_UNREACHABLE, "the peer closed the connection");
            }
            if (got == 0) {
                break;
            }
            any = true;
            budget -= got;
            poller.moved(got);
            consume();
            if (drained) {
                break;
            }
        }
        return any;
    }

    /** Reads once, so many bytes at most, as {@link SocketChannel#read(ByteBuffer)} does. */
    abstract int read(int most) throws IOException;

    /** Handles what {@link #in} holds whole. */
    abstract void consume() throws IOException;

    /** Puts frames together and sends them; says whether a byte left. */
    abstract boolean pump() throws IOException;

    /** Whether there is more to send than the socket took. */
    boolean wantsWrite() {
        return unsent() > 0;
    }

    /** Ends what the time has come for; throws when that is the lane. */
    void tick(long nowNs) throws IOException {
        if (blocked && nowNs - progressNs >= poller.config().times().stallNs()) {
            throw LaneLost.stalled("the peer accepted no byte for "
                    + poller.config().times().stallNs() / 1_000_000 + " ms");
        }
    }

    /** The connection is closed: gives back everything that was in its hands. */
    abstract void onLost(Exception why);

    /** Whether the handshake is done. */
    abstract boolean isOpen();

    /** Who is at the other end; null until that is known. */
    abstract @Nullable NodeId peer();

    /** Whether another lane's bytes are of the same peer, and go the same way. */
    final boolean sharesWith(Lane other) {
        NodeId id = peer();
        return id != null && id.equals(other.peer()) && getClass().equals(other.getClass());
    }

    final int fill(int most) throws IOException {
        if (head == tail) {
            head = 0;
            tail = 0;
        } else if (head > 0 && in.capacity() - tail < most) {
            in.limit(tail).position(head).compact();
            tail -= head;
            head = 0;
        }
        int asked = Math.min(most, in.capacity() - tail);
        in.limit(tail + asked).position(tail);
        int got = channel.read(in);
        in.clear();
        tail += Math.max(got, 0);
        drained = got < asked;
        return got;
    }

    /** Whether so many bytes can be appended to {@link #out}. */
    final boolean hasRoom(int bytes) {
        if (out.remaining() < bytes && sentTo > 0) {
            out.limit(out.position()).position(sentTo).compact();
            sentTo = 0;
        }
        return out.remaining() >= bytes;
    }

    final int unsent() {
        return out.position() - sentTo;
    }

    /** Sends {@link #out}; says whether all of it is gone. */
    final boolean flush() throws IOException {
        int end = out.position();
        if (sentTo == end) {
            return true;
        }
        out.limit(end).position(sentTo);
        int sent;
        try {
            sent = channel.write(out);
        } finally {
            sentTo = out.position();
            out.limit(out.capacity()).position(end);
        }
        if (sentTo == end) {
            out.clear();
            sentTo = 0;
        }
        return wrote(sent, sentTo == 0);
    }

    /** Remembers how a write went, for the stall timeout. */
    final boolean wrote(int bytes, boolean all) {
        if (bytes > 0 || !blocked) {
            progressNs = poller.nowNs();
            poller.moved(bytes);
        }
        blocked = !all;
        return all;
    }

    /** Tells the selector what the lane waits for while nobody polls it. */
    void updateInterest() {
        setInterest(wantsWrite() ? SelectionKey.OP_READ | SelectionKey.OP_WRITE : SelectionKey.OP_READ);
    }

    final void setInterest(int wanted) {
        if (wanted != interest) {
            interest = wanted;
            key.interestOps(wanted);
        }
    }

    /** Takes the buffers that an open lane works with; what was received and not consumed, or not sent yet, moves along. */
    final void takeBuffers() {
        ByteBuffer larger = poller.buffers().take();
        int rest = tail - head;
        larger.put(0, in, head, rest);
        in = larger;
        head = 0;
        tail = rest;
        ByteBuffer rested = out.limit(out.position()).position(sentTo);
        out = poller.buffers().take().put(rested);
        sentTo = 0;
    }

    final void giveBuffers() {
        poller.buffers().give(in);
        poller.buffers().give(out);
        in = EMPTY;
        out = EMPTY;
        head = 0;
        tail = 0;
        sentTo = 0;
    }

}
