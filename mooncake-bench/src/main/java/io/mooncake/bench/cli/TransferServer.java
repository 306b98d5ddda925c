package io.mooncake.bench.cli;

import io.mooncake.core.IdleMode;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HexFormat;

/**
 * The process that {@code transfer} and the tests of two processes pull from: a node whose written blocks cover a region.
 *
 * <p>On standard output it hands over what a reader needs, then it serves until its standard input ends, which it does when the
 * parent dies, however it dies:
 *
 * <pre>
 *   endpoint 127.0.0.1:40123
 *   block HEX          a line a block, the 128 bytes of its reference
 *   ready
 * </pre>
 */
public final class TransferServer {
    /** The serving node's name. */
    public static final String NAME = "server";
    /** Spreads positions over all bits, so that a byte from another position is seen to be wrong. */
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;

    private TransferServer() {}

    /**
     * Serves.
     *
     * @param args region bytes, block bytes, threading mode, idle mode
     * @throws IOException when standard input cannot be read
     */
    public static void main(String[] args) throws IOException {
        long regionBytes = Long.parseLong(args[0]);
        long blockBytes = Long.parseLong(args[1]);
        long blocks = Math.ceilDiv(regionBytes, blockBytes);
        NodeConfig config = NodeConfig.builder(NAME)
                .blockSize(blockBytes)
                .poolSize((blocks + 1) * blockBytes)
                .spareSlots(1)
                .threading(ThreadingMode.valueOf(args[2]))
                .idle(IdleMode.valueOf(args[3]))
                .build();
        PrintStream out = System.out;
        try (Node node = Node.start(config)) {
            for (long start = 0, left = regionBytes; left > 0; start += blockBytes, left -= blockBytes) {
                BlockRef ref = write(node, start, Math.min(left, blockBytes));
                out.println("block " + HexFormat.of().formatHex(ref.toBytes()));
            }
            Endpoint endpoint = node.endpoint().orElseThrow();
            out.println("endpoint " + endpoint);
            out.println("ready");
            out.flush();
            byte[] ignored = new byte[64];
            for (int got = 0; got >= 0;) {
                got = System.in.read(ignored);
            }
        }
    }

    private static BlockRef write(Node node, long start, long length) {
        try (BlockWriter writer = node.store().allocate(BlockId.of("region-" + start), length)) {
            MemorySegment bytes = writer.segment();
            for (long at = 0; at + Long.BYTES <= length; at += Long.BYTES) {
                bytes.set(ValueLayout.JAVA_LONG_UNALIGNED, at, word(start + at));
            }
            return writer.commit();
        }
    }

    /**
     * What the region holds.
     *
     * @param position a multiple of 8 in the region
     * @return the 8 bytes there, native order
     */
    public static long word(long position) {
        return position * GOLDEN ^ GOLDEN;
    }
}
