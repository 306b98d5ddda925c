package io.mooncake.core.transfer.shm;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.SharedBlock;
import io.mooncake.core.transfer.SharedBlocks;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.copy.ChunkSource;
import io.mooncake.core.transfer.copy.CopyPoller;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Reads from pools of other processes of this host: maps them read-only and copies, or gives a view of a block where it is.
 *
 * <pre>
 *   asked for a peer ──▶ not known yet: false; the poller opens its file ──▶ mapped, or a reason that is kept for a while
 *   submit ──▶ as every copying engine: bytes, load-load fence, guard, chunk by chunk
 *   pin    ──▶ not known yet: null; the poller makes the table of pins, the owner's acknowledges it ──▶ counted there
 * </pre>
 *
 * <p>No thread but the poller's opens, maps or locks anything.
 */
public final class SharedMemoryTransferEngine implements TransferEngine, Poller, ChunkSource, SharedBlocks {
    /** The engine's name. */
    public static final String NAME = "shm";

    private final EngineContext context;
    private final @Nullable SharedMemory own;
    private final CopyPoller copies;
    private final PeerMemories peers;
    private long scannedNs;

    /**
     * An engine for one node.
     *
     * @param context what the node gives
     * @param own the memory of the node's pool, if peers may map it
     */
    public SharedMemoryTransferEngine(EngineContext context, @Nullable SharedMemory own) {
        this.context = context;
        this.own = own;
        copies = new CopyPoller(NAME, this, context.nanoClock(), context.wakeup());
        peers = new PeerMemories(context.self(), context.nanoClock(), copies::wakeup);
        scannedNs = context.nanoClock().getAsLong() - PeerMemories.TICK_NS;
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> advertised() {
        return own == null ? Optional.empty() : Optional.of(own.address());
    }

    @Override
    public Route route(Peer peer, int region) {
        return peers.route(peer, region);
    }

    @Override
    public boolean submit(GuardedRead read) {
        return copies.submit(read);
    }

    /** Every chunk of a read looks by itself: the poller is only to be awake. */
    @Override
    public void abort(GuardedRead read) {
        copies.wakeup();
    }

    @Override
    public Poller poller() {
        return this;
    }

    // ---- where the bytes are

    @Override
    public @Nullable MooncakeException refusal(GuardedRead read) {
        PeerMemory memory = peers.mapped(read.owner());
        if (memory == null || !memory.retain()) {
            return unreachable(read, peers.route(read.owner(), read.region()).reason());
        }
        try {
            return refusal(read, memory);
        } finally {
            memory.release();
        }
    }

    private static MooncakeException unreachable(GuardedRead read, String why) {
        return new MooncakeException(Kind.PEER_UNREACHABLE, read + " by shm: " + why);
    }

    private static @Nullable MooncakeException refusal(GuardedRead read, PeerMemory memory) {
        if (!memory.isOpen()) {
            return unreachable(read, "the node has closed");
        }
        if (read.region() != memory.region()) {
            return new MooncakeException(Kind.OUT_OF_BOUNDS, read + " by shm: only region r" + memory.region()
                    + " of that node is shared memory");
        }
        String objection = memory.objection(read);
        return objection == null ? null : new MooncakeException(Kind.OUT_OF_BOUNDS, read + " by shm: " + objection);
    }

    @Override
    public ReadStatus copy(GuardedRead read, long length) {
        PeerMemory memory = peers.mapped(read.owner());
        if (memory == null || !memory.retain()) {
            // Lost just now.
            return ReadStatus.UNREACHABLE;
        }
        try {
            return memory.copy(read, length);
        } finally {
            memory.release();
        }
    }

    @Override
    public @Nullable SharedBlock pin(Peer owner, int region, long guardOffset, long expected, long offset,
            long length) {
        PeerMemory memory = peers.mapped(owner);
        if (memory == null || region != memory.region()) {
            return null;
        }
        if (!memory.hasPinTable()) {
            peers.wantViews(owner);
            return null;
        }
        return memory.pin(guardOffset, expected, offset, length);
    }

    // ---- the poller

    @Override
    public String roleName() {
        return NAME;
    }

    @Override
    public int doWork() {
        return peers.doWork() + scan() + copies.doWork();
    }

    private int scan() {
        long now = context.nanoClock().getAsLong();
        if (own == null || now - scannedNs < PeerMemories.TICK_NS) {
            return 0;
        }
        scannedNs = now;
        return own.lentPins().scan();
    }

    @Override
    public void park(long maxNs) {
        copies.park(peers.hasWork() ? 0 : maxNs);
    }

    @Override
    public void wakeup() {
        copies.wakeup();
    }

    @Override
    public void onClose() {
        copies.onClose();
        peers.close();
    }

    /** For messages. */
    @Override
    public String toString() {
        NodeId self = context.self();
        return NAME + " engine of node " + self;
    }
}
