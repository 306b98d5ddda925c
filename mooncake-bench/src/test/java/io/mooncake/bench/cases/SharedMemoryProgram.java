package io.mooncake.bench.cases;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.Reach;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.HexFormat;

/**
 * A process of its own with one node that shares its memory, to be killed: an owner of one block, or a reader that has a view of another
 * node's. It ends with its standard input.
 */
final class SharedMemoryProgram {
    static final long BLOCK = 8 << 20;
    static final BlockId ID = BlockId.of("shared");
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private SharedMemoryProgram() {}

    static NodeConfigBuilder config(String name, String directory) {
        return NodeConfig.builder(name).blockSize(BLOCK).poolSize(4 * BLOCK).spareSlots(1).sharedMemory(directory);
    }

    /** {@code owner DIRECTORY}, {@code forgetful DIRECTORY}, or {@code reader DIRECTORY TCP SHM REFERENCE}. */
    public static void main(String[] args) throws IOException {
        if (args[0].equals("owner")) {
            try (Node node = Node.start(config("owner", args[1]).build())) {
                System.out.println(node.addresses().get("tcp"));
                System.out.println(node.addresses().get("shm"));
                System.out.println(HexFormat.of().formatHex(write(node, 7).toBytes()));
                awaitEnd();
            }
        } else if (args[0].equals("forgetful")) {
            System.out.println(Node.start(config("forgetful", args[1]).build()).id());
            awaitEnd();
        } else {
            LocalRegistry registry = new LocalRegistry().withAddress("owner", "tcp", args[2])
                    .withAddress("owner", "shm", args[3]);
            BlockRef ref = BlockRef.fromBytes(HexFormat.of().parseHex(args[4]));
            try (Node node = Node.start(config("reader", args[1]).registry(registry).build());
                    BlockView view = node.store().newView()) {
                long deadline = System.nanoTime() + PATIENCE.toNanos();
                while (!node.store().acquire(ref, view, Reach.HOST)) {
                    if (System.nanoTime() - deadline >= 0) {
                        throw new IllegalStateException("no view of " + ref);
                    }
                    Thread.onSpinWait();
                }
                System.out.println("pinned " + view.segment().get(java.lang.foreign.ValueLayout.JAVA_BYTE, BLOCK - 1));
                awaitEnd();
            }
        }
    }

    static BlockRef write(Node node, int fill) {
        try (BlockWriter writer = node.store().allocate(ID, BLOCK)) {
            writer.segment().fill((byte) fill);
            return writer.commit();
        }
    }

    private static void awaitEnd() throws IOException {
        System.out.flush();
        while (System.in.read() >= 0) {
            // The parent says nothing.
        }
    }
}
