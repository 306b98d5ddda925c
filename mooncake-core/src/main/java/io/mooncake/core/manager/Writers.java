package io.mooncake.core.manager;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter.Result;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.manager.Publication.Published;
import io.mooncake.core.pool.StreamOrder.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Who may write: slots and ids for writers, versions for what they commit, and what becomes of their slots. Any thread. */
final class Writers {
    private final ManagerConfig config;
    private final SlotTable table;
    private final Publication publication;
    private final Holds holds;
    private final Caretaker caretaker;
    private final ConcurrentHashMap<BlockId, SlotWriter> byId = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<BlockId, Reservation> reserved = new ConcurrentHashMap<>();
    private final AtomicLong lastCounter;

    Writers(SlotTable table, Publication publication, ManagerConfig config, Holds holds, Caretaker caretaker) {
        this.table = table;
        this.publication = publication;
        this.config = config;
        this.holds = holds;
        this.caretaker = caretaker;
        lastCounter = new AtomicLong(publication.storedCounter);
    }

    // ---- the right to write

    /** {@link BlockManager#allocate}. */
    SlotWriter allocate(BlockId id, long length, Tier tier, long ttlNs) {
        table.checkOpen();
        checkLength(id, length, tier);
        Holds.checkTtl(ttlNs);
        SlotWriter other = byId.get(id);
        if (other != null && other.isLive(now())) {
            throw inUse(id, other);
        }
        Lease lease = takeReserved(id, length, tier);
        if (lease == null) {
            lease = table.reserve(id, length, tier);
        }
        return claim(lease != null ? lease : awaitSlot(id, length, tier), ttlNs);
    }

    /** {@link BlockManager#write}. */
    SlotWriter write(Reservation reservation, long ttlNs) {
        Holds.checkTtl(ttlNs);
        Lease lease = reservation.take(reservation.length());
        if (lease == null) {
            throw new MooncakeException(Kind.STALE_VERSION,
                    reservation + " went to who brought the block here: look for it, or reserve it again");
        }
        reserved.remove(lease.id(), reservation);
        return claim(lease, ttlNs);
    }

    /** {@link BlockManager#reserve}. */
    @Nullable
    Reservation reserve(BlockId id, long length, Tier tier, long holdNs) {
        table.checkOpen();
        checkLength(id, length, tier);
        Holds.checkTtl(holdNs);
        Lease lease = reserved.containsKey(id) ? null : reserveOrWant(id, length, tier);
        if (lease == null) {
            return null;
        }
        Reservation mine = new Reservation(this, lease, holdNs);
        if (reserved.putIfAbsent(id, mine) != null) {
            table.giveBack(lease);
            return null;
        }
        if (table.closed) {
            mine.close();
            throw table.closedException();
        }
        return mine;
    }

    void unreserve(Reservation reservation, @Nullable Lease lease) {
        reserved.remove(reservation.id(), reservation);
        if (lease != null) {
            table.giveBack(lease);
        }
    }

    private @Nullable Lease takeReserved(BlockId id, long length, Tier tier) {
        Reservation reservation = reserved.get(id);
        Lease lease = reservation == null || reservation.tier() != tier ? null : reservation.take(length);
        if (lease != null) {
            reserved.remove(id, reservation);
        }
        return lease;
    }

    private @Nullable Lease lendReserved(BlockId id, long length, Tier tier) {
        Reservation reservation = reserved.get(id);
        return reservation == null || reservation.tier() != tier ? null : reservation.lend(length);
    }

    private SlotWriter claim(Lease lease, long ttlNs) {
        long now = now();
        SlotWriter mine = new SlotWriter(this, lease, now + ttlNs);
        SlotWriter other = byId.putIfAbsent(lease.id(), mine);
        while (other != null) {
            if (!other.overtake(now)) {
                table.giveBack(lease);
                throw inUse(lease.id(), other);
            }
            if (byId.replace(lease.id(), other, mine)) {
                break;
            }
            other = byId.putIfAbsent(lease.id(), mine);
        }
        if (table.closed) {
            mine.close();
            throw table.closedException();
        }
        return mine;
    }

    private Lease awaitSlot(BlockId id, long length, Tier tier) {
        config.counters().increment(Counter.ALLOCATE_WAITS);
        @Nullable
        Lease[] found = new @Nullable Lease[1];
        long deadlineNs = now() + config.allocateTimeoutNs();
        config.waiter()
                .await(() -> table.closed || (found[0] = reserveOrWant(id, length, tier)) != null, deadlineNs);
        Lease lease = found[0];
        if (lease != null) {
            return lease;
        }
        table.checkOpen();
        config.counters().increment(Counter.ALLOCATE_REFUSED);
        if (Thread.currentThread().isInterrupted() && deadlineNs - now() > 0) {
            throw new MooncakeException(Kind.TIMEOUT, "interrupted while waiting for a slot for " + length
                    + " bytes of block " + id
                    + "; the thread's interrupt flag stays set: allocate again once it is cleared");
        }
        throw new MooncakeException(Kind.OUT_OF_MEMORY, "no slot for " + length + " bytes of block " + id + " within "
                + config.allocateTimeoutNs() / 1_000_000 + " ms: " + Census.of(table, length, tier));
    }

    private @Nullable Lease reserveOrWant(BlockId id, long length, Tier tier) {
        Lease lease = table.reserve(id, length, tier);
        if (lease == null) {
            caretaker.want(id, length, tier);
        }
        return lease;
    }

    /** {@link BlockManager#allocateReplica}. */
    @Nullable
    ReplicaWriter allocateReplica(BlockRef source, Tier tier) {
        BlockRef own = source.node().equals(table.self) ? source : null;
        return allocateReplica(source.id(), source.version(), source.length(), tier, own);
    }

    /** @param own where it is in another tier of this node; null when it is another node's */
    @Nullable
    ReplicaWriter allocateReplica(BlockId id, Version version, long length, Tier tier, @Nullable BlockRef own) {
        table.checkOpen();
        checkLength(id, length, tier);
        Lease lease = lendReserved(id, length, tier);
        if (lease == null) {
            lease = reserveOrWant(id, length, tier);
        }
        if (lease != null && table.closed) {
            table.giveBack(lease);
            throw table.closedException();
        }
        if (lease == null) {
            return null;
        }
        lease.space().pool().intend(lease.localSlot(), id, version, length);
        return new ReplicaWriter(this, lease, version, own);
    }

    /** {@link BlockManager#pendingUntil}. */
    long pendingUntil(BlockId id) {
        SlotWriter writer = byId.get(id);
        if (writer == null || !writer.isLive(now())) {
            return 0;
        }
        return writer.deadlineNs() == 0 ? 1 : writer.deadlineNs();
    }

    /** The writer has taken its one shot: the id is free. */
    void ended(SlotWriter writer) {
        byId.remove(writer.id(), writer);
    }

    // ---- what becomes of a slot

    Published publish(Lease lease, long validBytes, boolean held) {
        BlockId id = lease.id();
        boolean sameContent = id.isContentAddressed();
        Entry there = sameContent ? table.blocks.get(id) : null;
        boolean comesUp = there != null && lease.isFasterThan(there.tier);
        if (there != null && !comesUp && (!held || table.hold(there))) {
            giveBackUnsealed(lease);
            return count(new Published(Result.ALREADY_WRITTEN, there), Counter.BLOCKS_WRITTEN);
        }
        // What is here in a slower tier comes up by being written again.
        Version version = there != null && comesUp ? there.ref.version() : nextVersion(lease);
        return count(publication.publish(lease, version, validBytes, held, sameContent), Counter.BLOCKS_WRITTEN);
    }

    Published publishReplica(Lease lease, Version version, @Nullable BlockRef own) {
        Reservation reservation = reserved.get(lease.id());
        if (reservation == null || !reservation.isOf(lease)) {
            return publishReplica(lease, version, own, false);
        }
        reserved.remove(lease.id(), reservation);
        reservation.spent();
        Published published = publishReplica(lease, version, own, own == null);
        // One of this node's own is held if it is not gone by now.
        if (own == null || (published.result() != Result.SUPERSEDED && table.hold(published.entry()))) {
            reservation.arrived(holds.begin(List.of(published.entry()), reservation.holdNs()));
        }
        return published;
    }

    private Published publishReplica(Lease lease, Version version, @Nullable BlockRef own, boolean held) {
        if (table.closed) {
            table.giveBack(lease);
            throw table.closedException();
        }
        Entry there = table.blocks.get(lease.id());
        boolean promoted = there != null && lease.isFasterThan(there.tier);
        if (own != null) {
            return count(publication.publishBeside(lease, own),
                    promoted ? Counter.BLOCKS_PROMOTED : Counter.BLOCKS_DEMOTED);
        }
        if (there != null && !promoted && there.ref.version().equals(version) && (!held || table.hold(there))) {
            table.giveBack(lease);
            return count(new Published(Result.ALREADY_WRITTEN, there), Counter.BLOCKS_REPLICATED);
        }
        return count(publication.publish(lease, version, lease.length(), held, false),
                promoted ? Counter.BLOCKS_PROMOTED : Counter.BLOCKS_REPLICATED);
    }

    private void giveBackUnsealed(Lease lease) {
        table.giveBack(lease);
        if (table.closed) {
            throw table.closedException();
        }
    }

    private Published count(Published published, Counter written) {
        config.counters().increment(switch (published.result()) {
            case ALREADY_WRITTEN -> Counter.BLOCKS_ALREADY_WRITTEN;
            case SUPERSEDED -> Counter.BLOCKS_SUPERSEDED;
            default -> written;
        });
        return published;
    }

    /** One more than any counter this node gave out or knows for the id. */
    private Version nextVersion(Lease lease) {
        long known;
        try {
            table.checkOpen();
            known = config.knownCounter().applyAsLong(lease.id());
        } catch (RuntimeException e) {
            table.giveBack(lease);
            throw e;
        }
        Entry there = table.blocks.get(lease.id());
        if (there != null) {
            known = Math.max(known, there.ref.version().counter());
        }
        while (true) {
            long last = lastCounter.get();
            long next = Math.max(last, known) + 1;
            if (lastCounter.compareAndSet(last, next)) {
                return new Version(next, table.self.incarnation());
            }
        }
    }

    void abort(Lease lease) {
        Reservation reservation = reserved.get(lease.id());
        if (reservation != null && reservation.takesBack(lease)) {
            config.counters().increment(Counter.WRITES_ABORTED);
        } else {
            abort(lease, new ArrayList<>(0));
        }
    }

    void abort(Lease lease, List<Work> works) {
        config.counters().increment(Counter.WRITES_ABORTED);
        giveBack(lease, works);
    }

    void stale(Lease lease, List<Work> works) {
        config.counters().increment(Counter.WRITES_STALE);
        giveBack(lease, works);
    }

    /** Quarantined as long as devices still write into it. */
    private void giveBack(Lease lease, List<Work> works) {
        works.removeIf(Work::hasEnded);
        if (works.isEmpty()) {
            table.giveBack(lease);
            return;
        }
        table.quarantine(lease);
        AtomicInteger left = new AtomicInteger(works.size());
        for (Work work : works) {
            table.streamEnds.add(work, () -> {
                if (left.decrementAndGet() == 0) {
                    table.released(lease);
                }
            });
        }
        works.clear();
    }

    void abandon(Lease lease) {
        config.counters().increment(Counter.WRITES_ABORTED);
        table.quarantine(lease);
    }

    void released(Lease lease) {
        table.released(lease);
    }

    Hold holdOf(Entry entry, long ttlNs) {
        return holds.begin(List.of(entry), ttlNs);
    }

    // ---- checks

    private long now() {
        return config.nanoClock().getAsLong();
    }

    private MooncakeException inUse(BlockId id, SlotWriter other) {
        return new MooncakeException(Kind.IN_USE, "block " + id + " is being written by another writer for at most "
                + Math.max(0, other.deadlineNs() - now()) / 1_000_000
                + " ms more: wait for its commit, or try again then");
    }

    private void checkLength(BlockId id, long length, Tier tier) {
        if (length <= 0) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "block " + id + " of " + length + " bytes: a block has at least 1 byte");
        }
        Bounds.check("block " + id + " in the largest slot of node " + table.self, 0, length,
                table.tiers.largestSlotBytes(tier));
    }
}
