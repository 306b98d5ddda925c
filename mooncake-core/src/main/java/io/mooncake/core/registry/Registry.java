package io.mooncake.core.registry;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.Peer;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The cluster as seen from here: who is there, where, and who holds which block. A hint for <em>where</em>; whether a block is
 * still there is the guard's word, so a stale registry costs a retry and never a wrong byte.
 *
 * <p>Every fact has one writer: a node announces its own blocks only. Reading is for any thread and allocates nothing; announcing is for
 * the node's conductor.
 */
public interface Registry {
    /**
     * Gets ready, and raises a new life above every one that is known of its name. Called once by a node that starts, before anything
     * is committed or served; may block, as long as it takes to reach the others or to find that there are none.
     *
     * @param proposed the life that the node would like to be
     * @return that one, or the one after the latest known
     * @throws MooncakeException CONFIG_ERROR when an address cannot be bound
     */
    default NodeId begin(NodeId proposed) {
        return proposed;
    }

    /**
     * Names the one who is told of changes among the members, before {@link #join}.
     *
     * @param listener must not block; called by a thread of the registry's
     */
    default void watch(Consumer<? super MemberChange> listener) {}

    /**
     * Gives it the node's own messages, for what is large, before {@link #join}.
     *
     * @param control carries them between members that know each other's addresses
     */
    default void carriedBy(ControlChannel control) {}

    /**
     * How the registry fares; any thread, at any time.
     *
     * @return without troubles where nothing can be wrong
     */
    default RegistryStatus status() {
        return new RegistryStatus(null, nodes().size(), 0, List.of());
    }

    /**
     * Makes a node known.
     *
     * @param self the node and where its engines listen
     * @throws MooncakeException IN_USE when a live node has the name
     */
    void join(Peer self);

    /**
     * Forgets a node and all its blocks; when it is the one that began here, ends what {@link #begin} got ready.
     *
     * @param node who, whether or not it has joined
     */
    void leave(NodeId node);

    /**
     * Who is there.
     *
     * @return a copy, this node included
     */
    List<Peer> nodes();

    /**
     * Finds one process life of a node.
     *
     * @param node with the incarnation wanted
     * @return null when no such life is known
     */
    @Nullable
    Peer peer(NodeId node);

    /**
     * How many changes of a node's facts are known here, none of them missing: what a node announced is known elsewhere once this is as high
     * there as it was at the node. Any thread.
     *
     * @param node in this incarnation
     * @return 0 where nothing is known of it, and where all nodes share one truth, of which nothing can be late
     */
    default long changesKnown(NodeId node) {
        return 0;
    }

    /**
     * Who holds a block.
     *
     * @param id the block
     * @return immutable; empty when nobody is known to
     */
    List<BlockRef> locations(BlockId id);

    /**
     * The highest version counter known of a block, so that a new version is above it.
     *
     * @param id the block
     * @return that of the highest version among {@link #locations}; 0 when none is known
     */
    default long highestCounter(BlockId id) {
        long highest = 0;
        List<BlockRef> refs = locations(id);
        for (int i = 0; i < refs.size(); i++) {
            highest = Math.max(highest, refs.get(i).version().counter());
        }
        return highest;
    }

    /**
     * Whether a holder is a primary one of its version. The first is the node that wrote it; when that is dead, or has it no more, each holder
     * is, without an election.
     *
     * @param ref the block where it is
     * @return as far as is known here
     */
    default boolean isPrimary(BlockRef ref) {
        long writer = ref.version().writer();
        if (ref.node().incarnation() == writer) {
            return true;
        }
        List<BlockRef> refs = locations(ref.id());
        for (int i = 0; i < refs.size(); i++) {
            BlockRef other = refs.get(i);
            if (other.version().equals(ref.version()) && other.node().incarnation() == writer) {
                return false;
            }
        }
        return true;
    }

    /**
     * A block of the node is there.
     *
     * @param written where
     */
    void announce(BlockRef written);

    /**
     * What the node measured between itself and another one, in place of what it said of that pair before. A registry may have no room for
     * it.
     *
     * @param measured whole; without figures to withdraw it
     */
    default void announce(PairFigures measured) {}

    /**
     * What all nodes measured.
     *
     * @return the pairs that were announced of which both are known to live
     */
    default List<PairFigures> figures() {
        return List.of();
    }

    /**
     * What room the node has, in place of what it said before. A registry may have no use for it.
     *
     * @param space of this node
     */
    default void announce(NodeSpace space) {}

    /**
     * What room a node has.
     *
     * @param node in this incarnation
     * @return as it said last; null when it said nothing or is not there any more
     */
    default @Nullable NodeSpace space(NodeId node) {
        return null;
    }

    /**
     * A block of the node is gone.
     *
     * @param evicted as announced
     */
    void withdraw(BlockRef evicted);
}
