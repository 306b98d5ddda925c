package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.registry.LocalRegistry;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The example of docs/rdma.md: with cards of these names it uses them, without it goes on and says so. */
class RdmaExampleTest {
    @Test
    void shouldRun() {
        RdmaConfig rdma = RdmaConfig.defaults()
                .withDevices(new RdmaConfig.Devices(List.of("mlx5_0", "mlx5_1"), 1, null));
        NodeConfig config = NodeConfig.builder("a")
                .addEngine(context -> RdmaTransferEngine.createIfUsable(context, rdma))
                .registry(new LocalRegistry())
                .blockSize(4096)
                .poolSize(1 << 20)
                .build();
        try (Node node = Node.start(config)) {
            boolean used = Rdma.isAvailable()
                    && Rdma.survey(rdma.devices()).problems().stream().noneMatch(text -> text.contains("mlx5_"));
            assertEquals(used, node.addresses().containsKey("rdma"));
        }
    }
}
