package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Cluster.Member;
import io.mooncake.bench.cli.Trace.Request;
import io.mooncake.core.BlockStore;
import io.mooncake.core.Destination;
import io.mooncake.core.Piece;
import io.mooncake.core.Placement;
import io.mooncake.core.PrefixMatch;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Transfer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Serves one request after the other on nodes of this process: reads the longest prefix that is in the cluster and verifies it, writes the
 * rest. One thread.
 *
 * <pre>
 *   request    [ b0 b1 b2 b3 | b4 b5 ]        match: b0..b3 are in the cluster, b4 is not
 *                 │            └ written here, whoever else may have b5
 *                 ├ on this node: used in place, or copied (by turns of the node)
 *                 ├ in its file:  brought up into its pool, used in place
 *                 └ on another:   pulled into this node's pool, used in place
 * </pre>
 *
 * <p>Where the node has a device's memory, that is the pool in which blocks are used and written, and they are copied out to be verified.
 *
 * <p>A match holds the local blocks of the run until the run has been read, so that pulling a later block cannot evict an earlier one. On a device
 * it does not, since the run may be as long as there is room.
 * After each request all of its blocks are touched in order, and what it changed is announced before it has been served.
 */
final class RequestServer {
    private static final Duration HOLD = Duration.ofMinutes(10);
    private static final Duration NO_HOLD = Duration.ofNanos(1);
    private static final int MOST_PULLS = 8;
    private static final Duration ANNOUNCE = Duration.ofSeconds(30);

    private final ReplayStats stats;
    private final Witness witness;
    private final long blockSize;
    private final boolean alone;
    /** One object an id, so that a pass that has seen them all makes no more. */
    private final Map<Long, BlockId> ids = new HashMap<>();

    /**
     * A server.
     *
     * @param blockSize bytes of every block
     * @param witness judges what is read
     * @param stats counts and measures
     * @param alone whether nobody else serves a request meanwhile, and no node has a file, into and out of which blocks go between requests;
     *     else a block may be gone before it is read, which is no failure
     */
    RequestServer(long blockSize, Witness witness, ReplayStats stats, boolean alone) {
        this.blockSize = blockSize;
        this.alone = alone;
        this.witness = witness;
        this.stats = stats;
    }

    /** The name of a block of a trace in the cluster. */
    static BlockId id(long hashId) {
        return BlockId.of("trace/" + hashId);
    }

    /**
     * Serves a request.
     *
     * @param member where
     * @param localPath how it gets at blocks of that node
     * @param request what
     * @return leading blocks that were read and right
     */
    int serve(Member member, AccessPath localPath, Request request) {
        long start = System.nanoTime();
        List<BlockId> blocks = blocks(request);
        BlockStore store = member.node().store();
        int run = readPrefix(member, request, blocks, localPath);
        for (int i = run; i < blocks.size(); i++) {
            write(member, blocks.get(i), request.hashId(i));
        }
        store.touch(blocks);
        if (!store.awaitAnnounced(ANNOUNCE)) {
            throw new MooncakeException(Kind.TIMEOUT,
                    "node " + member.node().id() + " did not announce the blocks of a request within "
                            + ANNOUNCE.toSeconds() + " s");
        }
        stats.request(System.nanoTime() - start, blocks.size(), run, blocks.size() * blockSize);
        return run;
    }

    /** The names of a request's blocks. */
    List<BlockId> blocks(Request request) {
        List<BlockId> blocks = new ArrayList<>(request.blocks());
        for (int i = 0; i < request.blocks(); i++) {
            blocks.add(ids.computeIfAbsent(request.hashId(i), RequestServer::id));
        }
        return blocks;
    }

    /** Reads the unbroken leading run; the number of its blocks that were read and right. */
    private int readPrefix(Member member, Request request, List<BlockId> blocks, AccessPath localPath) {
        int run = 0;
        Duration ttl = place(member).equals(Placement.VRAM) ? NO_HOLD : HOLD;
        try (PrefixMatch match = member.node().store().match(blocks, ttl)) {
            while (run < match.hits()) {
                BlockRef ref = Objects.requireNonNull(match.ref(run));
                if (!read(member, ref, request.hashId(run), path(member, ref, localPath))) {
                    break;
                }
                run++;
            }
        }
        return run;
    }

    private static AccessPath path(Member member, BlockRef ref, AccessPath localPath) {
        boolean local = ref.node().equals(member.node().id());
        return switch (ref.tier()) {
            case VRAM -> local ? AccessPath.LOCAL_VRAM : AccessPath.REMOTE_VRAM;
            case SLOW -> local ? AccessPath.LOCAL_FILE : AccessPath.REMOTE_FILE;
            case DRAM -> !local
                    ? AccessPath.REMOTE_PULL
                    : place(member).equals(Placement.VRAM) ? AccessPath.LOCAL_DRAM : localPath;
        };
    }

    /** Where the node's blocks are used. */
    private static Placement place(Member member) {
        return member.node().usage(Tier.VRAM).capacity() > 0 ? Placement.VRAM : Placement.DRAM;
    }

    private boolean read(Member member, BlockRef ref, long hashId, AccessPath path) {
        return switch (path) {
            case LOCAL_VIEW -> view(member, ref, hashId);
            case LOCAL_COPY -> copy(member, ref, hashId);
            case LOCAL_VRAM, LOCAL_DRAM, REMOTE_PULL, REMOTE_VRAM, LOCAL_FILE, REMOTE_FILE ->
                pull(member, ref, hashId, path);
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
        return witness.verify(ref, hashId, member.copy().asSlice(0, ref.length()), AccessPath.LOCAL_COPY);
    }

    private boolean pull(Member member, BlockRef ref, long hashId, AccessPath path) {
        long start = System.nanoTime();
        // Nothing keeps a replica that has just come: where a pool is small, and demotes all the while, it may have left by now.
        int tries = 0;
        do {
            if (tries++ == MOST_PULLS) {
                return failed(ref, "was pulled " + MOST_PULLS + " times and could not be acquired");
            }
            if (!moved(member, Piece.replica(ref.id(), place(member).tier()))) {
                return false;
            }
        } while (!member.node().store().acquire(ref.id(), member.view()));
        witness.pulled(member.index(), ref.id(), member.view().ref().version());
        return verifyView(member, hashId, path, start);
    }

    private boolean moved(Member member, Piece piece) {
        Transfer transfer = member.node().store().prepare(List.of(piece), TransferOptions.DEFAULT).submit();
        transfer.join();
        Outcome outcome = transfer.outcome(0);
        if (outcome == Outcome.OK) {
            return true;
        }
        if (!alone && (outcome == Outcome.STALE || outcome == Outcome.ABSENT)) {
            stats.overtaken();
            return false;
        }
        MooncakeException cause = transfer.cause(0);
        stats.failure("block " + piece.id() + " cannot be read on " + member.node().id() + ": " + outcome
                + (cause == null ? "" : ", " + cause.getMessage()));
        return false;
    }

    private boolean verifyView(Member member, long hashId, AccessPath path, long startNs) {
        try (BlockView view = member.view()) {
            stats.path(path).record(System.nanoTime() - startNs, view.length());
            if (view.tier() != Tier.VRAM) {
                return witness.verify(view.ref(), hashId, view.segment(), path);
            }
            Piece whole = Piece.of(view.ref(), 0, Piece.WHOLE, Destination.at(member.copies(), 0));
            return moved(member, whole)
                    && witness.verify(view.ref(), hashId, member.copy().asSlice(0, view.length()), path);
        }
    }

    private boolean failed(BlockRef ref, String why) {
        stats.failure("block " + ref.id() + " of " + ref.node() + " " + why);
        return false;
    }

    private void write(Member member, BlockId id, long hashId) {
        long start = System.nanoTime();
        Placement place = place(member);
        boolean device = place.equals(Placement.VRAM);
        try (BlockWriter writer = member.node().store().allocate(id, blockSize, place)) {
            long allocated = System.nanoTime();
            long writing = witness.nextWriting();
            Content.fill(device ? member.copy() : writer.segment(), hashId, writing);
            long filled = System.nanoTime();
            if (device) {
                writer.write(0, Memory.of(member.copy()));
            }
            BlockRef ref = writer.commit();
            stats.writes().record(System.nanoTime() - filled + allocated - start, blockSize);
            if (writer.result() == BlockWriter.Result.WRITTEN) {
                witness.wrote(member.index(), hashId, ref, writing);
            } else {
                stats.failure("write of block " + id + " on " + member.node().id() + " ended as " + writer.result());
            }
        }
    }
}
