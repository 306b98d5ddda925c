package io.mooncake.bench.cli;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.Piece;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A node of {@code matrix}: it has the one block that all have, and reads it from each of the others. One thread.
 *
 * <p>As a program it is driven by lines on standard input, {@code replicate}, or how many nodes have the block when it is to be read from them, and
 * answers each by a line; it ends with its input.
 */
public final class MatrixMember implements AutoCloseable {
    static final BlockId BLOCK = BlockId.of("matrix");

    /** What {@link Content} is made from: the block is written once, by whichever node. */
    private static final long ID = 1;
    private static final long WRITING = 1;
    private static final Duration HEARD = Duration.ofSeconds(30);

    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory;
    private final Node node;
    private final Region region;

    MatrixMember(NodeConfigBuilder config, long bytes) {
        node = Node.start(config.blockSize(bytes).poolSize(2 * bytes).spareSlots(1).build());
        memory = arena.allocate(bytes, 4096);
        region = node.register(Memory.of(memory), Access.LOCAL_ONLY);
    }

    Node node() {
        return node;
    }

    /** Has the block from now on. */
    void write() {
        try (BlockWriter writer = node.store().allocate(BLOCK, memory.byteSize())) {
            Content.fill(writer.segment(), ID, WRITING);
            writer.commit();
        }
    }

    /** Has the block that another node has, as soon as it is heard of it. */
    void replicate() {
        await(1);
        Outcome outcome = node.store().read(Piece.replica(BLOCK));
        if (outcome != Outcome.OK) {
            throw new IllegalStateException("node " + node.id() + " could not pull the block: " + outcome);
        }
    }

    /** Until so many nodes are known to have the block. */
    private List<BlockRef> await(int holders) {
        return Await.until(() -> node.store().locations(BLOCK), known -> known.size() >= holders, HEARD,
                known -> "node " + node.id() + " has heard of " + known + " only, not of " + holders + " holders");
    }

    /** Reads the block from every other node, one read after the other, and looks at every byte. */
    void measure(int holders, int reads) {
        for (BlockRef from : await(holders)) {
            if (from.node().equals(node.id())) {
                continue;
            }
            FirstPull.await(node, from);
            for (int i = 0; i < reads; i++) {
                memory.fill((byte) 0);
                Outcome outcome = node.store().read(Piece.of(from, 0, Piece.WHOLE, Destination.at(region, 0)));
                long wrong = Content.firstWrongByte(memory, ID, WRITING);
                if (outcome != Outcome.OK || wrong >= 0) {
                    throw new IllegalStateException("node " + node.id() + " read from node " + from.node() + ": "
                            + outcome + ", first wrong byte at " + wrong);
                }
            }
        }
    }

    @Override
    public void close() {
        region.close();
        node.close();
        arena.close();
    }

    /**
     * A member in a process of its own.
     *
     * @param args name, bytes of the block, reads of each holder, then the node's settings, KEY=VALUE
     * @throws IOException when standard input cannot be read
     */
    public static void main(String[] args) throws IOException {
        PrintStream out = System.out;
        NodeSettings settings = NodeSettings.ofArgs(Arrays.asList(args).subList(3, args.length));
        try (MatrixMember member = new MatrixMember(settings.applyTo(NodeConfig.builder(args[0])),
                Long.parseLong(args[1]))) {
            out.println("ready");
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line; (line = in.readLine()) != null;) {
                if (line.equals("replicate")) {
                    member.replicate();
                } else {
                    member.measure(Integer.parseInt(line), Integer.parseInt(args[2]));
                }
                out.println("done");
            }
        }
    }

    /** The same, driven from another process. */
    record Remote(Child process) implements AutoCloseable {
        private static final Duration LONG = Duration.ofMinutes(2);

        static Remote start(String name, long bytes, int reads, NodeSettings settings) {
            List<String> args = new ArrayList<>(List.of(name, Long.toString(bytes), Integer.toString(reads)));
            args.addAll(settings.serving().toArgs());
            Remote remote = new Remote(
                    Child.start(List.of("--enable-native-access=ALL-UNNAMED"), MatrixMember.class, args));
            remote.expect("ready");
            return remote;
        }

        void replicate() {
            process.writeLine("replicate");
            expect("done");
        }

        void measure(int holders) {
            process.writeLine(Integer.toString(holders));
            expect("done");
        }

        private void expect(String wanted) {
            String line = process.readLine(LONG);
            if (!wanted.equals(line)) {
                throw new IllegalStateException(process + " said " + line + " and not " + wanted);
            }
        }

        @Override
        public void close() {
            process.close();
        }
    }
}
