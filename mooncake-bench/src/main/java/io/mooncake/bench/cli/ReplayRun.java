package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Cluster.Member;
import io.mooncake.bench.cli.Trace.Request;
import io.mooncake.core.BlockStore;
import io.mooncake.core.Destination;
import io.mooncake.core.Piece;
import io.mooncake.core.PrefixMatch;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Version;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Serves the requests of a trace, one after the other, each on the next node: reads the longest prefix that is in the cluster and
 * verifies it, writes the rest. One thread.
 *
 * <pre>
 *   request    [ b0 b1 b2 b3 | b4 b5 ]        match: b0..b3 are in the cluster, b4 is not
 *                 │            └ written here, whoever else may have b5
 *                 ├ on this node: used in place, or copied (by turns of the node)
 *                 └ on another:   pulled into this node's pool, used in place
 * </pre>
 *
 * <p>A match holds the local blocks of the run until the run has been read, so that pulling a later block cannot evict an earlier one.
 * After each request all of its blocks are touched in order, and what it changed is announced before the next one begins.
 */
final class ReplayRun {
    private static final Duration HOLD = Duration.ofMinutes(10);
    private static final Duration ANNOUNCE = Duration.ofSeconds(30);

    private final Cluster cluster;
    private final ReplayStats stats;
    private final Ledger ledger;
    private final Verifier verifier;
    private final long blockSize;
    /** One object an id, so that a pass that has seen them all makes no more. */
    private final Map<Long, BlockId> ids = new HashMap<>();
    private final int lookAhead;
    private @Nullable ReplayHints hints;

    /**
     * A run on nodes that hold nothing yet.
     *
     * @param cluster the nodes
     * @param options how it is to run
     * @param stats counts and measures
     */
    ReplayRun(Cluster cluster, ReplayOptions options, ReplayStats stats) {
        this.cluster = cluster;
        blockSize = options.blockSize();
        lookAhead = options.lookAhead();
        this.stats = stats;
        ledger = new Ledger(cluster.members().size());
        verifier = new Verifier(ledger, stats);
    }

    /**
     * Serves every request once.
     *
     * @param trace the requests
     * @param pace when each arrives
     * @param progress is told after each
     */
    void pass(Trace trace, Pace pace, Progress progress) {
        hints = lookAhead == 0 ? null : new ReplayHints(cluster.members(), trace, this::blockId, lookAhead);
        pace.start();
        List<Request> requests = trace.requests();
        for (int number = 0; number < requests.size(); number++) {
            Request request = requests.get(number);
            pace.await(request.timestampMs());
            serve(number, request);
            progress.update(stats.requests().count(), stats::progress);
        }
    }

    /** The name of a block of a trace in the cluster. */
    static BlockId id(long hashId) {
        return BlockId.of("trace/" + hashId);
    }

    private BlockId blockId(long hashId) {
        return ids.computeIfAbsent(hashId, ReplayRun::id);
    }

    private void serve(int number, Request request) {
        long start = System.nanoTime();
        int nodes = cluster.members().size();
        Member member = cluster.members().get(number % nodes);
        AccessPath localPath = number / nodes % 2 == 0 ? AccessPath.LOCAL_VIEW : AccessPath.LOCAL_COPY;
        List<BlockId> blocks = new ArrayList<>(request.blocks());
        for (int i = 0; i < request.blocks(); i++) {
            blocks.add(blockId(request.hashId(i)));
        }
        if (hints != null) {
            hints.serving(number, blocks);
        }
        BlockStore store = member.node().store();
        int run = readPrefix(member, request, blocks, localPath);
        for (int i = run; i < blocks.size(); i++) {
            write(member, blocks.get(i), request.hashId(i));
        }
        store.touch(blocks);
        if (!store.awaitAnnounced(ANNOUNCE)) {
            throw new MooncakeException(Kind.TIMEOUT,
                    "node " + member.node().id() + " did not announce the blocks of request "
                            + number + " within " + ANNOUNCE.toSeconds() + " s");
        }
        stats.request(System.nanoTime() - start, blocks.size(), run, blocks.size() * blockSize);
    }

    /** Reads the unbroken leading run; the number of its blocks that were read and right. */
    private int readPrefix(Member member, Request request, List<BlockId> blocks, AccessPath localPath) {
        int run = 0;
        try (PrefixMatch match = member.node().store().match(blocks, HOLD)) {
            while (run < match.hits()) {
                BlockRef ref = Objects.requireNonNull(match.ref(run));
                boolean local = ref.node().equals(member.node().id());
                if (!read(member, ref, request.hashId(run), local ? localPath : AccessPath.REMOTE_PULL)) {
                    break;
                }
                run++;
            }
        }
        return run;
    }

    private boolean read(Member member, BlockRef ref, long hashId, AccessPath path) {
        return switch (path) {
            case LOCAL_VIEW -> view(member, ref, hashId);
            case LOCAL_COPY -> copy(member, ref, hashId);
            case REMOTE_PULL -> pull(member, ref, hashId);
        };
    }

    private boolean view(Member member, BlockRef ref, long hashId) {
        long start = System.nanoTime();
        boolean here = member.node().store().acquire(ref.id(), member.view());
        return here
                ? verifyView(member, hashId, AccessPath.LOCAL_VIEW, start)
                : failed(ref, "is held but cannot be acquired");
    }

    private boolean copy(Member member, BlockRef ref, long hashId) {
        long start = System.nanoTime();
        Piece whole = Piece.of(ref, 0, Piece.WHOLE, Destination.at(member.copies(), 0));
        if (!moved(member, whole)) {
            return false;
        }
        stats.path(AccessPath.LOCAL_COPY).record(System.nanoTime() - start, ref.length());
        return verifier.verify(ref, hashId, member.copy().asSlice(0, ref.length()), AccessPath.LOCAL_COPY);
    }

    private boolean pull(Member member, BlockRef ref, long hashId) {
        long start = System.nanoTime();
        if (!moved(member, Piece.replica(ref.id()))) {
            return false;
        }
        if (!member.node().store().acquire(ref.id(), member.view())) {
            return failed(ref, "was pulled but cannot be acquired");
        }
        Version version = member.view().ref().version();
        ledger.has(member.index(), ref.id(), version, ledger.writing(ref.id(), version));
        return verifyView(member, hashId, AccessPath.REMOTE_PULL, start);
    }

    private boolean moved(Member member, Piece piece) {
        Transfer transfer = member.node().store().prepare(List.of(piece), TransferOptions.DEFAULT).submit();
        transfer.join();
        Outcome outcome = transfer.outcome(0);
        if (outcome == Outcome.OK) {
            return true;
        }
        MooncakeException cause = transfer.cause(0);
        stats.failure("block " + piece.id() + " cannot be read on " + member.node().id() + ": " + outcome
                + (cause == null ? "" : ", " + cause.getMessage()));
        return false;
    }

    private boolean verifyView(Member member, long hashId, AccessPath path, long startNs) {
        try (BlockView view = member.view()) {
            stats.path(path).record(System.nanoTime() - startNs, view.length());
            return verifier.verify(view.ref(), hashId, view.segment(), path);
        }
    }

    private boolean failed(BlockRef ref, String why) {
        stats.failure("block " + ref.id() + " of " + ref.node() + " " + why);
        return false;
    }

    private void write(Member member, BlockId id, long hashId) {
        long start = System.nanoTime();
        try (BlockWriter writer = member.node().store().allocate(id, blockSize)) {
            long allocated = System.nanoTime();
            long writing = ledger.nextWriting();
            Content.fill(writer.segment(), hashId, writing);
            long filled = System.nanoTime();
            BlockRef ref = writer.commit();
            stats.writes().record(System.nanoTime() - filled + allocated - start, blockSize);
            ledger.has(member.index(), id, ref.version(), writing);
            if (writer.result() != BlockWriter.Result.WRITTEN) {
                stats.failure("write of block " + id + " on " + member.node().id() + " ended as " + writer.result());
            }
        }
    }
}
