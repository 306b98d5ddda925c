package io.mooncake.bench.cases;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockWriter;
import java.io.IOException;
import java.util.List;

/**
 * Main class of a forked JVM: one node of a cluster, with one block, until its input ends. Arguments: name, block, byte, then settings as
 * {@code key=value}. Prints its life once it serves.
 */
final class ClusterProgram {
    static final int BLOCK = 1 << 20;

    private ClusterProgram() {}

    public static void main(String[] args) throws IOException {
        NodeConfigBuilder config = NodeConfig.builder(args[0]).blockSize(BLOCK).poolSize(8L * BLOCK);
        for (String setting : List.of(args).subList(3, args.length)) {
            int at = setting.indexOf('=');
            config.set(setting.substring(0, at), setting.substring(at + 1));
        }
        try (Node node = Node.start(config.build())) {
            try (BlockWriter writer = node.store().allocate(BlockId.of(args[1]), BLOCK)) {
                writer.segment().fill(Byte.parseByte(args[2]));
                writer.commit();
            }
            System.out.println(node.id());
            System.out.flush();
            int end = System.in.read();
            System.out.println("ended by " + end);
        }
    }
}
