package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertLinesMatch;

import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.Layout;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.PrefixChain;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.CompletionQueue;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.testing.DocsExample;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
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
        // Which way is free at that moment, and whether the cancel came in time, is the machine's.
        String way = "block [0-9a-f]+ on node prefill#[0-9a-f]+: (shm|tcp) \\(.*";
        String over = "transfer of 1 piece, (CANCELED, released, to compute: \\[[0-9a-f]+]|COMPLETED, released, to compute: \\[])";
        assertLinesMatch(List.of("layer 1, keys: OK", way, over, "first byte: 42"),
                printed.toString(StandardCharsets.UTF_8).lines().toList());
    }

    @Test
    void shouldStandInTheReadme() throws IOException {
        DocsExample.assertStandsIn("README.md", ReadmeExampleTest.class);
    }

    private static void example() {
        // begin
        LocalRegistry registry = new LocalRegistry();
        // What all nodes of the cluster know, from `openssl rand -hex 32`; without one a node listens on loopback only.
        ClusterSecret secret = ClusterSecret.of("0f1e2d3c4b5a69788796a5b4c3d2e1f0");
        try (Node prefill = Node.start(NodeConfig.builder("prefill")
                .registry(registry)
                .clusterSecret(secret)
                .poolSize(64 << 20)
                .blockSize(1 << 20)
                .build());
                Node decode = Node.start(NodeConfig.builder("decode")
                        .registry(registry)
                        .clusterSecret(secret)
                        .poolSize(64 << 20)
                        .blockSize(1 << 20)
                        .build());
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
            BlockStore store = decode.store();
            Region region = decode.register(Memory.of(arena.allocate(layout.planeBytes(), 64)), Access.LOCAL_ONLY);
            Piece keys = Piece.of(ref, layout.offset(1, 0), layout.planeBytes(), Destination.at(region, 0));
            System.out.println("layer 1, keys: " + store.read(keys));
            System.out.println(store.explain(ref)); // which way, and why no other

            // Thousands at a time, one queue to poll. Cancel is never refused; what is polled writes its memory no more.
            CompletionQueue queue = store.newCompletionQueue();
            Transfer pull = store.prepare(List.of(keys), TransferOptions.DEFAULT.withCompletions(queue)).submit();
            pull.cancel();
            System.out.println(queue.poll(Duration.ofSeconds(5)) + ", to compute: " + store.recompute(pull));

            // Or it keeps a replica and looks at it in place; HOST sees blocks of other nodes of this host in place, too.
            prefill.store().awaitAnnounced(Duration.ofSeconds(5));
            store.prepare(List.of(Piece.replica(id)), TransferOptions.DEFAULT).submit().join();
            try (BlockView view = store.newView()) {
                if (store.acquire(id, view, Reach.HOST)) {
                    System.out.println("first byte: " + view.segment().get(ValueLayout.JAVA_BYTE, 0));
                }
            }
            region.close();
        }
        // end
    }
}
