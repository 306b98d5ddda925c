package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.testing.ForkedJvm;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whoever has no cluster of several processes does not need JGroups on the path; whoever wants one is told. */
class WithoutJGroupsTest {

    @Test
    void aNodeRunsWithoutJGroupsAndAClusterSaysWhatIsMissing(@TempDir Path folder)
            throws IOException, InterruptedException {
        String path = Stream.concat(Stream.of("target/classes", "target/test-classes"),
                Stream.of("java.class.path", "jdk.module.path")
                        .map(property -> System.getProperty(property, ""))
                        .flatMap(paths -> Stream.of(paths.split(File.pathSeparator, -1)))
                        .filter(entry -> !entry.contains("jgroups")))
                .collect(Collectors.joining(File.pathSeparator));
        ForkedJvm.Result result = ForkedJvm.run(folder, List.of("-cp", path, Program.class.getName()));
        assertEquals(0, result.exit(), () -> result.out() + result.err());
        assertTrue(result.out().contains("read 7"), result.out());
        assertTrue(result.out().contains("CONFIG_ERROR cluster.discovery = '127.0.0.1:7800' takes JGroups")
                && result.out().contains("org.jgroups:jgroups"), result.out());
    }

    /** Main class of the forked JVM. */
    static final class Program {
        private Program() {}

        public static void main(String[] args) {
            try (Node node = Node.start(config().build()); BlockView view = node.store().newView()) {
                BlockId id = BlockId.of("x");
                try (BlockWriter writer = node.store().allocate(id, TestNodes.BLOCK)) {
                    writer.segment().fill((byte) 7);
                    writer.commit();
                }
                boolean here = node.store().acquire(id, view);
                System.out
                        .println(here && TestNodes.isAll(view.segment(), 0, TestNodes.BLOCK, 7) ? "read 7" : "nothing");
            }
            try {
                Node.start(config().set("cluster.discovery", "127.0.0.1").build());
            } catch (MooncakeException e) {
                System.out.println(e.kind() + " " + e.getMessage());
            }
        }

        private static NodeConfigBuilder config() {
            return NodeConfig.builder("alone").blockSize(TestNodes.BLOCK).poolSize(4 * TestNodes.BLOCK);
        }
    }
}
