package io.mooncake.core.transfer;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;

/**
 * A way to move bytes from a peer's regions to this node's. The contract, equal for every engine:
 *
 * <ul>
 *   <li>a read that was accepted ends exactly once, at the latest one duty cycle after its deadline; where the hardware has work then that
 *       can't be recalled, it is {@linkplain GuardedRead#expire expired} at that time and ends as soon as that work has;
 *   <li>{@link GuardedRead#isGivenUp} is looked at when a read is taken in, between chunks, and after {@link #abort}: what is given up is sent
 *       no more and ends as CANCELED;
 *   <li>OK means that every byte arrived before the guard was seen with the expected value, in the incarnation asked for;
 *   <li>after the end no byte of the destination is written any more;
 *   <li>both sides check bounds;
 *   <li>of the reads that wait, a {@link Priority#LOAD} goes before a {@link Priority#BACKGROUND}.
 * </ul>
 *
 * <p>Submitting is for any thread and allocates nothing; everything else happens in the {@link #poller()}.
 */
public interface TransferEngine {
    /**
     * The engine's name: its key in {@link Peer#addresses()} and in figures.
     *
     * @return for example {@code tcp}
     */
    String name();

    /**
     * Where peers reach this node by this engine.
     *
     * @return the engine's own text form, which the same engine reads at the peer; empty when peers have no way here by it
     */
    Optional<String> advertised();

    /**
     * How the engine stands to a region of a peer: what {@code core} chooses a way by. Any thread; allocates nothing where it is asked
     * again and again.
     *
     * @param peer who
     * @param region the peer's number of the region
     * @return facts and their reason
     */
    Route route(Peer peer, int region);

    /**
     * Whether the engine can bring bytes of a region of a peer into such memory, where {@link #route} says that it can read them. Any thread;
     * allocates nothing.
     *
     * @param peer who has the bytes
     * @param region the peer's number of the region
     * @param destination memory of this node
     * @return for host memory, unless the engine says otherwise
     */
    default boolean reaches(Peer peer, int region, Memory destination) {
        return destination instanceof HostMemory;
    }

    /**
     * Whether the engine reads a pool of a peer that is not in the peer's host memory where it is. Without one that does, the peer brings a block
     * into its host memory first. Any thread; allocates nothing.
     *
     * @param peer who has the bytes
     * @param region the peer's number of such a region
     * @return false, unless the engine says otherwise
     */
    default boolean readsInPlace(Peer peer, int region) {
        return false;
    }

    /**
     * What copies inside the node take that this engine makes, from one device to another, as it measured them before the node began. They stand in the
     * node's row of the matrix. Any thread.
     *
     * @return the same always; none, unless the engine says otherwise
     */
    default List<MeasuredWay> measuredWays() {
        return List.of();
    }

    /**
     * Accepts a read. Any thread.
     *
     * @param read filled by the caller, the engine's from now on
     * @return false when the bounded queue is full or the engine is closed: then the read is the caller's still
     */
    boolean submit(GuardedRead read);

    /**
     * Says that {@link GuardedRead#isGivenUp} of a read has turned true, so that the poller looks at once and not at its next tick. Only
     * a hint: the read may have ended, or be submitted again, by the time it comes. Any thread; never blocks, allocates nothing, O(1).
     *
     * @param read accepted by this engine before
     */
    void abort(GuardedRead read);

    /**
     * Sends a small control message: in order as long as the connection lasts, at most once. Any thread.
     *
     * @param peer to whom
     * @param topic for whom there
     * @param message its remaining bytes, at most {@link EngineContext#MAX_MESSAGE_BYTES}; copied
     * @return false when the engine has no way there, its bounded queue is full, or it sends none, as by default
     * @throws MooncakeException OUT_OF_BOUNDS for a longer message, by an engine that sends
     */
    default boolean send(Peer peer, Topic topic, ByteBuffer message) {
        return false;
    }

    /**
     * A life of a peer is over, as far as the cluster knows: what was asked of it ends at once, UNREACHABLE with the reason, as far as no work
     * of the hardware is outstanding, and its connections are closed. It may be back later, in the same life. Any thread; never refused.
     *
     * @param life which
     * @param reason in words
     */
    default void onPeerDead(NodeId life, String reason) {}

    /**
     * Whether messages to a peer go by this engine and no other at the moment, so that one that it did not take has to wait: by another one
     * it could overtake those before it. Any thread.
     *
     * @param peer to whom
     * @param topic for whom there
     * @return false, unless the engine says otherwise: then the next engine is asked
     */
    default boolean carries(Peer peer, Topic topic) {
        return false;
    }

    /**
     * The agent that does the work.
     *
     * @return the same one always
     */
    Poller poller();
}
