package io.mooncake.bench.cases;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Main class of a forked JVM: one node pulls from another over TCP, then the libraries mapped into the process are listed. */
final class TcpProgram {
    private static final long BLOCK = 1 << 20;
    private static final Path MAPS = Path.of("/proc/self/maps");

    private TcpProgram() {}

    public static void main(String[] args) throws IOException {
        LocalRegistry registry = new LocalRegistry();
        try (Arena arena = Arena.ofShared();
                Node owner = Node.start(config("owner", registry));
                Node reader = Node.start(config("reader", registry));
                Region region = reader.register(Memory.of(arena.allocate(BLOCK, 64)), Access.LOCAL_ONLY)) {
            BlockRef ref;
            try (BlockWriter writer = owner.store().allocate(BlockId.of("block"), BLOCK)) {
                writer.segment().fill((byte) 7);
                ref = writer.commit();
            }
            System.out.println("read " + reader.store().read(ref, region, 0) + ", libraries " + deviceLibraries());
        }
    }

    private static NodeConfig config(String name, LocalRegistry registry) {
        return NodeConfig.builder(name).registry(registry).blockSize(BLOCK).poolSize(4 * BLOCK).build();
    }

    private static List<String> deviceLibraries() throws IOException {
        if (!Files.exists(MAPS)) {
            return List.of();
        }
        try (Stream<String> lines = Files.lines(MAPS)) {
            return lines.filter(line -> line.matches(".*lib(ibverbs|rdmacm|cuda|cudart).*")).toList();
        }
    }
}
