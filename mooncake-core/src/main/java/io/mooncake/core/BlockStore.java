package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.NextUse;
import io.mooncake.core.transfer.CompletionQueue;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a compute engine reads and writes blocks with. Any thread, virtual ones too. After the node is closed every method throws
 * CLOSED.
 *
 * <pre>
 *   write    allocate ─▶ fill ─▶ commit ─▶ BlockRef
 *   read     acquire ─▶ address, no copy           the block is on this node
 *            prepare ─▶ submit ─▶ await            wherever it is: copied or pulled, and proven
 * </pre>
 */
public interface BlockStore {
    /**
     * Gets a slot to write a block into host memory.
     *
     * @param id the block
     * @param length room needed, 1 to the largest block
     * @return the right to fill it, to be closed
     * @throws MooncakeException INVALID_ARGUMENT, OUT_OF_BOUNDS; IN_USE while another writer has the id; OUT_OF_MEMORY, with what holds
     *     the memory, when no slot got free in time; TIMEOUT when the thread was interrupted while it waited (its flag stays set)
     */
    default BlockWriter allocate(BlockId id, long length) {
        return allocate(id, length, Placement.DRAM);
    }

    /**
     * Gets a slot to write a block into.
     *
     * @param id the block
     * @param length room needed, 1 to the largest block
     * @param placement where, and for how long the id is the writer's
     * @return the right to fill it, to be closed
     * @throws MooncakeException as {@link #allocate(BlockId, long)}; UNSUPPORTED for a tier that the node does not have
     */
    BlockWriter allocate(BlockId id, long length, Placement placement);

    /**
     * A view that holds no block yet, to be used again and again by one thread at a time.
     *
     * @return a new one
     */
    BlockView newView();

    /**
     * Pins a block of this node's memory and gives its address; no copy, no queue, no allocation.
     *
     * @param id the block, any version
     * @param reusable from {@link #newView()} of this store, holding nothing
     * @return false when the block is not in this node's memory; then the view holds nothing. One that is in its file, or on another node,
     *     comes by {@link Piece#replica(BlockId)}
     */
    boolean acquire(BlockId id, BlockView reusable);

    /**
     * Pins exactly the version that a reference names, if it is on this node.
     *
     * @param ref the block
     * @param reusable from {@link #newView()} of this store, holding nothing
     * @return false when that version is not on this node
     */
    boolean acquire(BlockRef ref, BlockView reusable);

    /**
     * Pins a block of this node or, where it is not here, of a node of this host, and gives its address: no copy, no queue, no system call,
     * and no allocation for a block that was seen before.
     *
     * <p>Another node's block is seen in that node's memory, read-only, and stays as it is until the view is closed, whatever is evicted
     * there, and after that node's end too. The first view of a node's blocks is refused while its memory is being opened, which
     * takes a fraction of a second: read the block then, or ask again.
     *
     * @param id the block, any version; of another node's the highest known one
     * @param reusable from {@link #newView()} of this store, holding nothing
     * @param reach how far to look
     * @return false when the block is not within reach, or not yet; then the view holds nothing
     */
    boolean acquire(BlockId id, BlockView reusable, Reach reach);

    /**
     * The same for exactly the version that a reference names, on the node that it names or on this one.
     *
     * @param ref the block
     * @param reusable from {@link #newView()} of this store, holding nothing
     * @param reach how far to look
     * @return false when that version is not within reach, or not yet
     */
    boolean acquire(BlockRef ref, BlockView reusable, Reach reach);

    /**
     * Pins a block of this node and gives its address, if that is valid on a device: it is on that device, or on another one whose memory that
     * device reads in place.
     *
     * @param id the block, any version
     * @param reusable from {@link #newView()} of this store, holding nothing
     * @param device whose kernels are to read it
     * @return false when the block is not on such a device; then the view holds nothing: {@code promote} it, or read it into the device's memory
     * @throws MooncakeException INVALID_ARGUMENT for a negative number
     */
    boolean acquire(BlockId id, BlockView reusable, int device);

    /**
     * Says in words which way a read of a block that the registry knows would go now, and what keeps it from the others; for people.
     *
     * @param id the block
     * @return for example {@code block x on node b#18: tcp (its address is known), because local: ...; shm: ...}
     */
    String explain(BlockId id);

    /**
     * The same for the node that a reference names, which the registry need not know to have the block.
     *
     * @param ref the block
     * @return as {@link #explain(BlockId)}; it does not say whether the block is still there
     */
    String explain(BlockRef ref);

    /**
     * Looks up a request's blocks and holds those of the leading run that are on this node.
     *
     * @param ids in the order of the request
     * @param ttl how long the hold lasts if it is not closed before
     * @return what is known, to be closed
     */
    PrefixMatch match(List<BlockId> ids, Duration ttl);

    /**
     * Keeps blocks of this node for a while, for a consumer that will pull them.
     *
     * @param refs references to blocks of this node
     * @param ttl how long at most
     * @return a hold on the leading ones of them that are still here
     */
    Hold hold(List<BlockRef> refs, Duration ttl);

    /**
     * Keeps blocks of this node for one that will pull them. The hold ends by itself a few milliseconds after that node has announced replicas
     * of all of them, or is dead; what it reads into memory of its own it does not announce, so that it may say when it has it, and the
     * hold is closed, or its time runs out.
     *
     * @param refs references to blocks of this node
     * @param consumer who will pull them, in this incarnation
     * @param ttl how long at most
     * @return a hold on the leading ones of them that are still here
     */
    Hold hold(List<BlockRef> refs, NodeId consumer, Duration ttl);

    /**
     * Whether a holder is a primary one of its version: the node that wrote it as long as it is known to have it, else each.
     *
     * @param ref the block where it is
     * @return as far as is known here
     */
    boolean isPrimary(BlockRef ref);

    /**
     * Prepares reads of any blocks, wherever they are.
     *
     * <p>An engine takes a bounded number of reads at a time, by TCP 2,048 from one peer. What is more ends at once, UNREACHABLE with
     * the cause BACK_PRESSURE: submit it again when others are done.
     *
     * @param pieces what, and where to
     * @param options deadline and callback
     * @return a transfer to be submitted, as often as wanted
     * @throws MooncakeException OUT_OF_BOUNDS when a destination is too small for a piece of a given length (for {@link Piece#WHOLE} that
     *     is the outcome REFUSED), ILLEGAL_STATE when its region is closed, INVALID_ARGUMENT when it, or the completion queue, is another
     *     node's
     */
    Transfer prepare(List<Piece> pieces, TransferOptions options);

    /**
     * The blocks that the caller must compute because a transfer did not bring them: those of {@link Transfer#recompute()}, each once.
     *
     * @param transfer prepared by this store
     * @return in the order of its pieces; empty when every piece is OK
     * @throws MooncakeException INVALID_ARGUMENT for a transfer of another store
     */
    List<BlockId> recompute(Transfer transfer);

    /**
     * Which version a piece brought, and from whom: of an id that several write one of them, whole.
     *
     * @param transfer prepared by this store, done
     * @param piece its index
     * @return null when the piece is not OK
     * @throws MooncakeException INVALID_ARGUMENT for a transfer of another store
     */
    @Nullable
    BlockRef source(Transfer transfer, int piece);

    /**
     * Where many transfers can be polled when they are done, as {@link TransferOptions#withCompletions} says.
     *
     * @return an empty queue
     */
    CompletionQueue newCompletionQueue();

    /**
     * Reads a range of one block and waits for it.
     *
     * @param id the block, any version
     * @param offset first byte in the block
     * @param length bytes, or {@link Piece#WHOLE}
     * @param region where to
     * @param regionOffset first byte in the region
     * @return what became of it
     * @throws MooncakeException as {@link #prepare}
     */
    default Outcome read(BlockId id, long offset, long length, Region region, long regionOffset) {
        return read(Piece.of(id, offset, length, Destination.at(region, regionOffset)));
    }

    /**
     * Reads the whole of exactly the version that a reference names, and waits for it; needs no registry entry of the block.
     *
     * @param ref the block
     * @param region where to
     * @param regionOffset first byte in the region
     * @return what became of it
     * @throws MooncakeException as {@link #prepare}
     */
    default Outcome read(BlockRef ref, Region region, long regionOffset) {
        return read(Piece.of(ref, 0, Piece.WHOLE, Destination.at(region, regionOffset)));
    }

    /**
     * Reads one piece and waits for it. An interrupt cancels it: CANCELED, and nothing writes the destination any more.
     *
     * @param piece what, and where to
     * @return what became of it
     * @throws MooncakeException as {@link #prepare}
     */
    default Outcome read(Piece piece) {
        Transfer transfer = prepare(List.of(piece), TransferOptions.DEFAULT).submit();
        transfer.joinOrCancel();
        return transfer.outcome(0);
    }

    /**
     * Says that a request used these blocks, in this order: the last one most recently.
     *
     * @param ids the blocks; those that are not here are passed over
     */
    void touch(List<BlockId> ids);

    /**
     * Says when blocks will be used next, as far as the caller knows: what the node keeps and what it evicts goes by that before anything
     * that it observed. Blocks that are not here yet have their hint from their first moment on; of these, the last are kept, four times as many
     * as the node has slots and at least 1,024.
     *
     * <p>A hint stands until the next one for the same block, until the block is evicted, or until its time is over, which then counts as a use.
     *
     * @param ids the blocks, in the order of a request: of blocks with the same time the last ones go first
     * @param nextUseNs one time for each, on the node's nano clock ({@link System#nanoTime()} unless configured otherwise), or
     *     {@link NextUse#NEVER} or {@link NextUse#UNKNOWN}
     * @throws MooncakeException INVALID_ARGUMENT when there are not as many times as ids
     */
    void hint(List<BlockId> ids, long... nextUseNs);

    /**
     * Says in words what each tier of this node holds, and what moved why; for people.
     *
     * @return several lines
     */
    String describe();

    /**
     * Who holds a block, as far as is known.
     *
     * @param id the block
     * @return immutable; empty when nobody is known to
     */
    List<BlockRef> locations(BlockId id);

    /**
     * Evicts blocks from this node: not found from now on, their memory free when the last pin has gone.
     *
     * @param ids the blocks
     * @return how many were here
     */
    int evict(List<BlockId> ids);

    /**
     * Evicts everything of one tenant from this node, out of every tier: what was in its file does not come back after a restart either. Ask
     * every node that may have some.
     *
     * @param salt of the tenant's {@link io.mooncake.core.block.PrefixChain}s, not empty
     * @return how many blocks there were; one that is being written or pulled meanwhile may come after
     * @throws MooncakeException INVALID_ARGUMENT for the empty salt
     */
    int reset(String salt);

    /**
     * Listens to what happens to blocks, from now on; called by the callback executor, one event at a time.
     *
     * @param listener must not block
     * @return closing it ends the listening
     */
    Subscription events(Consumer<? super BlockEvent> listener);

    /**
     * Waits until everything committed and evicted before this call is announced, so that other nodes can find it.
     *
     * @param timeout at most
     * @return false when it took longer
     */
    boolean awaitAnnounced(Duration timeout);

    /** Listening that can be ended. */
    @FunctionalInterface
    interface Subscription extends AutoCloseable {
        /** Ends it. The second time does nothing. */
        @Override
        void close();
    }
}
