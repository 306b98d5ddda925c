package io.mooncake.bench.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.Reach;
import io.mooncake.core.base.Counter;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.registry.LocalRegistry;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Prefill on one node, decode on another: the same bits as computed on one, and exactly what is missing is computed. For each engine whose
 * tolerance is nothing.
 */
@Timeout(120)
abstract class EngineAdapterSuite {
    static final int BLOCK_TOKENS = 4;
    private static final int BLOCKS = 6;
    private static final int GENERATED = 6;
    private static final Duration SOON = Duration.ofSeconds(30);

    private final LocalRegistry registry = new LocalRegistry();
    private final List<Node> nodes = new ArrayList<>();
    private final Engine engine = newEngine(7);
    private final int[] prompt = prompt(BLOCKS * BLOCK_TOKENS + 2);
    private final List<BlockId> ids = engine.chain().ids(prompt);

    /** Of {@link #BLOCK_TOKENS} tokens a block. */
    abstract Engine newEngine(long seed);

    @AfterEach
    void close() {
        nodes.forEach(Node::close);
        engine.close();
    }

    private static int[] prompt(int tokens) {
        return new Random(5).ints(tokens, 0, 64).toArray();
    }

    private Node start(String name) {
        return start(name, false, 3 * BLOCKS, MemorySource.anonymous());
    }

    private Node start(String name, boolean checksums, int slots, MemorySource memory) {
        return start(config(name, checksums, slots, memory));
    }

    private Node start(NodeConfigBuilder config) {
        Node node = Node.start(config.build());
        nodes.add(node);
        return node;
    }

    private NodeConfigBuilder config(String name, boolean checksums, int slots, MemorySource memory) {
        long bytes = engine.layout().blockBytes();
        return NodeConfig.builder(name)
                .registry(registry)
                .blockSize(bytes)
                .poolSize(slots * bytes)
                .spareSlots(1)
                .checksums(checksums)
                .memory(memory)
                .sharedMemory(NodeConfig.SHARED_MEMORY_OFF)
                .allocateTimeout(Duration.ofMillis(20));
    }

    /** Starts the node that decodes; over TCP, and no block comes before the test lets it. */
    private GatedTcp startGated() {
        List<GatedTcp> gates = new ArrayList<>();
        start(config("decode", false, 3 * BLOCKS, MemorySource.anonymous()).engines(context -> {
            gates.add(new GatedTcp(context));
            return List.copyOf(gates);
        }));
        return gates.getFirst();
    }

    private EngineAdapter beside(Node node) {
        return beside(node, () -> {});
    }

    /** Tells of each block that is used. */
    private EngineAdapter beside(Node node, Runnable onAttach) {
        return new EngineAdapter(new WatchedEngine(engine, onAttach), node.store(), Reach.NODE, _ -> {});
    }

    /** Prefills on a node; then all others can find what it published. */
    private void prefill(Node node, int... tokens) {
        beside(node).begin(tokens).close();
        assertTrue(node.store().awaitAnnounced(SOON));
    }

    private static void evict(Node node, List<BlockId> ids) {
        assertEquals(ids.size(), node.store().evict(ids));
        assertTrue(node.store().awaitAnnounced(SOON));
    }

    /** The logits after the prompt and after each token that follows. */
    private static List<float[]> all(Session session) {
        List<float[]> all = new ArrayList<>(List.of(session.logits()));
        for (int i = 0; i < GENERATED; i++) {
            session.next();
            all.add(session.logits());
        }
        return all;
    }

    private FirstToken assertSameBits(EngineAdapter adapter, int... tokens) {
        try (Session session = adapter.begin(tokens); Session alone = EngineAdapter.beginAlone(engine, tokens)) {
            List<float[]> expected = all(alone);
            List<float[]> found = all(session);
            for (int i = 0; i < expected.size(); i++) {
                assertArrayEquals(expected.get(i), found.get(i), "logits after " + i + " generated tokens");
            }
            assertArrayEquals(alone.tokens(), session.tokens());
            return session.firstToken();
        }
    }

    private static void assertCounts(int here, int pulled, int computed, FirstToken first) {
        assertEquals(List.of(here, pulled, computed), List.of(first.here(), first.pulled(), first.computed()),
                "blocks here, pulled, computed");
    }

    // ---- hits

    @Test
    void shouldGiveTheSameBitsAtEveryBlockBoundary() {
        Node prefill = start("prefill");
        Node decode = start("decode");
        for (int blocks = 0; blocks <= BLOCKS; blocks++) {
            if (blocks > 0) {
                prefill(prefill, Arrays.copyOf(prompt, blocks * BLOCK_TOKENS));
            }
            FirstToken first = assertSameBits(beside(decode), prompt);
            assertCounts(0, blocks, BLOCKS - blocks, first);
            assertEquals(blocks * engine.layout().blockBytes(), first.pulledBytes());
            evict(decode, ids);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, BLOCK_TOKENS - 1, BLOCK_TOKENS, BLOCK_TOKENS + 1, 2 * BLOCK_TOKENS,
            BLOCKS * BLOCK_TOKENS, BLOCKS * BLOCK_TOKENS + 1})
    void shouldGiveTheSameBitsForPromptsOfAnyLength(int tokens) {
        Node prefill = start("prefill");
        Node decode = start("decode");
        int[] some = Arrays.copyOf(prompt, tokens);
        prefill(prefill, prompt);
        assertCounts(0, (tokens - 1) / BLOCK_TOKENS, 0, assertSameBits(beside(decode), some));
        assertCounts((tokens - 1) / BLOCK_TOKENS, 0, 0, assertSameBits(beside(decode), some));
    }

    @Test
    void shouldUseTheSamePagesForRequestsThatBeginAlike() {
        Node node = start("node");
        try (Session first = beside(node).begin(prompt); Session second = beside(node).begin(prompt)) {
            assertArrayEquals(first.logits(), second.logits());
            assertCounts(BLOCKS, 0, 0, second.firstToken());
            assertEquals(BLOCKS, node.usage().used());
        }
    }

    @Test
    void shouldFindWhatWasGeneratedWhenTheConversationGoesOn() {
        Node one = start("one");
        Node other = start("other");
        int[] next;
        try (Session turn = beside(one).begin(prompt)) {
            all(turn);
            next = Arrays.copyOf(turn.tokens(), turn.tokens().length + 3);
        }
        assertTrue(one.store().awaitAnnounced(SOON));
        int known = (prompt.length + GENERATED) / BLOCK_TOKENS;
        assertCounts(0, known, (next.length - 1) / BLOCK_TOKENS - known, assertSameBits(beside(other), next));
    }

    /** Else the time that blocks travel would not be the time that those before are used. */
    @Test
    void shouldUseEachBlockWhileTheNextOnesStillTravel() {
        Node prefill = start("prefill");
        prefill(prefill, prompt);
        GatedTcp gate = startGated();
        List<Integer> traveling = new ArrayList<>();
        EngineAdapter adapter = beside(nodes.getLast(), () -> {
            traveling.add(gate.held());
            gate.pass(1);
        });
        // The next block comes only because the one before has been used.
        gate.pass(1);
        assertCounts(0, BLOCKS, 0, assertSameBits(adapter, prompt));
        assertEquals(IntStream.range(0, BLOCKS).mapToObj(used -> BLOCKS - 1 - used).toList(), traveling,
                "blocks that still travel when one is used");
    }

    // ---- what is not to be used

    @Test
    void shouldNotMatchAPromptWithAnotherPrefix() {
        Node prefill = start("prefill");
        Node decode = start("decode");
        prefill(prefill, prompt);
        int[] other = prompt.clone();
        other[0] = (other[0] + 1) % engine.vocabulary();
        // All tokens but the first are the same, and so would be the blocks if they were named by their own tokens.
        assertCounts(0, 0, BLOCKS, assertSameBits(beside(decode), other));
        int[] forks = prompt.clone();
        forks[2 * BLOCK_TOKENS] = (forks[2 * BLOCK_TOKENS] + 1) % engine.vocabulary();
        assertCounts(0, 2, BLOCKS - 2, assertSameBits(beside(decode), forks));
    }

    @Test
    void shouldNotMatchAnotherModel() {
        Node prefill = start("prefill");
        prefill(prefill, prompt);
        try (Engine other = newEngine(8);
                Session session = new EngineAdapter(other, prefill.store(), Reach.NODE, _ -> {}).begin(prompt)) {
            assertCounts(0, 0, BLOCKS, session.firstToken());
        }
    }

    /** A node whose memory a test can reach past the store. */
    private MemorySegment startReachable(boolean checksums) {
        MemorySource anonymous = MemorySource.anonymous();
        List<MemorySegment> all = new ArrayList<>();
        start("prefill", checksums, 3 * BLOCKS, (bytes, align, arena) -> {
            all.add(anonymous.reserve(bytes, align, arena));
            return all.getLast();
        });
        return all.stream().max((a, b) -> Long.compare(a.byteSize(), b.byteSize())).orElseThrow();
    }

    private static void flip(Node node, MemorySegment memory, BlockId id, long at) {
        BlockRef there = node.store()
                .locations(id)
                .stream()
                .filter(ref -> ref.node().equals(node.id()))
                .findFirst()
                .orElseThrow();
        long byteAt = there.offset() + at;
        memory.set(ValueLayout.JAVA_BYTE, byteAt, (byte) (memory.get(ValueLayout.JAVA_BYTE, byteAt) ^ 0x10));
    }

    @Test
    void shouldSeeOneFlippedBitInTheLogits() {
        MemorySegment memory = startReachable(false);
        Node prefill = nodes.getFirst();
        Node decode = start("decode");
        prefill(prefill, prompt);
        try (Session alone = EngineAdapter.beginAlone(engine, prompt)) {
            for (int block = 0; block < BLOCKS; block++) {
                for (long at = 1; at < engine.layout().blockBytes(); at += engine.layout().planeBytes()) {
                    flip(prefill, memory, ids.get(block), at);
                    try (Session session = beside(decode).begin(prompt)) {
                        assertCounts(0, BLOCKS, 0, session.firstToken());
                        assertFalse(Arrays.equals(alone.logits(), session.logits()),
                                "bit 4 of byte " + at + " of block " + block + " makes no difference");
                    }
                    flip(prefill, memory, ids.get(block), at);
                    evict(decode, ids);
                }
            }
        }
        assertCounts(0, BLOCKS, 0, assertSameBits(beside(decode), prompt));
    }

    @Test
    void shouldComputeABlockWhoseChecksumIsWrong() {
        MemorySegment memory = startReachable(true);
        Node prefill = nodes.getFirst();
        Node decode = start("decode");
        prefill(prefill, prompt);
        flip(prefill, memory, ids.get(3), 1);
        assertCounts(0, BLOCKS - 1, 1, assertSameBits(beside(decode), prompt));
        assertEquals(1, decode.counters().get(Counter.PIECES_CHECKSUM));
        assertEquals(BLOCKS - 1, decode.counters().get(Counter.PIECES_OK));
    }

    // ---- what is gone

    @Test
    void shouldComputeExactlyWhatWasEvicted() {
        Node prefill = start("prefill");
        Node decode = start("decode");
        prefill(prefill, prompt);
        evict(prefill, List.of(ids.get(1), ids.get(4)));
        assertCounts(0, BLOCKS - 2, 2, assertSameBits(beside(decode), prompt));
        assertTrue(decode.store().awaitAnnounced(SOON));
        // What it computed it has published.
        assertCounts(BLOCKS, 0, 0, assertSameBits(beside(decode), prompt));
        assertCounts(BLOCKS - 2, 2, 0, assertSameBits(beside(prefill), prompt));
    }

    @Test
    void shouldComputeWhatItDoesNotHaveWhenTheOtherNodeIsGone() {
        Node prefill = start("prefill");
        Node decode = start("decode");
        prefill(prefill, prompt);
        assertCounts(0, 2, 0, assertSameBits(beside(decode), Arrays.copyOf(prompt, 2 * BLOCK_TOKENS + 1)));
        nodes.remove(prefill);
        prefill.close();
        assertCounts(2, 0, BLOCKS - 2, assertSameBits(beside(decode), prompt));
    }

    @Test
    void shouldComputeWhatHadNotComeWhenTheOtherNodeCloses() {
        Node prefill = start("prefill");
        prefill(prefill, prompt);
        GatedTcp gate = startGated();
        Node decode = nodes.getLast();
        AtomicInteger used = new AtomicInteger();
        EngineAdapter adapter = beside(decode, () -> {
            if (used.incrementAndGet() == 2) {
                nodes.remove(prefill);
                prefill.close();
                gate.pass(BLOCKS);
            }
        });
        gate.pass(2);
        assertCounts(0, 2, BLOCKS - 2, assertSameBits(adapter, prompt));
        assertEquals(BLOCKS - 2, decode.counters().get(Counter.PIECES_UNREACHABLE));
        // What it computed it has published, and so needs nobody for it.
        assertCounts(BLOCKS, 0, 0, assertSameBits(beside(decode), prompt));
    }

    @Test
    void shouldGoOnWhereThereIsNoRoomForAllItsBlocks() {
        Node small = start("small", false, 3, MemorySource.anonymous());
        assertCounts(0, 0, BLOCKS, assertSameBits(beside(small), prompt));
        assertTrue(small.usage().used() <= 3, () -> small.usage().toString());
    }
}
