package io.mooncake.core;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.transfer.CompletionQueue;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.TransferHost;
import io.mooncake.core.transfer.TransferWork;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The store of one node: checks, then hands on to the block manager or to a {@link Pull}. */
final class NodeStore implements BlockStore, TransferHost {
    private static final Duration LONGEST = Duration.ofDays(365);
    /** What moved, by cause. */
    private static final List<Counter> MOVEMENTS = List.of(Counter.BLOCKS_WRITTEN, Counter.BLOCKS_REPLICATED,
            Counter.HOT_REPLICAS,
            Counter.BLOCKS_DEMOTED, Counter.BYTES_DEMOTED, Counter.DEMOTIONS_FAILED, Counter.BLOCKS_PROMOTED,
            Counter.BYTES_PROMOTED, Counter.BLOCKS_PREFETCHED, Counter.PREFETCHES_USED, Counter.PREFETCHES_WRONG,
            Counter.BLOCKS_COMPACTED, Counter.BYTES_COMPACTED, Counter.BLOCKS_WANTED, Counter.BLOCKS_COPIED_OUT,
            Counter.BLOCKS_HANDED_OVER,
            Counter.BLOCKS_RECOVERED, Counter.BLOCKS_DAMAGED, Counter.EVICTIONS_POLICY, Counter.EVICTIONS_REQUESTED,
            Counter.EVICTIONS_REPLACED);

    private final NodeParts node;
    private final NodeConfig config;
    private final PullContext pulls;

    NodeStore(NodeParts node, NodeConfig config) {
        this.node = node;
        this.config = config;
        HotReplicas hot = HotReplicas.within(config.pool().replicaBudget(), node, this);
        pulls = node.pulls(new PrefetchBudget(config.pool().prefetchBandwidth(), node.counters()), hot);
        node.blocks().demoteBy(new Demotions(this, hot));
        node.blocks().relocateBy(new Relocations(node, this));
    }

    @Override
    public void checkOpen() {
        node.life().checkOpen();
    }

    static long positiveNs(String what, Duration time) {
        if (time.isNegative() || time.isZero()) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, what + " " + time + " must be positive");
        }
        return time.compareTo(LONGEST) > 0 ? LONGEST.toNanos() : time.toNanos();
    }

    @Override
    public BlockWriter allocate(BlockId id, long length, Placement placement) {
        node.life().checkTakesBlocks();
        Tier tier = placement.tier();
        if (tier == Tier.SLOW || !node.blocks().tiers().has(tier)) {
            throw new MooncakeException(Kind.UNSUPPORTED, "block " + id + ": node " + node.life().id
                    + " has no tier " + tier
                    + " that is written to: DRAM is, and VRAM where it was given a pool for it");
        }
        Duration ttl = placement.writerTtl();
        return node.blocks()
                .allocate(id, length, tier, positiveNs("ttl", ttl == null ? config.timeouts().writerTtl() : ttl));
    }

    @Override
    public BlockView newView() {
        checkOpen();
        return node.blocks().newView();
    }

    @Override
    public boolean acquire(BlockId id, BlockView reusable) {
        return node.blocks().acquire(id, reusable);
    }

    @Override
    public boolean acquire(BlockRef ref, BlockView reusable) {
        return node.blocks().acquire(ref, reusable);
    }

    @Override
    public boolean acquire(BlockId id, BlockView reusable, Reach reach) {
        return node.blocks().acquire(id, reusable)
                || (reach == Reach.HOST && node.sources().acquireOnHost(id, reusable));
    }

    @Override
    public boolean acquire(BlockRef ref, BlockView reusable, Reach reach) {
        return node.blocks().acquire(ref, reusable)
                || (reach == Reach.HOST && node.sources().acquireOnHost(ref, reusable));
    }

    @Override
    public boolean acquire(BlockId id, BlockView reusable, int device) {
        if (device < 0) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "device " + device + ": devices are numbered from 0; without one acquire gives any address");
        }
        return node.blocks().acquire(id, reusable, device);
    }

    @Override
    public String explain(BlockId id) {
        checkOpen();
        return node.sources().explain(id);
    }

    @Override
    public String explain(BlockRef ref) {
        checkOpen();
        return node.sources().explain(ref);
    }

    @Override
    public PrefixMatch match(List<BlockId> ids, Duration ttl) {
        checkOpen();
        return new HeldMatch(node.sources(), ids, positiveNs("ttl", ttl));
    }

    @Override
    public Hold hold(List<BlockRef> refs, Duration ttl) {
        checkOpen();
        return node.blocks().hold(refs, positiveNs("ttl", ttl));
    }

    @Override
    public Hold hold(List<BlockRef> refs, NodeId consumer, Duration ttl) {
        Hold hold = hold(refs, ttl);
        node.conductor().holdFor(consumer, hold);
        return hold;
    }

    @Override
    public boolean isPrimary(BlockRef ref) {
        checkOpen();
        return node.sources().registry().isPrimary(ref);
    }

    @Override
    public Transfer prepare(List<Piece> pieces, TransferOptions options) {
        checkOpen();
        boolean poolMemoryOnly = true;
        for (Piece piece : pieces) {
            switch (piece.destination()) {
                case Destination.At at -> {
                    checkRegion(at.region());
                    Bounds.check(at.region(), at.offset(), Math.max(0, piece.length()), at.region().length());
                    poolMemoryOnly = false;
                }
                case Destination.Pages pages -> {
                    checkRegion(pages.region());
                    Bounds.check(pages.region(), 0, pages.pages().end(), pages.region().length());
                    Bounds.check(pages.pages(), 0, Math.max(0, piece.length()), pages.pages().length());
                    poolMemoryOnly = false;
                }
                case Destination.Replica _ -> node.life().checkTakesBlocks();
            }
        }
        return transfer(new Pull(pulls, pieces, options.priority()), pieces.size(), poolMemoryOnly, options);
    }

    /** Replicas, also where the node takes no others' blocks any more. */
    Transfer pull(List<Piece> replicas, TransferOptions options) {
        return transfer(new Pull(pulls, replicas, options.priority()), replicas.size(), true, options);
    }

    /** Blocks that somebody may use soon, within a budget. */
    Transfer prepareAhead(List<BlockId> ids) {
        checkOpen();
        node.life().checkTakesBlocks();
        List<Piece> pieces = ids.stream().map(id -> Piece.replica(id, Tier.DRAM)).toList();
        return transfer(Pull.ahead(pulls, pieces), pieces.size(), true, TransferOptions.DEFAULT);
    }

    /** Of any work: what is checked and set is the same. */
    Transfer transfer(TransferWork work, int pieces, boolean poolMemoryOnly, TransferOptions options) {
        CompletionQueue completions = options.completions();
        if (completions != null && !equals(completions.host())) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "the completion queue is not of node " + node.life().id
                    + ": use one that this node's store made");
        }
        Duration timeout = options.timeout();
        return new Transfer(this, work, pieces, poolMemoryOnly,
                positiveNs("timeout", timeout == null ? config.timeouts().transfer() : timeout),
                new Transfer.Told(options.onDone(), completions));
    }

    @Override
    public List<BlockId> recompute(Transfer transfer) {
        Pull pull = own(transfer);
        return Arrays.stream(transfer.recompute()).mapToObj(pull::id).distinct().toList();
    }

    @Override
    public @Nullable BlockRef source(Transfer transfer, int piece) {
        Pull pull = own(transfer);
        return transfer.outcome(piece) == Outcome.OK ? pull.source(piece) : null;
    }

    private Pull own(Transfer transfer) {
        if (!(transfer.work() instanceof Pull pull) || !pull.isOf(pulls)) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    transfer + " is not of node " + node.life().id + ": ask the store that prepared it");
        }
        return pull;
    }

    @Override
    public CompletionQueue newCompletionQueue() {
        checkOpen();
        return new CompletionQueue(this);
    }

    private void checkRegion(Region region) {
        if (!region.owner().equals(node.life().id)) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, region + " is not of node " + node.life().id
                    + ": register the memory with the node that reads into it");
        }
        if (region.isClosed()) {
            throw new MooncakeException(Kind.ILLEGAL_STATE, region + " is closed; register the memory again");
        }
    }

    @Override
    public void touch(List<BlockId> ids) {
        checkOpen();
        node.blocks().touch(ids);
    }

    @Override
    public void hint(List<BlockId> ids, long... nextUseNs) {
        checkOpen();
        node.blocks().hint(ids, nextUseNs);
    }

    @Override
    public String describe() {
        checkOpen();
        StringBuilder text = new StringBuilder("node ").append(node.life().id);
        for (Tier tier : Tier.values()) {
            BlockPool.Usage usage = node.blocks().usage(tier);
            if (usage.capacity() > 0) {
                text.append("\n  ").append(tier).append(": ").append(usage.capacity()).append(" slots, ");
                text.append(usage.used())
                        .append(" used, ")
                        .append(usage.quarantined())
                        .append(" quarantined, blocks of ");
                text.append(ByteSize.rounded((double) node.blocks().bytes(tier)));
                describe(node.blocks().freeRanges(tier), text);
            }
        }
        SlowTier slow = node.slow();
        if (slow != null) {
            text.append("\n  ").append(slow.pool().describe());
        }
        for (Counter counter : MOVEMENTS) {
            text.append("\n  ").append(counter).append(' ').append(node.counters().get(counter));
        }
        return text.toString();
    }

    private static void describe(FreeRanges free, StringBuilder text) {
        if (free.bytes() > 0) {
            text.append(", free ").append(ByteSize.rounded((double) free.bytes()));
            text.append(", longest range ").append(ByteSize.rounded((double) free.longest()));
            text.append(free.needsScratch() ? ": compaction has no scratch space, evict something" : "");
        }
    }

    @Override
    public List<BlockRef> locations(BlockId id) {
        checkOpen();
        return node.sources().registry().locations(id);
    }

    @Override
    public int evict(List<BlockId> ids) {
        checkOpen();
        int evicted = 0;
        for (BlockId id : ids) {
            evicted += node.blocks().evict(id) ? 1 : 0;
        }
        return evicted;
    }

    @Override
    public int reset(String salt) {
        checkOpen();
        if (salt.isEmpty()) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "the empty salt is nobody's: name the salt of a PrefixChain, or evict blocks by their ids");
        }
        return node.blocks().reset(BlockId.saltTag(salt));
    }

    @Override
    public Subscription events(Consumer<? super BlockEvent> listener) {
        checkOpen();
        return node.events().listen(Objects.requireNonNull(listener, "listener"));
    }

    @Override
    public boolean awaitAnnounced(Duration timeout) {
        checkOpen();
        long ticket = node.conductor().ask();
        return node.waits()
                .await(() -> node.conductor().hasAnswered(ticket),
                        node.life().nowNs() + positiveNs("timeout", timeout));
    }

    @Override
    public long nowNs() {
        return node.life().nowNs();
    }

    @Override
    public boolean pump(BooleanSupplier done, long deadlineNs) {
        if (!node.waits().runsAgents()) {
            return false;
        }
        node.waits().await(done, deadlineNs);
        return true;
    }

    @Override
    public void dispatch(Transfer transfer) {
        node.callbacks().offer(transfer);
    }

    @Override
    public void count(Counter counter) {
        node.counters().increment(counter);
    }
}
