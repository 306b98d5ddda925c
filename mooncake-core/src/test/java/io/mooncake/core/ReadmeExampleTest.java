package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Layout;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.PrefixChain;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The README's example is this code, word for word, and it runs. */
class ReadmeExampleTest {
    @Test
    void shouldPrintWhatTheReadmePromises() {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            example();
        } finally {
            System.setOut(before);
        }
        assertEquals(List.of("layer 1, keys: OK", "first byte: 42"),
                printed.toString(StandardCharsets.UTF_8).lines().toList());
    }

    @Test
    void shouldStandInTheReadme() throws Exception {
        String readme = words(Files.readString(Path.of("../README.md")));
        String source = Files
                .readString(Path.of("src/test/java/io/mooncake/core/ReadmeExampleTest.java"));
        String example = words(source.substring(source.indexOf("// " + "begin") + 8, source.indexOf("// " + "end")));
        assertFalse(example.isEmpty());
        assertTrue(readme.contains(example), "README's example differs from this test's: " + example);
    }

    private static String words(String text) {
        return text.replaceAll("\\s+", "");
    }

    private static void example() {
        // begin
        LocalRegistry registry = new LocalRegistry();
        try (Node prefill = Node
                .start(NodeConfig.builder("prefill").registry(registry).poolSize(64 << 20).blockSize(1 << 20).build());
                Node decode = Node.start(
                        NodeConfig.builder("decode").registry(registry).poolSize(64 << 20).blockSize(1 << 20).build());
                Arena arena = Arena.ofShared()) {

            // Ids cover the tokens and everything before them: the same prefix is the same block, on whatever node.
            Layout layout = new Layout(2, 2, 16, 1024, "bf16");
            PrefixChain chain = new PrefixChain("llama-3-8b", layout, "engine-1", "");
            BlockId id = chain.first(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);

            // Prefill writes the block.
            BlockRef ref;
            try (BlockWriter writer = prefill.store().allocate(id, layout.blockBytes())) {
                writer.segment().fill((byte) 42);
                ref = writer.commit();
            }

            // Decode reads one layer's keys into its own memory: by reference, which needs no registry entry.
            Region region = decode.register(Memory.of(arena.allocate(layout.planeBytes(), 64)), Access.LOCAL_ONLY);
            Outcome outcome = decode.store()
                    .read(
                            Piece.of(ref, layout.offset(1, 0), layout.planeBytes(), Destination.at(region, 0)));
            System.out.println("layer 1, keys: " + outcome);

            // Or it keeps a replica and looks at it in place.
            prefill.store().awaitAnnounced(Duration.ofSeconds(5));
            decode.store().prepare(List.of(Piece.replica(id)), TransferOptions.DEFAULT).submit().join();
            try (BlockView view = decode.store().newView()) {
                if (decode.store().acquire(id, view)) {
                    System.out.println("first byte: " + view.segment().get(ValueLayout.JAVA_BYTE, 0));
                }
            }
            region.close();
        }
        // end
    }
}
