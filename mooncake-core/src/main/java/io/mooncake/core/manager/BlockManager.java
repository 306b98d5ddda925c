package io.mooncake.core.manager;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.NextUse;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.SharedBlock;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * This node's authority over its blocks. Any thread, but for {@link #doWork} and {@link #close}, which are the conductor's.
 *
 * <p>A local hit is one lookup and one CAS by the caller's own thread. What changes a block's state beyond that is marked for the
 * conductor, who acts at its next duty cycle. Every method but the ends of what was begun (close, abort, unpin, released) throws
 * CLOSED once the manager is closed; a guarded read's pin is STALE then.
 */
public final class BlockManager {
    /** Not private: tests look at control words. */
    final SlotTable table;
    private final Holds holds;
    private final Caretaker caretaker;
    private final Writers writers;
    private final Views views;
    private final Uses uses;
    private final Closing closing;
    private final GuardPins guards;
    private final Replicas replicas;

    /**
     * An empty manager over open pools.
     *
     * @param config what it is made of
     * @param listener is told what is written and evicted
     */
    public BlockManager(ManagerConfig config, BlockListener listener) {
        table = new SlotTable(config, listener::onDue);
        ForetoldUses foretold = new ForetoldUses(table.slots, config.counters());
        Publication publication = new Publication(table, foretold, config.nanoClock());
        holds = new Holds(table, config.nanoClock());
        caretaker = new Caretaker(table, publication, config, listener);
        writers = new Writers(table, publication, config, holds, caretaker);
        views = new Views(table, config.counters());
        uses = new Uses(table, foretold, config);
        closing = new Closing(table, config, holds, caretaker);
        guards = new GuardPins(table);
        replicas = new Replicas(table, caretaker.evictor());
    }

    // ---- writing

    /**
     * Takes a slot of host memory and the right to an id.
     *
     * @param id what will be written
     * @param length room needed, bytes
     * @param ttlNs how long the id is this writer's alone, nanoseconds, positive
     * @return the writer
     * @throws MooncakeException as {@link #allocate(BlockId, long, Tier, long)}
     */
    public BlockWriter allocate(BlockId id, long length, long ttlNs) {
        return writers.allocate(id, length, Tier.DRAM, ttlNs);
    }

    /**
     * Takes a slot and the right to an id. Waits for a slot if there is none.
     *
     * @param id what will be written
     * @param length room needed, bytes
     * @param tier that the node has
     * @param ttlNs how long the id is this writer's alone, nanoseconds, positive
     * @return the writer
     * @throws MooncakeException INVALID_ARGUMENT or OUT_OF_BOUNDS for the length (there are no empty blocks), IN_USE when another
     *     writer has the id, OUT_OF_MEMORY with the reason when no slot became free in time, TIMEOUT when the thread was
     *     interrupted while it waited (its flag stays set), CLOSED
     */
    public BlockWriter allocate(BlockId id, long length, Tier tier, long ttlNs) {
        return writers.allocate(id, length, tier, ttlNs);
    }

    /**
     * Takes a slot for a copy of another node's block, or of this node's in another tier, without waiting. Writers' rights to ids don't matter
     * here.
     *
     * @param source the block; when that is of this node, the copy counts for nothing if somebody evicts or replaces the block meanwhile
     * @param tier where the copy goes; to SLOW only from a faster tier of this node
     * @return the writer; null when there is no slot now (the conductor was asked to evict for it)
     * @throws MooncakeException as {@link #allocate(BlockId, long, Tier, long)}, for the length; CLOSED
     */
    public @Nullable ReplicaWriter allocateReplica(BlockRef source, Tier tier) {
        return writers.allocateReplica(source, tier);
    }

    /**
     * The same for a copy of another node's block in host memory.
     *
     * @param id the block
     * @param version the source's
     * @param length its bytes
     * @return as {@link #allocateReplica(BlockRef, Tier)}
     * @throws MooncakeException as that
     */
    public @Nullable ReplicaWriter allocateReplica(BlockId id, Version version, long length) {
        return writers.allocateReplica(id, version, length, Tier.DRAM, null);
    }

    /**
     * Sets a slot aside for a block that is not there yet, without waiting: it is that of the next who writes the block there, or brings a
     * copy of it.
     *
     * @param id the block
     * @param length its bytes
     * @param tier VRAM or DRAM
     * @param holdNs how long a copy that comes is held, at most until the reservation is closed; nanoseconds, positive
     * @return null when there is no slot now (the conductor was asked to evict for it), or one is set aside for the block already
     * @throws MooncakeException as {@link #allocate}, for the length; CLOSED
     */
    public @Nullable Reservation reserve(BlockId id, long length, Tier tier, long holdNs) {
        return writers.reserve(id, length, tier, holdNs);
    }

    /**
     * Begins to write into a slot that was set aside. Does not wait.
     *
     * @param reservation of this manager
     * @param ttlNs how long the id is this writer's alone, nanoseconds, positive
     * @return the writer
     * @throws MooncakeException STALE_VERSION when the slot went to somebody else; IN_USE when another writer has the id (the slot is given
     *     back), CLOSED
     */
    public BlockWriter write(Reservation reservation, long ttlNs) {
        return writers.write(reservation, ttlNs);
    }

    /**
     * Until when an id is a writer's that may still commit.
     *
     * @param id the block
     * @return on the node's clock; 0 when nobody is writing it. A block that {@link #find} did not have before this call, and that
     *     nobody is writing now, may have been committed in between: look again
     */
    public long pendingUntil(BlockId id) {
        return writers.pendingUntil(id);
    }

    // ---- reading

    /**
     * A view that holds no block yet.
     *
     * @return for {@link #acquire}
     */
    public BlockView newView() {
        return views.newView();
    }

    /**
     * Pins the block of an id. Allocates nothing.
     *
     * @param id the block
     * @param reusable a view of this manager's that holds none
     * @return false when the block is not here, or only in a tier that has no addresses; of several the fastest is pinned
     * @throws MooncakeException INVALID_ARGUMENT or ILLEGAL_STATE for the view, IN_USE when the block has all the pins it can have, CLOSED
     */
    public boolean acquire(BlockId id, BlockView reusable) {
        return views.acquire(id, reusable);
    }

    /**
     * Pins exactly the version that a reference names. Allocates nothing.
     *
     * @param ref of this node
     * @param reusable a view of this manager's that holds none
     * @return false when it is not here (any more)
     * @throws MooncakeException as {@link #acquire(BlockId, BlockView)}
     */
    public boolean acquire(BlockRef ref, BlockView reusable) {
        return views.acquire(ref, reusable);
    }

    /**
     * Pins the block of an id where a device has an address of it.
     *
     * @param id the block
     * @param reusable a view of this manager's that holds none
     * @param device its number
     * @return false when the block is not here, or nowhere that the device reads in place
     * @throws MooncakeException as {@link #acquire(BlockId, BlockView)}
     */
    public boolean acquire(BlockId id, BlockView reusable, int device) {
        return views.acquire(id, reusable, device);
    }

    /**
     * Lets a view hold a block of a peer's that was pinned there.
     *
     * @param pinned by the caller; the view's close ends the pin
     * @param ref what was pinned
     * @param reusable a view of this manager's that holds none
     */
    public void hand(SharedBlock pinned, BlockRef ref, BlockView reusable) {
        views.hand(pinned, ref, reusable);
    }

    /**
     * Where a block is, without pinning it.
     *
     * @param id the block
     * @return its reference, or null when it is not here
     */
    public @Nullable BlockRef find(BlockId id) {
        table.checkOpen();
        Entry entry = table.blocks.get(id);
        return entry == null ? null : entry.ref;
    }

    // ---- what is known of their use

    /**
     * Counts blocks as used, the first one as the longest ago. Those that are not here don't matter.
     *
     * @param ids blocks
     */
    public void touch(List<BlockId> ids) {
        table.checkOpen();
        uses.touch(ids);
    }

    /**
     * Counts one block as used now, if it is here. Allocates nothing.
     *
     * @param id the block
     */
    public void touch(BlockId id) {
        uses.touch(id);
    }

    /**
     * Says that a block in memory was brought because somebody guessed that it will be used.
     *
     * @param id the block
     * @param version which writing of it
     */
    public void broughtAhead(BlockId id, Version version) {
        uses.broughtAhead(id, version);
    }

    /**
     * Foretells when blocks will be used next, whether they are here yet or not.
     *
     * @param ids in the order of a request
     * @param nextUseNs for each a time on the node's clock, or a word of {@link NextUse}
     * @throws MooncakeException INVALID_ARGUMENT when there are not as many times as ids, CLOSED
     */
    public void hint(List<BlockId> ids, long[] nextUseNs) {
        table.checkOpen();
        uses.hint(ids, nextUseNs);
    }

    // ---- taking away

    /**
     * Takes a block out of the table at once. Who has it pinned keeps its bytes; who holds it keeps it readable by its reference.
     *
     * @param id the block
     * @return false when it is not here; a block that is still being written is not
     */
    public boolean evict(BlockId id) {
        table.checkOpen();
        while (true) {
            Entry entry = table.blocks.get(id);
            if (entry == null) {
                return false;
            }
            if (table.remove(entry, SlotTable.REQUESTED)) {
                return true;
            }
        }
    }

    /**
     * The same for all blocks of a tenant.
     *
     * @param saltTag of the ids of its chains
     * @return how many there were; one that is being written now may come after
     */
    public int reset(int saltTag) {
        table.checkOpen();
        int removed = 0;
        for (Entry entry : table.blocks.all()) {
            removed += entry.ref.id().saltTag() == saltTag && evict(entry.ref.id()) ? 1 : 0;
        }
        return removed;
    }

    /**
     * The same for exactly the version that a reference names.
     *
     * @param ref of this node
     * @return false when that is not here any more
     */
    public boolean evict(BlockRef ref) {
        table.checkOpen();
        Entry entry = table.blocks.named(ref);
        return entry != null && table.remove(entry, SlotTable.REQUESTED);
    }

    /**
     * Takes away exactly the copy that a reference names, as one that is damaged; where the same version is in another tier, too, it stays. The
     * conductor's.
     *
     * @param ref of this node
     * @return false when that copy is not here any more
     */
    public boolean drop(BlockRef ref) {
        table.checkOpen();
        Entry top = table.blocks.get(ref.id());
        Entry entry = top == null ? null : top.at(ref);
        return entry != null && table.removeCopy(entry, SlotTable.REQUESTED);
    }

    /**
     * Gives up the copies of a block above a tier that it is in, each as soon as nobody has it pinned. Of a block that is not there, or that is
     * another version by then, nothing is given up.
     *
     * @param id the block
     * @param version which writing of it
     * @param tier where it stays
     */
    public void sink(BlockId id, Version version, Tier tier) {
        Entry entry = table.blocks.get(id);
        if (entry == null || !entry.ref.version().equals(version) || entry.in(tier) == null) {
            return;
        }
        for (; entry != null && entry.isFasterThan(tier); entry = entry.below()) {
            caretaker.sink(entry);
        }
    }

    // ---- holding

    /**
     * Promises to keep blocks in a tier for a while: all, or as many leading ones as are there.
     *
     * @param ids blocks
     * @param tier in which
     * @param ttlNs nanoseconds, positive
     * @return the hold, of fewer blocks if need be; of none it is empty
     * @throws MooncakeException INVALID_ARGUMENT for the time, CLOSED
     */
    public Hold hold(List<BlockId> ids, Tier tier, long ttlNs) {
        table.checkOpen();
        return holds.hold(ids, tier, ttlNs);
    }

    /**
     * Promises to keep blocks for a while: all, or as many leading ones as are here.
     *
     * @param refs of this node
     * @param ttlNs nanoseconds, positive
     * @return the hold, of fewer refs if need be; of none it is empty
     * @throws MooncakeException INVALID_ARGUMENT for the time, CLOSED
     */
    public Hold hold(List<BlockRef> refs, long ttlNs) {
        table.checkOpen();
        return holds.hold(refs, ttlNs);
    }

    // ---- guarded reads of peers

    /**
     * What engines pin and prove blocks with while peers read them.
     *
     * @return the same one always
     */
    public GuardSource guards() {
        return guards;
    }

    // ---- looking

    /**
     * Whether a version is in a tier.
     *
     * @param ref of that version, in any tier of any node
     * @param tier which
     * @return false when it is not, or not any more
     */
    public boolean isIn(BlockRef ref, Tier tier) {
        Entry top = table.blocks.named(ref);
        return top != null && top.in(tier) != null;
    }

    /**
     * The copy of a version that one in another tier is best made of: the nearest that is faster, else the fastest.
     *
     * @param ref of that version, in any tier of any node
     * @param tier for which
     * @return null when the version is not here
     */
    public @Nullable BlockRef nearest(BlockRef ref, Tier tier) {
        Entry top = table.blocks.named(ref);
        return top == null ? null : top.isFasterThan(tier) ? top.lastAbove(tier).ref : top.ref;
    }

    /**
     * Where a version is, the fastest tier first.
     *
     * @param id the block
     * @return references of this node; empty when it has none
     */
    public List<BlockRef> copies(BlockId id) {
        return table.blocks.refs(id);
    }

    /**
     * Which tiers there are.
     *
     * @return the same ones always
     */
    public Tiers tiers() {
        return table.tiers;
    }

    /**
     * What is known of copies of other nodes' blocks, and done with them.
     *
     * @return the same one always; the conductor's
     */
    public Replicas replicas() {
        return replicas;
    }

    /**
     * What brings blocks down that are to be evicted; without, they are dropped. Before the conductor begins.
     *
     * @param demoter the conductor's
     */
    public void demoteBy(Demoter demoter) {
        caretaker.evictor().demoteBy(demoter);
    }

    /**
     * What moves blocks together where pools are of ranges; without, they stay where they are. Before the conductor begins.
     *
     * @param relocator the conductor's
     */
    public void relocateBy(Relocator relocator) {
        caretaker.compactor().relocateBy(relocator);
    }

    /**
     * Asks for the blocks of pools of ranges to be moved together, now.
     *
     * @return for {@link #hasCompacted}
     */
    public long compact() {
        table.checkOpen();
        return caretaker.compact();
    }

    /**
     * Whether that is done.
     *
     * @param ticket of {@link #compact}
     * @return true also where there is nothing to move
     */
    public boolean hasCompacted(long ticket) {
        return caretaker.compactor().hasAnswered(ticket);
    }

    /**
     * How what is free in a tier's pools of ranges lies.
     *
     * @param tier which
     * @return zeros where the tier has no such pool
     */
    public FreeRanges freeRanges(Tier tier) {
        return table.tiers.freeRanges(tier, caretaker.compactor().needsScratch(tier));
    }

    /**
     * How the slots of the node's memory are shared out.
     *
     * @return sums; exact when there is one pool
     */
    public BlockPool.Usage usage() {
        return usage(Tier.DRAM);
    }

    /**
     * How the slots of a tier's pools are shared out.
     *
     * @param tier which
     * @return sums; exact when there is one pool
     */
    public BlockPool.Usage usage(Tier tier) {
        return table.tiers.usage(tier);
    }

    /**
     * Begins to count what room each pool has.
     *
     * @return for one thread
     */
    public SpaceSurvey survey() {
        return new SpaceSurvey(table);
    }

    /**
     * How many bytes of blocks are in a tier; those that are in several count in each. Looks at every block.
     *
     * @param tier which
     * @return valid bytes
     */
    public long bytes(Tier tier) {
        return table.blocks.bytes(tier);
    }

    /**
     * What is in the table at this moment.
     *
     * @return a copy, in no order
     */
    public List<BlockRef> written() {
        return table.blocks.all().stream().map(entry -> entry.ref).toList();
    }

    /**
     * Blocks in the table.
     *
     * @return how many
     */
    public int writtenBlocks() {
        return table.blocks.size();
    }

    /**
     * Who keeps slots that are not simply cached: pins, holds, writers, by block.
     *
     * @return for messages; {@code nobody} when there is none
     */
    public String describeHolders() {
        return Census.holders(table);
    }

    // ---- the conductor

    /**
     * One bounded duty cycle.
     *
     * @param nowNs on the node's clock
     * @return how much was done; 0 lets the conductor back off
     */
    public int doWork(long nowNs) {
        return holds.endExpired(nowNs) + caretaker.doWork(nowNs);
    }

    /**
     * Whether everything that was committed or evicted before the last duty cycle was reported by its end, whatever came meanwhile.
     *
     * @return for the conductor
     */
    public boolean isCaughtUp() {
        return caretaker.isCaughtUp();
    }

    /**
     * Evicts everything and closes the pools, after the conductor's thread has ended: drives what is left itself. Waits for pins,
     * writers and holds; holds that are left at the deadline are ended.
     *
     * <p>When it throws, the pools that are named keep their memory until the last pin or writer ends, who then closes them; calling it
     * again waits again.
     *
     * @param deadlineNs on the node's clock
     * @throws MooncakeException IN_USE, naming blocks and pins, when pins or writers are left at the deadline
     */
    public void close(long deadlineNs) {
        closing.close(deadlineNs);
    }
}
