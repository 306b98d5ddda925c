package io.mooncake.bench.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.BlockStore;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.PrefixMatch;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Layout;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.PrefixChain;
import io.mooncake.core.block.Tier;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.testing.DocsExample;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The adapter of docs/engines.md is this code, word for word, and it serves a made-up engine. */
@Timeout(60)
class AdapterExampleTest {

    // begin
    /** The engine: a request's KV cache is pages of 16 tokens; it computes tokens from a position on, with what the pages before hold. */
    interface PagedEngine {
        MemorySegment page(int request, int page);

        float[] forward(int request, int position, int... tokens);
    }

    static final class Adapter {
        private static final Duration MEANWHILE = Duration.ofSeconds(30);

        // Whatever changes a block's bytes is in its name: model, shape, data type, build, tenant.
        private final Layout layout = new Layout(2, 2, 16, 64, "f32");
        private final PrefixChain chain = new PrefixChain("my-model", layout, "my-engine 1.4", "");
        private final BlockStore store;
        private final PagedEngine engine;

        Adapter(BlockStore store, PagedEngine engine) {
            this.store = store;
            this.engine = engine;
        }

        /** The logits after the prompt. */
        float[] prefill(int request, int... prompt) {
            int tokens = layout.tokens();
            List<BlockId> ids = chain.ids(prompt);
            // The last token is computed in any case: its logits are what is asked for. So is the block that it ends.
            int whole = (prompt.length - 1) / tokens;
            boolean[] loaded = load(request, ids.subList(0, whole));
            for (int block = 0; block < whole; block++) {
                if (!loaded[block]) {
                    engine.forward(request, block * tokens,
                            Arrays.copyOfRange(prompt, block * tokens, (block + 1) * tokens));
                    publish(request, block, ids.get(block));
                }
            }
            float[] logits = engine.forward(request, whole * tokens,
                    Arrays.copyOfRange(prompt, whole * tokens, prompt.length));
            if (ids.size() > whole) {
                publish(request, whole, ids.get(whole));
            }
            return logits;
        }

        private boolean[] load(int request, List<BlockId> ids) {
            boolean[] loaded = new boolean[ids.size()];
            try (PrefixMatch match = store.match(ids, MEANWHILE)) {
                List<Piece> away = new ArrayList<>();
                for (int i = 0; i < ids.size(); i++) {
                    if (match.tier(i) == Tier.SLOW) { // on another node, or in this one's file
                        away.add(Piece.replica(ids.get(i)));
                    }
                }
                if (!away.isEmpty()) {
                    // Whatever becomes of a piece: a block that did not come is not found below, and is computed.
                    store.prepare(away, TransferOptions.DEFAULT).submit().joinOrCancel();
                }
                for (int i = 0; i < ids.size(); i++) {
                    try (BlockView view = store.newView()) {
                        loaded[i] = store.acquire(ids.get(i), view);
                        if (loaded[i]) {
                            engine.page(request, i).copyFrom(view.segment());
                        }
                    }
                }
            }
            return loaded;
        }

        private void publish(int request, int block, BlockId id) {
            try (BlockWriter writer = store.allocate(id, layout.blockBytes())) {
                writer.segment().copyFrom(engine.page(request, block));
                writer.commit();
            } catch (MooncakeException e) {
                // RETRY: another request writes the same block, or there is no room; this one goes on without.
                if (e.category() != MooncakeException.Category.RETRY
                        && e.category() != MooncakeException.Category.RECOMPUTE) {
                    throw e;
                }
            }
        }
    }
    // end

    /** Its keys and values are sums over all tokens so far, and so are its logits. */
    private static final class MadeUp implements PagedEngine {
        private static final int PAGE_TOKENS = 16;
        private static final int ROW = 2 * 2 * 64 / Long.BYTES;

        private final MemorySegment pages = Arena.ofAuto().allocate(64L * PAGE_TOKENS * ROW * Long.BYTES, 64);
        private int computed;

        @Override
        public MemorySegment page(int request, int page) {
            long bytes = (long) PAGE_TOKENS * ROW * Long.BYTES;
            return pages.asSlice((request * 8L + page) * bytes, bytes);
        }

        @Override
        public float[] forward(int request, int position, int... tokens) {
            long sum = position == 0 ? 0 : row(request, position - 1, 0);
            for (int i = 0; i < tokens.length; i++) {
                sum = sum * 31 + tokens[i];
                for (int column = 0; column < ROW; column++) {
                    page(request, (position + i) / PAGE_TOKENS).setAtIndex(ValueLayout.JAVA_LONG,
                            (position + i) % PAGE_TOKENS * ROW + column, sum + column);
                }
            }
            computed += tokens.length;
            return new float[]{Float.intBitsToFloat((int) sum), position + tokens.length};
        }

        private long row(int request, int token, int column) {
            return page(request, token / PAGE_TOKENS).getAtIndex(ValueLayout.JAVA_LONG,
                    (long) token % PAGE_TOKENS * ROW + column);
        }
    }

    private static final Duration SOON = Duration.ofSeconds(30);

    private static Node start(String name, LocalRegistry registry) {
        return Node.start(NodeConfig.builder(name).registry(registry).blockSize(4096).poolSize(64 * 4096).build());
    }

    @Test
    void shouldServeAMadeUpEngine() {
        LocalRegistry registry = new LocalRegistry();
        int[] prompt = new Random(1).ints(70, 0, 1000).toArray();
        try (Node prefill = start("prefill", registry); Node decode = start("decode", registry)) {
            MadeUp there = new MadeUp();
            MadeUp here = new MadeUp();
            float[] logits = new Adapter(prefill.store(), there).prefill(0, prompt);
            assertEquals(70, there.computed);
            assertTrue(prefill.store().awaitAnnounced(SOON));
            assertArrayEquals(logits, new Adapter(decode.store(), here).prefill(0, prompt));
            assertEquals(70 - 64, here.computed);
            assertEquals(1, prefill.store().evict(List.of(new Adapter(decode.store(), here).chain.ids(prompt).get(2))));
            assertTrue(prefill.store().awaitAnnounced(SOON) && decode.store().awaitAnnounced(SOON));
            assertArrayEquals(logits, new Adapter(prefill.store(), there).prefill(1, prompt));
            assertEquals(70 + 70 - 64, there.computed, "what was evicted came back from the other node");
        }
    }

    @Test
    void shouldStandInTheDocumentation() throws IOException {
        DocsExample.assertStandsIn("docs/engines.md", AdapterExampleTest.class);
    }
}
