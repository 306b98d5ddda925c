package io.mooncake.bench.cases;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.Arena;
import java.util.List;

/** Main class of forked JVMs: two nodes, one pulls from the other; then A closes, B just returns, C exits in the middle of it. */
final class ThreadsAfterMain {
    private static final long BLOCK = 4L << 20;
    private static final int OUTSTANDING = 64;

    /** Modes that have threads. */
    enum Mode {
        SHARED, DEDICATED
    }

    private ThreadsAfterMain() {}

    public static void main(String[] args) {
        ThreadingMode mode = ThreadingMode.valueOf(args[1]);
        LocalRegistry registry = new LocalRegistry();
        Node owner = Node.start(config("owner", registry, mode));
        Node reader = Node.start(config("reader", registry, mode));
        Region region = reader.register(Memory.of(Arena.global().allocate(BLOCK, 64)), Access.LOCAL_ONLY);
        BlockRef ref;
        try (BlockWriter writer = owner.store().allocate(BlockId.of("block"), BLOCK)) {
            writer.segment().fill((byte) 7);
            ref = writer.commit();
        }
        Outcome outcome = reader.store().read(ref, region, 0);
        if (outcome != Outcome.OK) {
            throw new IllegalStateException("the read ended " + outcome);
        }
        switch (args[0]) {
            case "A" -> {
                region.close();
                reader.close();
                owner.close();
                System.out.println("threads after close: " + ownThreads());
            }
            case "B" -> System.out.println("main returns");
            default -> {
                Transfer last = null;
                for (int i = 0; i < OUTSTANDING; i++) {
                    Piece piece = Piece.of(ref, 0, Piece.WHOLE, Destination.at(region, 0));
                    last = reader.store().prepare(List.of(piece), TransferOptions.DEFAULT).submit();
                }
                System.out
                        .println(last != null && last.isDone() ? "main exits too late" : "main exits during transfers");
                System.exit(7);
            }
        }
    }

    private static NodeConfig config(String name, LocalRegistry registry, ThreadingMode mode) {
        return NodeConfig.builder(name).registry(registry).threading(mode).blockSize(BLOCK).poolSize(4 * BLOCK).build();
    }

    private static List<String> ownThreads() {
        return Thread.getAllStackTraces()
                .keySet()
                .stream()
                .map(Thread::getName)
                .filter(name -> name.startsWith("mooncake"))
                .sorted()
                .toList();
    }
}
