package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Versions.BlockVersion;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Version;
import java.lang.foreign.MemorySegment;

/**
 * The witness in one of several processes: sees that every byte of a block belongs to one writing of it, and reports which one it was. Whether
 * that is the writing which the version is made of, only the parent knows, where all reports meet in {@link Versions}. One thread.
 *
 * <pre>
 *   report   READ:hash:counter:writer:writing WROTE:hash:counter:writer:writing ...
 * </pre>
 */
final class Testimony implements Witness {
    private static final String READ = "R";
    private static final String WROTE = "W";
    private static final long WRITINGS_OF_A_LIFE = 1L << 40;

    private final int index;
    private final int nodes;
    private final ReplayStats stats;
    private final StringBuilder report = new StringBuilder();
    private long writings;

    /**
     * A witness who has seen nothing.
     *
     * @param index of its node
     * @param nodes of the cluster, each with such a witness
     * @param lives how many witnesses that node has had before
     * @param stats counts what is wrong
     */
    Testimony(int index, int nodes, int lives, ReplayStats stats) {
        this.index = index;
        this.nodes = nodes;
        this.stats = stats;
        writings = lives * WRITINGS_OF_A_LIFE;
    }

    @Override
    public long nextWriting() {
        return ++writings * nodes + index;
    }

    @Override
    public void wrote(int node, long hashId, BlockRef ref, long writing) {
        say(WROTE, hashId, ref.version(), writing);
    }

    @Override
    public void pulled(int node, BlockId id, Version version) {
        // It is made of what it was made of.
    }

    @Override
    public boolean verify(BlockRef ref, long hashId, MemorySegment bytes, AccessPath path) {
        long writing = Content.writing(bytes);
        String fault = Verifier.fault(ref, hashId, bytes, writing);
        if (fault != null) {
            stats.verificationError(Verifier.describe(ref, path) + ": " + fault);
            return false;
        }
        say(READ, hashId, ref.version(), writing);
        return true;
    }

    private void say(String what, long hashId, Version version, long writing) {
        report.append(report.isEmpty() ? "" : " ").append(what).append(':').append(hashId).append(':');
        report.append(version.counter()).append(':').append(version.writer()).append(':').append(writing);
    }

    /** What it has seen since it was asked last. */
    String takeReport() {
        String taken = report.toString();
        report.setLength(0);
        return taken;
    }

    /**
     * Hands a word of a report on.
     *
     * @param word of {@link #takeReport}
     * @param by who saw it
     * @param versions where it is judged
     */
    static void judge(String word, String by, Versions versions) {
        String[] parts = word.split(":", -1);
        BlockVersion version = new BlockVersion(Long.parseLong(parts[1]), Long.parseLong(parts[2]),
                Long.parseLong(parts[3]));
        long writing = Long.parseLong(parts[4]);
        if (parts[0].equals(WROTE)) {
            versions.written(version, writing);
        } else {
            versions.read(version, writing, by);
        }
    }
}
