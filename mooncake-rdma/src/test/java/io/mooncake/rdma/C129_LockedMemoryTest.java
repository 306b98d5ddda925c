package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.rdma.rig.RdmaDevices;
import io.mooncake.rdma.rig.SoftRoce;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Case C129: a process that may lock 64 KiB, and a pool of 64 MiB. */
@Tag("rdma")
@Timeout(300)
final class C129_LockedMemoryTest {
    private static final long POOL = 64L << 20;

    /** In a process without the right to lock what it likes. */
    static final class Program {
        private Program() {}

        public static void main(String[] args) {
            boolean required = Boolean.parseBoolean(args[0]);
            NodeConfig config = NodeConfig.builder("limited")
                    .registry(new LocalRegistry())
                    .blockSize(POOL / 2)
                    .poolSize(POOL)
                    .sharedMemory("off")
                    .addEngine(context -> required
                            ? RdmaTransferEngine.create(context, RdmaConfig.defaults())
                            : RdmaTransferEngine.createIfUsable(context, RdmaConfig.defaults()))
                    .build();
            try (Node node = Node.start(config)) {
                System.out.println("started " + node.addresses().keySet());
            } catch (MooncakeException e) {
                System.out.println("refused " + e.kind() + " " + e.getMessage());
            }
        }
    }

    private static String run(boolean required) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of("setpriv", "--bounding-set", "-ipc_lock", "prlimit", "--memlock=65536:65536"));
        command.addAll(SoftRoce.java(List.of(), List.of(Program.class.getName(), "" + required)));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), text);
        return text;
    }

    @Test
    void shouldSayWhatTheLimitIsAndWhatToDo() throws Exception {
        RdmaDevices.assumeSoftRoce();
        String text = run(true);
        // Once a card.
        assertTrue(
                text.contains("refused CONFIG_ERROR") && text.matches("(?s).*(64|128)MiB.*") && text.contains("64KiB")
                        && text.contains("ulimit -l"),
                text);
    }

    @Test
    void shouldUseTcpWhereRdmaIsOnlyWelcome() throws Exception {
        RdmaDevices.assumeSoftRoce();
        String text = run(false);
        assertTrue(text.contains("started [tcp]"), text);
    }
}
