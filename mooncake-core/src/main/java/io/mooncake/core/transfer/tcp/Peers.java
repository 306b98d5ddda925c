package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Inbox;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The peers that this node reads from: takes reads and messages in and gives each its peer. The poller's. */
final class Peers {
    private final TcpPoller poller;
    private final HostNames names;
    private final Map<NodeId, PeerLanes> byId = new HashMap<>();
    private final List<PeerLanes> all = new ArrayList<>();
    private final ArrayDeque<PeerLanes> touched = new ArrayDeque<>();
    private @Nullable Ranges spare;

    Peers(TcpPoller poller, HostNames names) {
        this.poller = poller;
        this.names = names;
    }

    HostNames names() {
        return names;
    }

    /** Takes a read over. One that cannot even be looked at ends too: nobody else has it any more. */
    void onRead(GuardedRead read) {
        try {
            begin(read);
        } catch (RuntimeException e) {
            poller.end(read, ReadStatus.REFUSED, new MooncakeException(Kind.INVALID_ARGUMENT, read
                    + " by tcp: it says not whole what to read, or where to", e));
        }
    }

    private void begin(GuardedRead read) {
        ReadStatus expired = poller.expired(read, poller.nowNs());
        if (expired != null) {
            poller.end(read, expired, null);
        } else if (read.length() < 0 || read.offset() < 0 || (read.length() > 0 && !read.fitsDestination())) {
            poller.end(read, ReadStatus.REFUSED, new MooncakeException(Kind.OUT_OF_BOUNDS,
                    read + ": a number is negative, or the destination is too small"));
        } else if (read.length() > 0 && !isWritable(read.destination())) {
            poller.end(read, ReadStatus.REFUSED, new MooncakeException(Kind.UNSUPPORTED, read + ": the destination "
                    + read.destination() + " is read-only or no host memory, tcp cannot write it"));
        } else {
            peer(read.owner()).add(read, read.owner().addresses().get(TcpTransferEngine.NAME));
        }
    }

    private static boolean isWritable(Region region) {
        return region.memory() instanceof HostMemory host && !host.segment().isReadOnly();
    }

    void onMessage(Message message) {
        peer(message.to).add(message);
    }

    void onDead(Inbox.Death death) {
        PeerLanes dead = byId.get(death.life());
        if (dead != null) {
            dead.onDead(death.reason());
        }
    }

    private PeerLanes peer(Peer peer) {
        PeerLanes known = byId.get(peer.id());
        if (known == null) {
            known = new PeerLanes(this, poller, peer.id());
            byId.put(peer.id(), known);
            all.add(known);
        }
        return known;
    }

    /** Takes the look-ups' answers. */
    void takeAnswers() {
        for (HostNames.Answer answer = names.poll(); answer != null; answer = names.poll()) {
            answer.asker().onAnswer(answer);
        }
    }

    /** There may be something to send to a peer. */
    void touch(PeerLanes peer) {
        if (!peer.touched) {
            peer.touched = true;
            touched.add(peer);
        }
    }

    /** Whether {@link #pump} has something to do. */
    boolean isTouched() {
        return !touched.isEmpty();
    }

    /** Sends to the peers that were touched before. */
    void pump() {
        for (int i = touched.size(); i > 0; i--) {
            PeerLanes peer = touched.remove();
            peer.touched = false;
            peer.pump();
        }
    }

    /** Ends the reads that are due or were given up. */
    void expire(long nowNs) {
        for (int i = 0; i < all.size(); i++) {
            all.get(i).expire(nowNs);
        }
    }

    void tick(long nowNs) {
        for (int i = 0; i < all.size(); i++) {
            all.get(i).tick(nowNs);
        }
    }

    /** Forgets peers that nobody has asked about for long. */
    void sweep(long nowNs) {
        for (int i = all.size() - 1; i >= 0; i--) {
            PeerLanes peer = all.get(i);
            if (peer.isForgettable(nowNs) && !peer.touched) {
                byId.remove(peer.id());
                all.set(i, all.getLast());
                all.removeLast();
            }
        }
    }

    /** No lane is left and none is made any more: ends what waits for one. */
    void close(MooncakeException cause) {
        all.forEach(peer -> peer.endAll(ReadStatus.CANCELED, cause));
    }

    /** Begins with a read. */
    Ranges take(GuardedRead read) {
        Ranges ranges = spare;
        if (ranges == null) {
            ranges = new Ranges();
        } else {
            spare = ranges.next;
            ranges.next = null;
        }
        ranges.begin(read);
        return ranges;
    }

    /** Takes back what belonged to a read that has ended. */
    void give(Ranges ranges) {
        ranges.next = spare;
        spare = ranges;
    }
}
