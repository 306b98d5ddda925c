package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import io.mooncake.core.schedule.PlanRequest;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.util.List;

/**
 * What a scheduler moves blocks with: between the tiers of its node, and from its node to others. Any thread, virtual ones too. After the
 * node is closed every method throws CLOSED.
 *
 * <pre>
 *   this node    promote, prefetch        file, or another node ─▶ host memory ─▶ device memory
 *                demote                   device memory ─▶ host memory ─▶ file, then out of what is above
 *   another      replicate                a copy there: it pulls, so what is far is this node's remote tier
 *                migrate                  the same, and when it has the block this node gives it up
 *   several      run                      a request's blocks where it is prefilled and where it is decoded
 * </pre>
 *
 * <p>Every movement is a {@link Transfer}, submitted already, with one piece a block in the order of the ids: deadline, priority and cancel are
 * those of its options, a canceled one leaves every block readable where it was. At every step somebody has the block readable: the source goes
 * only when the target has it and is known to, and then only when nobody has it pinned.
 */
public interface BlockMover {
    /**
     * Brings blocks into this node's host memory: see {@link #promote(List, Tier, TransferOptions)}.
     *
     * @param ids the blocks
     * @param options deadline, priority and who is told
     * @return as that
     * @throws MooncakeException CLOSED
     */
    default Transfer promote(List<BlockId> ids, TransferOptions options) {
        return promote(ids, Tier.DRAM, options);
    }

    /**
     * Brings blocks into a tier of this node, out of another one or from the nearest node that has them; into VRAM by way of host memory. Where
     * a block was it stays, until its room is needed.
     *
     * @param ids the blocks
     * @param tier VRAM or DRAM
     * @param options deadline, priority and who is told
     * @return OK for a block that can be acquired now; ABSENT where nobody has it; TIMED_OUT with the holders of the memory as the cause when
     *     there was no room; REFUSED with UNSUPPORTED as the cause where the node has no such tier
     * @throws MooncakeException CLOSED
     */
    Transfer promote(List<BlockId> ids, Tier tier, TransferOptions options);

    /**
     * {@link #promote(List, TransferOptions)} of blocks that nobody waits for yet: behind every load, without counting them as used, and within a budget
     * ({@code prefetch.bandwidth}), which shrinks as far as what was fetched so is evicted without having been used. Cancel it when its request
     * is.
     *
     * @param ids the blocks, the one that is needed first at the front
     * @return as {@link #promote}
     * @throws MooncakeException CLOSED
     */
    Transfer prefetch(List<BlockId> ids);

    /**
     * Makes blocks of this node durable in its file: see {@link #demote(List, Tier, TransferOptions)}.
     *
     * @param ids the blocks
     * @param options deadline, priority and who is told
     * @return as that
     * @throws MooncakeException CLOSED
     */
    default Transfer demote(List<BlockId> ids, TransferOptions options) {
        return demote(ids, Tier.SLOW, options);
    }

    /**
     * Brings blocks of this node down into a tier, and gives up what they have in faster ones as soon as nobody has them pinned there.
     *
     * @param ids the blocks
     * @param tier DRAM or SLOW, the file
     * @param options deadline, priority and who is told
     * @return OK for a block that is there, in the file durably; REFUSED with UNSUPPORTED as the cause where the node has no such tier
     * @throws MooncakeException CLOSED
     */
    Transfer demote(List<BlockId> ids, Tier tier, TransferOptions options);

    /**
     * Asks another node to take copies of blocks of this one; it pulls them, the first ones first. Each copy is a replica like any other.
     *
     * @param ids blocks of this node, in whatever tier
     * @param to who is to have them too
     * @param options deadline, priority of the pull there, and who is told
     * @return OK for a block that is there; ABSENT for one that is not here; UNREACHABLE when that node is not, or dies; else what its pull
     *     ended as; REFUSED with IN_USE as the cause for a block that is being moved by another call
     * @throws MooncakeException INVALID_ARGUMENT when that node is this one; CLOSED
     */
    Transfer replicate(List<BlockId> ids, NodeId to, TransferOptions options);

    /**
     * Hands blocks of this node over to another one, which is their primary then: it pulls them, and when it is known to have one, this node
     * gives it up, in every tier. Who has it pinned here keeps its bytes; a reference to it here is stale then, and is looked up again.
     *
     * @param ids blocks of this node, in whatever tier
     * @param to who is to have them instead
     * @param options deadline, priority of the pull there, and who is told
     * @return as {@link #replicate}; a block that is not OK is still here
     * @throws MooncakeException INVALID_ARGUMENT when that node is this one; CLOSED
     */
    Transfer migrate(List<BlockId> ids, NodeId to, TransferOptions options);

    /**
     * Keeps blocks in a tier for a while, whatever policies say.
     *
     * @param ids the blocks
     * @param tier of the node
     * @param ttl how long, if the hold is not closed before
     * @return a hold on the leading ones of them that are in that tier: promote or demote the others first
     * @throws MooncakeException INVALID_ARGUMENT for a time that is not positive; CLOSED
     */
    Hold pin(List<BlockId> ids, Tier tier, Duration ttl);

    /**
     * Moves the blocks of this node together, and says what is free in its host memory then: see {@link #compact(Tier, Duration)}.
     *
     * @param timeout how long to wait for it; it goes on all the same
     * @return as that
     * @throws MooncakeException INVALID_ARGUMENT for a time that is not positive; CLOSED
     */
    default FreeRanges compact(Duration timeout) {
        return compact(Tier.DRAM, timeout);
    }

    /**
     * Moves the blocks of this node together, in every tier, so that what is free of a pool is one range, without waiting for an idle window: of pools
     * whose blocks take as many bytes as they need ({@code pool.leastBlock}); where every slot has its place there is nothing to do. Blocks that
     * are pinned or held stay where they are. Readers of a block that is moved find it, or that its reference is stale and where it is now.
     *
     * @param tier of whose free room is to be told
     * @param timeout how long to wait for it; it goes on all the same
     * @return what is free then; how it lies, and whether there was no scratch space to move a block through
     * @throws MooncakeException INVALID_ARGUMENT for a time that is not positive; CLOSED
     */
    FreeRanges compact(Tier tier, Duration timeout);

    /**
     * Evicts blocks from this node, out of every tier: not found from now on, their room free when the last pin has gone.
     *
     * @param ids the blocks
     * @return how many were here
     * @throws MooncakeException CLOSED
     */
    int evict(List<BlockId> ids);

    /**
     * Serves a request by a plan: the node's {@code Scheduler} chooses who prefills and who decodes, and each of them is told its steps: to reserve room,
     * to pull what is cached, to have computed what is not, to seal and send that over, to decode, and to give everything back. When it can't be done
     * so, another plan is made.
     *
     * @param request what is served
     * @param options for how long, and who is told
     * @return the plan that is being carried out
     * @throws MooncakeException BACK_PRESSURE when this node runs too many; CLOSED
     */
    PlanRun run(PlanRequest request, PlanOptions options);

    /**
     * From now on this node computes for plans, of whichever node. Plans keep away from one that does not.
     *
     * @param worker called for each PREFILL and DECODE here
     * @return closing it ends that, for what was not begun
     * @throws MooncakeException IN_USE when there is a worker already; CLOSED
     */
    BlockStore.Subscription computeBy(PlanWorker worker);

    /**
     * Where a new block is best put: by default the node of which the largest share is free, as far as is known and counting what this node placed
     * since, so that nodes of different size fill up together.
     *
     * @param bytes of the block
     * @return a live node, perhaps this one; whether there is room is said by who writes there
     * @throws MooncakeException INVALID_ARGUMENT for no bytes, OUT_OF_MEMORY when no node is large enough; CLOSED
     */
    NodeId place(long bytes);
}
