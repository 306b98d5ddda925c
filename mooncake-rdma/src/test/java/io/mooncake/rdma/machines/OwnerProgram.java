package io.mooncake.rdma.machines;

import io.mooncake.core.Node;
import io.mooncake.core.base.Counter;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.registry.LocalRegistry;
import java.util.HexFormat;

/**
 * In the machine that is killed: writes its blocks, says {@code block HEX} of each, {@code rdma ADDRESS} and {@code ready}, then each
 * second {@code served N}, the reads that were not RDMA's.
 */
final class OwnerProgram {
    private OwnerProgram() {}

    public static void main(String[] args) throws InterruptedException {
        try (Node node = Node.start(Blocks.config(Blocks.OWNER, new LocalRegistry()))) {
            for (int i = 0; i < Blocks.LENGTHS.length; i++) {
                try (BlockWriter writer = node.store().allocate(BlockId.of("block-" + i), Blocks.LENGTHS[i])) {
                    Blocks.write(writer.segment(), node.id(), i);
                    System.out.println("block " + HexFormat.of().formatHex(writer.commit().toBytes()));
                }
            }
            System.out.println("rdma " + node.addresses().get("rdma"));
            System.out.println("ready");
            while (true) {
                Thread.sleep(1000);
                System.out.println("served " + node.counters().get(Counter.READS_SERVED));
            }
        }
    }
}
