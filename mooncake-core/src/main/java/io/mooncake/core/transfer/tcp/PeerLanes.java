package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ReadStatus;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.agrona.collections.Int2ObjectHashMap;
import org.jspecify.annotations.Nullable;

/**
 * One peer as a reader sees it: what waits for it, and the lanes that this goes over. The poller's.
 *
 * <pre>
 *   add ──► waiting ──► (region unknown: QUERY, wait there) ──► cut a range ──► the freest lane ──► proven ──► all of them: ended
 *              ▲                                                                    │
 *              └──────────── lane lost: the range again, on another lane ───────────┘
 *
 *   lanes   none ──► one, by demand ──► as many as the largest read has ranges, one after the other, within the limit
 *           the last one lost, and it cannot be made anew: suspected. Every read ends at once until the cool-down is over; the next
 *           one after that makes a lane, which is the probe
 * </pre>
 */
final class PeerLanes {
    /** Lanes that one read may lose before it ends. */
    private static final int MOST_LOSSES = 3;
    /** Lanes to a host that is not this one: several streams fill a long path and several receive queues, and one lost packet stops one. */
    private static final int REMOTE_LANES = 4;
    /** Enough to keep a wire busy. */
    private static final long WINDOW_BYTES = 8L << 20;
    /** On one host a request takes microseconds, and what stands in the kernel longer than the cache remembers it is copied at half the speed. */
    static final long NEAR_WINDOW_BYTES = 512L << 10;

    private final Peers peers;
    private final TcpPoller poller;
    private final NodeId id;
    private final CoolDown coolDown;
    private final WaitingReads waiting = new WaitingReads();
    private final ArrayDeque<Message> messages = new ArrayDeque<>();
    private final Int2ObjectHashMap<RemoteRegion> regions = new Int2ObjectHashMap<>();
    private final List<ClientLane> lanes = new ArrayList<>();

    private @Nullable String address;
    private @Nullable Endpoint endpoint;
    private @Nullable InetAddress found;
    private int question;
    private boolean asking;
    private long askedNs;
    private @Nullable MooncakeException suspicion;
    private int reads;
    private int lanesWanted = 1;
    private long usedNs;
    private boolean pumping;

    /** Whether {@link Peers} has it on its list. */
    boolean touched;

    PeerLanes(Peers peers, TcpPoller poller, NodeId id) {
        this.peers = peers;
        this.poller = poller;
        this.id = id;
        coolDown = new CoolDown(poller.random());
    }

    NodeId id() {
        return id;
    }

    /** Takes a read over; ends it where the peer's queue is full. */
    void add(GuardedRead read, @Nullable String at) {
        if (reads >= poller.config().limits().peerQueue()) {
            poller.end(read, ReadStatus.UNREACHABLE, new MooncakeException(Kind.BACK_PRESSURE, "node " + id
                    + " by tcp: " + reads + " reads wait for it already, which is all that may for one peer:"
                    + " submit it again when some of them are done"));
            return;
        }
        readdress(at);
        reads++;
        Ranges ranges = peers.take(read);
        // Where the peer has moved closer, fewer are allowed than were wanted before.
        lanesWanted = (int) Math.min(Math.max(ranges.count(), lanesWanted), laneLimit());
        waiting.add(ranges);
        peers.touch(this);
    }

    /** Takes a message over. */
    void add(Message message) {
        readdress(message.to.addresses().get(TcpTransferEngine.NAME));
        messages.add(message);
        peers.touch(this);
    }

    /** The newest address is where the next lane goes; lanes that there are stay. */
    private void readdress(@Nullable String at) {
        usedNs = poller.nowNs();
        if (at != null && !at.equals(address)) {
            address = at;
            endpoint = null;
            found = null;
            asking = false;
            coolDown.forget();
        }
    }

    private int laneLimit() {
        int limit = poller.config().limits().lanes();
        return limit > 0 ? limit : isNear() ? 1 : REMOTE_LANES;
    }

    /** One more large range is asked for on a lane when less than this is still to come on it. */
    long windowBytes() {
        return isNear() ? NEAR_WINDOW_BYTES : WINDOW_BYTES;
    }

    /** Whether no wire is between, as far as is known. */
    private boolean isNear() {
        InetAddress at = found;
        return at == null || at.isLoopbackAddress();
    }

    /** Whether there is nothing to remember. */
    boolean isForgettable(long nowNs) {
        return lanes.isEmpty() && !asking && reads == 0 && messages.isEmpty()
                && nowNs - usedNs >= poller.config().times().idleNs();
    }

    /** Sends what can be sent, over lanes that are made where they are needed. */
    void pump() {
        if (lanes.isEmpty() && (peek() != null || !messages.isEmpty())) {
            grow();
        }
        pumping = true;
        for (int i = lanes.size() - 1; i >= 0; i--) {
            poller.pump(lanes.get(i));
        }
        pumping = false;
        if (reads > 0 && lanes.size() < lanesWanted && allOpen()) {
            grow();
        }
    }

    private boolean allOpen() {
        for (int i = 0; i < lanes.size(); i++) {
            if (!lanes.get(i).isOpen()) {
                return false;
            }
        }
        return !lanes.isEmpty();
    }

    /** Makes one more lane, unless the peer is left alone for now. */
    private void grow() {
        if (asking) {
            return;
        }
        if (coolDown.isCooling(poller.nowNs())) {
            MooncakeException why = suspicion;
            if (lanes.isEmpty() && why != null) {
                endAll(ReadStatus.UNREACHABLE, why);
            }
            return;
        }
        try {
            Endpoint to = endpoint;
            if (to == null) {
                to = parsed();
                endpoint = to;
            }
            InetAddress at = found == null ? HostNames.literal(to.host()) : found;
            if (at == null) {
                asking = true;
                askedNs = poller.nowNs();
                peers.names().ask(this, ++question, to.host());
            } else {
                found = at;
                connect(new InetSocketAddress(at, to.port()));
            }
        } catch (IOException | RuntimeException e) {
            failed(e, false);
        }
    }

    private Endpoint parsed() throws LaneLost {
        String text = address;
        if (text == null) {
            throw new LaneLost(Kind.PEER_UNREACHABLE, "it listens on no tcp address");
        }
        try {
            return Endpoint.parse(text, 0);
        } catch (MooncakeException e) {
            throw new LaneLost(Kind.PEER_UNREACHABLE, String.valueOf(e.getMessage()));
        }
    }

    /** The host's name was looked up. */
    void onAnswer(HostNames.Answer answer) {
        if (!asking || answer.question() != question) {
            return;
        }
        asking = false;
        found = answer.address();
        if (found == null) {
            failed(new LaneLost(Kind.PEER_UNREACHABLE, answer.problem()), false);
        }
        peers.touch(this);
    }

    private void connect(InetSocketAddress to) throws IOException {
        SocketChannel channel = SocketChannel.open();
        try {
            poller.config().tune(channel);
            channel.connect(to);
            ClientLane lane = new ClientLane(poller, channel, this);
            poller.keep(lane);
            lanes.add(lane);
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    /** Membership says that the peer is dead: what it has not sent by now is not waited for. */
    void onDead(String reason) {
        LaneLost why = LaneLost.dead(reason);
        if (lanes.isEmpty()) {
            asking = false;
            failed(why, false);
        }
        while (!lanes.isEmpty()) {
            poller.lose(lanes.getLast(), why);
        }
    }

    /** A lane was lost or not to be had: leaves the peer alone for a while, and without any lane ends what waits. */
    private void failed(Exception why, boolean onceMoreAtOnce) {
        MooncakeException cause = cause(why);
        if (cause.kind() != Kind.CLOSED) {
            coolDown.onFailure(poller.nowNs(), onceMoreAtOnce);
        }
        if (!lanes.isEmpty()) {
            return;
        }
        regions.clear();
        found = null;
        lanesWanted = 1;
        if (cause.kind() == Kind.CLOSED) {
            endAll(ReadStatus.CANCELED, cause);
        } else if (coolDown.isCooling(poller.nowNs())) {
            suspicion = new MooncakeException(cause.kind(), cause.getMessage() + "; suspected, left alone for "
                    + coolDown.leftNs(poller.nowNs()) / 1_000_000 + " ms from then on", cause.getCause());
            endAll(ReadStatus.UNREACHABLE, cause);
        }
    }

    private MooncakeException cause(Exception why) {
        Kind kind = why instanceof LaneLost lost
                ? lost.kind()
                : why instanceof ProtocolException ? Kind.PROTOCOL_ERROR : Kind.PEER_UNREACHABLE;
        return new MooncakeException(kind, this + " by tcp: "
                + (why.getMessage() == null ? why.toString() : why.getMessage()), why);
    }

    /** Ends what waits for a lane. */
    void endAll(ReadStatus status, MooncakeException cause) {
        for (Ranges ranges = waiting.poll(); ranges != null; ranges = waiting.poll()) {
            if (ranges.hasEnded()) {
                peers.give(ranges);
            } else {
                end(ranges, status, cause);
            }
        }
        for (; messages.poll() != null;) {
            poller.messageGone();
        }
    }

    /** The message that a lane is to send, which only the oldest one does: they stay in order. */
    @Nullable
    Message messageFor(ClientLane lane) {
        return messages.isEmpty() || !lanes.getFirst().equals(lane) ? null : messages.peek();
    }

    void messageSent() {
        messages.remove();
        poller.messageGone();
    }

    /** Asks for one more range, over whichever lane is freest; says whether there was one, and a lane for it. */
    boolean assign(ClientLane current) {
        Ranges first = peek();
        ClientLane lane = first == null ? null : freest(first.isSmall());
        if (first == null || lane == null) {
            return false;
        }
        waiting.poll();
        request(first, lane);
        if (!lane.equals(current) && !pumping) {
            peers.touch(this);
        }
        return true;
    }

    /** The read that goes next; forgets those that have ended. */
    private @Nullable Ranges peek() {
        for (;;) {
            Ranges first = waiting.peek();
            if (first == null || !first.hasEnded()) {
                return first;
            }
            waiting.poll();
            peers.give(first);
        }
    }

    private @Nullable ClientLane freest(boolean small) {
        ClientLane freest = null;
        for (int i = 0; i < lanes.size(); i++) {
            ClientLane lane = lanes.get(i);
            if (lane.takes(small) && (freest == null || lane.outstanding() < freest.outstanding())) {
                freest = lane;
            }
        }
        return freest;
    }

    private void request(Ranges ranges, ClientLane lane) {
        GuardedRead read = ranges.read();
        RemoteRegion region = regions.get(read.region());
        if (region == null) {
            region = new RemoteRegion(read.region());
            regions.put(region.id, region);
            lane.query(region);
        }
        if (!region.known) {
            region.waiting.add(ranges);
        } else if (!region.contains(read)) {
            end(ranges, ReadStatus.REFUSED,
                    new MooncakeException(Kind.OUT_OF_BOUNDS, "region r" + region.id + " of node " + id
                            + ": offset " + read.offset() + " + " + read.length() + " > length " + region.length
                            + " (or negative)"));
        } else {
            ReadStatus over = poller.expired(ranges.read(), poller.nowNs());
            if (over != null) {
                end(ranges, over, null);
                return;
            }
            ranges.cut();
            lane.request(ranges, region);
            if (ranges.hasMore()) {
                waiting.add(ranges);
            }
        }
    }

    /** A region is known now, or there is none for peers. */
    void onRegion(RemoteRegion region) {
        if (!region.known) {
            regions.remove(region.id);
        }
        for (Ranges ranges = region.waiting.poll(); ranges != null; ranges = region.waiting.poll()) {
            if (ranges.hasEnded()) {
                peers.give(ranges);
            } else if (region.known) {
                waiting.add(ranges);
            } else {
                end(ranges, ReadStatus.REFUSED,
                        new MooncakeException(Kind.UNAUTHORIZED, "region r" + region.id + " of node " + id
                                + " is unknown, closed or not readable by peers: look up where the block is now"));
            }
        }
        peers.touch(this);
    }

    /** What is known of a region is wrong: asks anew. */
    void forgetRegion(int region) {
        regions.remove(region);
    }

    /** A lane is open now. */
    void onOpened() {
        peers.touch(this);
    }

    /** The peer does what it should. */
    void onProgress() {
        coolDown.onProgress();
    }

    /** A range of so many bytes was proven whole. */
    void onProven(Ranges ranges, long bytes) {
        ranges.outstanding--;
        ranges.proven += bytes;
        if (ranges.proven == ranges.read().length()) {
            end(ranges, ReadStatus.OK, null);
        }
    }

    /** Ends a read; ranges of it that are in flight yet go nowhere from now on. */
    void end(Ranges ranges, ReadStatus status, @Nullable MooncakeException cause) {
        GuardedRead read = ranges.read();
        if (ranges.outstanding > 0) {
            for (int i = 0; i < lanes.size(); i++) {
                lanes.get(i).abandon(ranges);
            }
        }
        ranges.end();
        reads--;
        if (!ranges.queued) {
            peers.give(ranges);
        }
        poller.end(read, status, cause);
    }

    void tick(long nowNs) {
        if (asking && nowNs - askedNs >= poller.config().times().connectNs()) {
            asking = false;
            failed(new LaneLost(Kind.PEER_UNREACHABLE, "its host's name was not looked up within "
                    + poller.config().times().connectNs() / 1_000_000 + " ms"), false);
        }
    }

    /** Ends the reads that are due or were given up. */
    void expire(long nowNs) {
        int before = reads;
        for (int i = 0; i < waiting.queues().size(); i++) {
            expire(waiting.queues().get(i), nowNs);
        }
        for (int i = 0; i < lanes.size(); i++) {
            lanes.get(i).expire(nowNs);
        }
        if (reads != before) {
            peers.touch(this);
        }
    }

    /** Ends what waits in a queue and is due. */
    void expire(RangesQueue queue, long nowNs) {
        Ranges before = null;
        for (Ranges ranges = queue.peek(); ranges != null;) {
            Ranges next = ranges.next;
            ReadStatus status = ranges.hasEnded() ? null : poller.expired(ranges.read(), nowNs);
            if (status == null && !ranges.hasEnded()) {
                before = ranges;
            } else {
                queue.remove(before, ranges);
                if (status == null) {
                    peers.give(ranges);
                } else {
                    end(ranges, status, null);
                }
            }
            ranges = next;
        }
    }

    /** A lane is closed: what was on it goes over another one where that may help, else it ends. */
    void onLost(ClientLane lane, Exception why) {
        lanes.remove(lane);
        MooncakeException cause = cause(why);
        boolean mayHelp = cause.kind() == Kind.PEER_UNREACHABLE && !(why instanceof LaneLost lost && lost.isDeath());
        InFlight table = lane.inFlight();
        for (int i = 0; i <= table.highest(); i++) {
            InFlight.Slot slot = table.at(i);
            if (slot != null) {
                Ranges ranges = slot.ranges;
                RemoteRegion query = slot.query;
                if (ranges != null) {
                    onLost(lane, slot, ranges, mayHelp ? null : cause);
                } else if (query != null) {
                    regions.remove(query.id);
                    requeue(query, mayHelp ? null : cause);
                }
                table.end(slot);
            }
        }
        failed(why, lane.isOpen() && mayHelp && !(why instanceof LaneLost lost && lost.isStall()));
        peers.touch(this);
    }

    private static ReadStatus statusFor(MooncakeException cause) {
        return cause.kind() == Kind.CLOSED ? ReadStatus.CANCELED : ReadStatus.UNREACHABLE;
    }

    private void requeue(RemoteRegion query, @Nullable MooncakeException fatal) {
        for (Ranges ranges = query.waiting.poll(); ranges != null; ranges = query.waiting.poll()) {
            if (ranges.hasEnded()) {
                peers.give(ranges);
            } else if (fatal == null) {
                waiting.add(ranges);
            } else {
                end(ranges, statusFor(fatal), fatal);
            }
        }
    }

    private void onLost(ClientLane lane, InFlight.Slot slot, Ranges ranges, @Nullable MooncakeException fatal) {
        if (ranges.hasEnded()) {
            return;
        }
        if (!lane.equals(ranges.lostLane)) {
            ranges.lostLane = lane;
            ranges.losses++;
        }
        ranges.read().received -= slot.landed - slot.position;
        ranges.askAgain(slot.start + slot.position, slot.length - slot.position);
        ranges.proven += slot.position;
        if (fatal != null) {
            end(ranges, statusFor(fatal), fatal);
        } else if (ranges.losses > MOST_LOSSES) {
            end(ranges, ReadStatus.UNREACHABLE, new MooncakeException(Kind.PEER_UNREACHABLE, this
                    + " by tcp: " + ranges.losses + " connections were lost under " + ranges.read()));
        } else {
            poller.context().counters().increment(Counter.RANGES_RESENT);
            if (!ranges.queued) {
                waiting.add(ranges);
            }
        }
    }

    List<ClientLane> lanes() {
        return lanes;
    }

    /** Who and where, for messages. */
    @Override
    public String toString() {
        return "node " + id + " at " + (address == null ? "no address" : address);
    }
}
