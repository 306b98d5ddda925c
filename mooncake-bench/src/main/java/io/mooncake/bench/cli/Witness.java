package io.mooncake.bench.cli;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Version;
import java.lang.foreign.MemorySegment;

/** Is told what a replay writes and pulls, and judges every byte that it reads. One thread. */
interface Witness {
    /** The number of the next write, never used before by anybody. */
    long nextWriting();

    /**
     * A node has written a version.
     *
     * @param node its index
     * @param hashId the block's id in the trace
     * @param ref as it was committed
     * @param writing what it consists of
     */
    void wrote(int node, long hashId, BlockRef ref, long writing);

    /**
     * A node has pulled a version.
     *
     * @param node its index
     * @param id the block
     * @param version as it was committed
     */
    void pulled(int node, BlockId id, Version version);

    /**
     * Checks a block; what is wrong is reported and counted.
     *
     * @param ref which version was read
     * @param hashId the block's id in the trace
     * @param bytes what was read
     * @param path how it was read
     * @return whether every byte is right, as far as can be known here
     */
    boolean verify(BlockRef ref, long hashId, MemorySegment bytes, AccessPath path);
}
