package io.mooncake.bench.cli;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;

/**
 * The process that commands and the tests of two processes pull from: a node whose written blocks, one behind the other, make a region.
 *
 * <p>On standard output it hands over what a reader needs, then it serves until its standard input ends, which it does when the
 * parent dies, however it dies; there it is told where readers are to whom it may have something to say, as
 * {@code peer client tcp 127.0.0.1:40124}:
 *
 * <pre>
 *   block HEX                       a line a block, the 128 bytes of its reference
 *   address tcp 127.0.0.1:40123     a line an engine by which peers come here
 *   ready
 * </pre>
 *
 * <p>It ends with code 0 when its node could be closed: then nothing of it was pinned any more.
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
     * @param args the blocks' lengths, separated by commas, COUNTxLENGTH for several of the same; then the node's settings, KEY=VALUE
     * @throws IOException when standard input cannot be read
     */
    public static void main(String[] args) throws IOException {
        List<Long> lengths = lengths(args[0]);
        long blockBytes = Collections.max(lengths);
        LocalRegistry registry = new LocalRegistry();
        NodeConfig config = NodeSettings.ofArgs(Arrays.asList(args).subList(1, args.length))
                .applyTo(NodeConfig.builder(NAME)
                        .registry(registry)
                        .blockSize(blockBytes)
                        .poolSize((lengths.size() + 1) * blockBytes)
                        .spareSlots(1))
                .build();
        PrintStream out = System.out;
        try (Node node = start(config)) {
            long start = 0;
            for (long length : lengths) {
                out.println("block " + HexFormat.of().formatHex(write(node, start, length).toBytes()));
                start += length;
            }
            Objects.requireNonNull(registry.peer(node.id()))
                    .addresses()
                    .forEach((engine, address) -> out.println("address " + engine + " " + address));
            out.println("ready");
            out.flush();
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line; (line = in.readLine()) != null;) {
                String[] words = line.split(" ", -1);
                registry.withAddress(words[1], words[2], words[3]);
            }
        }
    }

    /** What is wrong with the settings is said in one line, as the command itself would. */
    private static Node start(NodeConfig config) {
        try {
            return Node.start(config);
        } catch (MooncakeException e) {
            System.err.println("serving process: " + e.getMessage());
            System.exit(e.kind() == MooncakeException.Kind.CONFIG_ERROR ? Main.BAD_INPUT : Main.FAILED);
            throw e;
        }
    }

    private static List<Long> lengths(String text) {
        return Arrays.stream(text.split(",", -1)).map(run -> run.split("x", -1)).flatMap(run -> {
            long length = Long.parseLong(run[run.length - 1]);
            return Collections.nCopies(run.length == 1 ? 1 : Integer.parseInt(run[0]), length).stream();
        }).toList();
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
