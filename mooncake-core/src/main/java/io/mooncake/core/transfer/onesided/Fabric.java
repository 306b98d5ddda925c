package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Topic;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * What can read a peer's memory without the peer's CPU: the network cards of a node, or a simulated network. Its lanes post READs and
 * its one completion queue says what became of them.
 *
 * <p>Called by the engine's poller alone, but for {@link #reaches}, {@link #canWrite} and {@link #wakeup}, which are for any thread, and the figures, which
 * never change. Nothing blocks and nothing calls back, except {@link #poll}.
 */
public interface Fabric {
    /**
     * The engine's name: its key in a peer's addresses and in figures.
     *
     * @return for example {@code rdma}
     */
    String name();

    /**
     * Where peers reach this node.
     *
     * @return the fabric's own text form; empty when peers have no way here by it
     */
    Optional<String> advertised();

    /**
     * Whether there is a way to a peer.
     *
     * @param peer who
     * @return false when it has no address of this fabric
     */
    boolean reaches(Peer peer);

    /**
     * Whether the fabric can write memory of this node, as far as it knows: of memory that it was never told of it finds out by the first read.
     *
     * @param destination memory of this node
     * @return false for memory that is read-only or of a device that the fabric does not reach
     */
    boolean canWrite(Memory destination);

    /**
     * Says where proofs land: what a fabric learns of that region it keeps, since every read needs it. Before anything else is asked.
     *
     * @param proofs a region of this node
     */
    default void keep(Region proofs) {}

    /**
     * What the queues hold.
     *
     * @return never changes
     */
    FabricLimits limits();

    /**
     * Begins to connect a lane. What becomes of that is told by {@link #poll}.
     *
     * @param peer with whom; another process life of that name is refused
     * @param listener told what happens to the lane
     * @return the lane; the caller destroys it, whatever becomes of it
     */
    Lane connect(Peer peer, LaneListener listener);

    /**
     * Reports what happened since: to lanes by their listeners, to requests by {@code completions}. Only here are listeners called.
     *
     * @param completions told of each request that ended
     * @param limit completions at most
     * @return completions reported; fewer than limit when no more stand in the queue
     */
    int poll(Completions completions, int limit);

    /** Has everything posted begin: the end of every duty cycle, so that a fabric can hand over many requests at once. */
    void flush();

    /**
     * Blocks the polling thread until there may be something to poll.
     *
     * @param maxNs nanoseconds at most
     */
    void park(long maxNs);

    /** Ends {@link #park}, now or the next one. Any thread; cheap when nothing is parked. */
    void wakeup();

    /**
     * Sends a control message; see {@link io.mooncake.core.transfer.TransferEngine#send}. Any thread.
     *
     * @param peer to whom
     * @param topic for whom there
     * @param message its remaining bytes; copied
     * @return false when it was not taken: always, unless the fabric has messages
     */
    default boolean send(Peer peer, Topic topic, ByteBuffer message) {
        return false;
    }

    /**
     * Whether messages to a peer go this way alone; see {@link io.mooncake.core.transfer.TransferEngine#carries}. Any thread.
     *
     * @param peer to whom
     * @param topic for whom there
     * @return false, unless the fabric has messages
     */
    default boolean carries(Peer peer, Topic topic) {
        return false;
    }

    /**
     * Membership says that a process life is dead: what it has of this node is of no use any more.
     *
     * @param life who
     */
    default void onDead(NodeId life) {}

    /** Gives everything back. Every lane was destroyed before. */
    void close();

    /** Takes what the completion queue says. */
    @FunctionalInterface
    interface Completions {
        /**
         * A request has ended: from now on the fabric writes no byte for it.
         *
         * @param cookie as posted
         * @param end how; OK proves nothing yet, since a lane may report it when it is already broken
         */
        void onCompletion(long cookie, RequestEnd end);
    }
}
