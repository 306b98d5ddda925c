package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.testing.DocsExample;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Blocks moved between the tiers of a node, and from node to node; and blocks that are in another node's file. */
@Timeout(120)
final class BlockMoverTest {
    private static final TransferOptions DEFAULT = TransferOptions.DEFAULT;
    private static final int SLOTS = 16;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path directory;

    private final TestNodes nodes = new TestNodes();

    @AfterEach
    void close() {
        nodes.close();
    }

    /** With room for 64 blocks in a file. */
    private Node startWithFile(String name) {
        try {
            Path own = Files.createDirectories(directory.resolve(name));
            return nodes.start(name, builder -> builder.fileTier(own, 65 * BLOCK).evictionPolicy("lru"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static BlockId id(int number) {
        return BlockId.of("k" + number);
    }

    private static List<BlockId> ids(int count) {
        return IntStream.range(0, count).mapToObj(BlockMoverTest::id).toList();
    }

    private static void write(Node node, int count) {
        for (int i = 0; i < count; i++) {
            TestNodes.write(node, id(i), BLOCK, i);
        }
    }

    private static void assertAll(Outcome outcome, Transfer transfer) {
        transfer.join();
        for (int i = 0; i < transfer.pieces(); i++) {
            assertEquals(outcome, transfer.outcome(i), "piece " + i + ": " + transfer.cause(i));
        }
    }

    private void assertReadable(Node node, int number) {
        Region region = nodes.region(node, BLOCK);
        assertEquals(Outcome.OK, node.store().read(id(number), 0, Piece.WHOLE, region, 0));
        assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, BLOCK, number), "block " + number);
        region.close();
    }

    private static boolean isInMemory(Node node, int number) {
        try (BlockView view = node.store().newView()) {
            return node.store().acquire(id(number), view);
        }
    }

    /** All of its blocks to its file and out of its memory. */
    private static void sink(Node node, int count) {
        assertAll(Outcome.OK, node.mover().demote(ids(count), DEFAULT));
        assertTrue(TestWaits.until(() -> node.usage().used() == 0), () -> node.store().describe());
        TestNodes.announced(node);
    }

    // ---- between the tiers of a node

    @Test
    void shouldMoveDownAndUpAgain() {
        Node a = startWithFile("a");
        write(a, 8);
        sink(a, 8);
        assertFalse(isInMemory(a, 3));
        assertEquals(8, a.usage(Tier.SLOW).used());
        assertReadable(a, 3);
        assertAll(Outcome.OK, a.mover().promote(List.of(id(3), id(5)), DEFAULT));
        assertTrue(isInMemory(a, 3) && isInMemory(a, 5) && !isInMemory(a, 4));
        assertEquals(8, a.usage(Tier.SLOW).used(), "what comes up stays durable");
        assertAll(Outcome.OK, a.mover().prefetch(List.of(id(4))));
        assertTrue(isInMemory(a, 4));
        String text = a.store().describe();
        assertTrue(text.contains("SLOW: 65 slots, 8 used") && text.contains("blocks of 512 KiB"), text);
        assertTrue(text.contains("BLOCKS_DEMOTED 8") && text.contains("BLOCKS_PROMOTED 3"), text);
    }

    @Test
    void shouldKeepWhatIsPinnedUntilItIsNot() {
        Node a = startWithFile("a");
        write(a, 1);
        try (BlockView view = a.store().newView()) {
            assertTrue(a.store().acquire(id(0), view));
            assertAll(Outcome.OK, a.mover().demote(ids(1), DEFAULT));
            TestNodes.announced(a);
            assertTrue(TestNodes.isAll(view.segment(), 0, BLOCK, 0));
            assertEquals(1, a.usage().used());
        }
        assertTrue(TestWaits.until(() -> a.usage().used() == 0));
        assertReadable(a, 0);
    }

    @Test
    void shouldSayThatThereIsNoFile() {
        Node a = nodes.start("a");
        write(a, 1);
        Transfer down = a.mover().demote(ids(1), DEFAULT);
        assertAll(Outcome.REFUSED, down);
        assertEquals(Kind.UNSUPPORTED, Objects.requireNonNull(down.cause(0)).kind());
    }

    @Test
    void shouldKeepInItsTierWhatIsPinnedThere() {
        Node a = startWithFile("a");
        write(a, 4);
        assertAll(Outcome.OK, a.mover().demote(List.of(id(2)), DEFAULT));
        assertTrue(TestWaits.until(() -> !isInMemory(a, 2)));
        try (Hold memory = a.mover().pin(List.of(id(0), id(1), id(2)), Tier.DRAM, TestNodes.LONG);
                Hold file = a.mover().pin(List.of(id(2)), Tier.SLOW, TestNodes.LONG)) {
            assertEquals(2, memory.refs().size(), "the third one is not in memory");
            assertEquals(1, file.refs().size());
            for (int i = 10; i < 10 + 64 + 3 * SLOTS; i++) {
                TestNodes.write(a, id(i), BLOCK, i);
            }
            assertTrue(isInMemory(a, 0) && isInMemory(a, 1) && !isInMemory(a, 3));
            assertReadable(a, 2);
        }
    }

    /** Memory is full of blocks that are not durable, and so is, nearly, the file. */
    @Test
    void shouldLetNoLoadWaitForEverBehindDemotions() {
        Node a = startWithFile("a");
        write(a, 60);
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < 40; i++) {
                TestNodes.write(a, BlockId.of("dirty " + round + " " + i), BLOCK, 1);
                int oldest = 20 + i;
                Transfer up = a.mover().promote(List.of(id(oldest)), DEFAULT.withTimeout(TestNodes.LONG));
                up.join();
                assertTrue(up.outcome(0) == Outcome.OK || up.outcome(0) == Outcome.ABSENT,
                        () -> up.outcome(0) + " " + up.cause(0) + a.store().describe());
            }
        }
        assertEquals(0, a.counters().get(Counter.DEMOTIONS_FAILED));
    }

    // ---- blocks in another node's file

    @Test
    void shouldReadWhatIsOnlyInAnothersFile() {
        Node a = startWithFile("a");
        Node b = nodes.start("b");
        write(a, 6);
        sink(a, 6);
        BlockRef inFile = b.store().locations(id(2)).getFirst();
        assertTrue(inFile.isInFile());
        assertTrue(b.store().explain(id(2)).contains("because it is in a file there"), b.store().explain(id(2)));
        assertReadable(b, 0);
        assertEquals(Outcome.OK, b.store().read(Piece.replica(id(1))));
        assertTrue(isInMemory(b, 1));
        // By a reference to where it was.
        Region region = nodes.region(b, BLOCK);
        assertEquals(Outcome.OK, b.store().read(inFile, region, 0));
        assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, BLOCK, 2));
        assertEquals(3, a.counters().get(Counter.BLOCKS_WANTED));
        assertEquals(3, a.counters().get(Counter.BLOCKS_PROMOTED));
        assertFalse(b.store().locations(id(2)).getFirst().isInFile(), "it is in memory there now");
    }

    @Test
    void shouldMissWhatLeavesTheFileMeanwhileAndEndInTime() {
        Node a = startWithFile("a");
        Node b = nodes.start("b");
        write(a, 2);
        sink(a, 2);
        BlockRef inFile = b.store().locations(id(0)).getFirst();
        a.store().evict(List.of(id(0)));
        TestNodes.announced(a);
        Region region = nodes.region(b, BLOCK);
        assertEquals(Outcome.ABSENT, b.store().read(inFile, region, 0));
        // Nothing of its memory is free, so the owner cannot bring it up.
        try (Writers full = new Writers(a, 14)) {
            assertNotNull(full);
            Transfer read = b.store()
                    .prepare(List.of(Piece.of(id(1), 0, Piece.WHOLE, Destination.at(region, 0))),
                            DEFAULT.withTimeout(Duration.ofMillis(300)))
                    .submit();
            read.join();
            assertEquals(Outcome.TIMED_OUT, read.outcome(0));
            assertTrue(String.valueOf(Objects.requireNonNull(read.cause(0)).getMessage()).contains("from its file"),
                    () -> String.valueOf(read.cause(0)));
        }
        assertReadable(b, 1);
    }

    /** All slots that a node has, or so many that it will not evict for another. */
    private static final class Writers implements AutoCloseable {
        private final List<BlockWriter> writers;

        Writers(Node node, int least) {
            int free = node.usage().free();
            assertTrue(free >= least, "free: " + free);
            writers = IntStream.range(0, free)
                    .mapToObj(i -> node.store().allocate(BlockId.of("w" + i), BLOCK))
                    .toList();
        }

        @Override
        public void close() {
            writers.forEach(BlockWriter::close);
        }
    }

    @Test
    void shouldDropWhatIsNoQuestionForBlocks() {
        Node a = startWithFile("a");
        Node b = nodes.start("b");
        for (Topic topic : List.of(Topic.WANTED, Topic.MOVES)) {
            long before = a.counters().get(Counter.MESSAGES_DROPPED);
            assertTrue(b.parts().control().send(a.id(), topic, ByteBuffer.wrap(new byte[200])));
            assertTrue(TestWaits.until(() -> a.counters().get(Counter.MESSAGES_DROPPED) == before + 1));
        }
        write(a, 1);
        BlockRef inMemory = b.store().locations(id(0)).getFirst();
        assertTrue(b.parts().control().send(a.id(), Topic.WANTED, RefMessage.of(List.of(inMemory))));
        assertReadable(b, 0);
        assertEquals(0, a.counters().get(Counter.BLOCKS_WANTED));
    }

    // ---- from node to node

    @Test
    void shouldReplicate() {
        Node a = nodes.start("a");
        Node b = nodes.start("b");
        write(a, 8);
        assertAll(Outcome.OK, a.mover().replicate(ids(8), b.id(), DEFAULT));
        for (int i = 0; i < 8; i++) {
            assertTrue(isInMemory(a, i) && isInMemory(b, i));
            assertEquals(2, a.store().locations(id(i)).size());
            assertReadable(b, i);
        }
        assertEquals(8, a.counters().get(Counter.BLOCKS_COPIED_OUT));
        assertEquals(8, b.counters().get(Counter.BLOCKS_REPLICATED));
    }

    @Test
    void shouldMigrateMoreThanOneMessageNames() {
        Node a = nodes.start("a", builder -> builder.poolSize(160 * BLOCK));
        Node b = nodes.start("b", builder -> builder.poolSize(160 * BLOCK));
        write(a, 130);
        try (BlockView view = a.store().newView()) {
            assertTrue(a.store().acquire(id(7), view));
            Transfer moved = a.mover().migrate(ids(130), b.id(), DEFAULT);
            assertAll(Outcome.OK, moved);
            assertTrue(TestNodes.isAll(view.segment(), 0, BLOCK, 7), "who has it pinned keeps its bytes");
        }
        assertTrue(TestWaits.until(() -> a.usage().used() == 0));
        for (int i = 0; i < 130; i++) {
            List<BlockRef> holders = b.store().locations(id(i));
            assertEquals(List.of(b.id()), holders.stream().map(BlockRef::node).toList());
            assertTrue(b.store().isPrimary(holders.getFirst()));
            assertReadable(b, i);
        }
        assertEquals(130, a.counters().get(Counter.BLOCKS_HANDED_OVER));
    }

    @Test
    void shouldMigrateOutOfAFile() {
        Node a = startWithFile("a");
        Node b = nodes.start("b");
        write(a, 4);
        sink(a, 4);
        assertAll(Outcome.OK, a.mover().migrate(ids(4), b.id(), DEFAULT));
        assertTrue(TestWaits.until(() -> a.usage(Tier.SLOW).used() == 0 && a.usage().used() == 0),
                () -> a.store().describe());
        assertReadable(a, 3);
        assertReadable(b, 2);
    }

    @Test
    void shouldSayWhatIsNotHereAndWhoIsNotThere() {
        Node a = nodes.start("a");
        Node b = nodes.start("b");
        write(a, 1);
        Transfer some = a.mover().replicate(List.of(id(99), id(0), id(98)), b.id(), DEFAULT);
        some.join();
        assertEquals(List.of(Outcome.ABSENT, Outcome.OK, Outcome.ABSENT),
                List.of(some.outcome(0), some.outcome(1), some.outcome(2)));
        Transfer nowhere = a.mover().migrate(ids(1), new NodeId("nobody", 7), DEFAULT);
        assertAll(Outcome.UNREACHABLE, nowhere);
        assertTrue(isInMemory(a, 0));
        assertEquals(Kind.INVALID_ARGUMENT,
                assertThrows(MooncakeException.class, () -> a.mover().migrate(ids(1), a.id(), DEFAULT)).kind());
    }

    @Test
    void shouldMoveABlockOnceAtATime() {
        Node a = nodes.start("a");
        // Nobody runs it, so that it takes nothing.
        Node b = nodes.start("b", builder -> builder.threading(ThreadingMode.INVOKER));
        Node c = nodes.start("c");
        write(a, 1);
        Transfer first = a.mover().migrate(ids(1), b.id(), DEFAULT.withTimeout(TestNodes.LONG));
        Transfer second = a.mover().migrate(ids(1), c.id(), DEFAULT);
        assertAll(Outcome.REFUSED, second);
        assertEquals(Kind.IN_USE, Objects.requireNonNull(second.cause(0)).kind());
        first.cancel();
        first.join();
        assertTrue(first.awaitReleased(TestNodes.LONG));
        assertEquals(Outcome.CANCELED, first.outcome(0));
        assertTrue(isInMemory(a, 0));
        assertAll(Outcome.OK, a.mover().migrate(ids(1), c.id(), DEFAULT));
        assertReadable(a, 0);
        assertTrue(isInMemory(c, 0) && !isInMemory(a, 0));
    }

    @Test
    void shouldKeepWhatIsNotTakenInTimeOrWhoseTakerDies() {
        Node a = nodes.start("a");
        Node b = nodes.start("b", builder -> builder.threading(ThreadingMode.INVOKER));
        write(a, 1);
        assertAll(Outcome.TIMED_OUT, a.mover().migrate(ids(1), b.id(), DEFAULT.withTimeout(Duration.ofMillis(50))));
        Transfer moving = a.mover().migrate(ids(1), b.id(), DEFAULT.withTimeout(TestNodes.LONG));
        nodes.registry.leave(b.id());
        assertAll(Outcome.UNREACHABLE, moving);
        assertEquals(Kind.PEER_UNREACHABLE, Objects.requireNonNull(moving.cause(0)).kind());
        assertTrue(isInMemory(a, 0));
        assertReadable(a, 0);
    }

    /** Killed is what {@link #shouldKeepWhatIsNotTakenInTimeOrWhoseTakerDies} does. */
    @Test
    void C56_shouldLeaveNothingPinnedByAMoveThatFailed() {
        Node a = nodes.start("a");
        Node b = nodes.start("b", builder -> builder.poolSize(4 * BLOCK).allocateTimeout(Duration.ofMillis(100)));
        write(a, 2);
        try (Writers full = new Writers(b, 4)) {
            assertNotNull(full);
            Transfer moving = a.mover().migrate(ids(2), b.id(), DEFAULT.withTimeout(Duration.ofMillis(300)));
            a.store().evict(List.of(id(1)));
            moving.join();
            assertEquals(Outcome.TIMED_OUT, moving.outcome(0), () -> String.valueOf(moving.cause(0)));
            assertTrue(moving.outcome(1) != Outcome.OK);
            assertTrue(TestWaits.until(() -> b.counters().get(Counter.PIECES_TIMED_OUT) == 2), "b gives them up, too");
        }
        assertEquals(1, a.store().evict(List.of(id(0))));
        assertTrue(TestWaits.until(() -> a.usage().used() == 0), () -> a.store().describe());
        TestNodes.announced(a);
        TestNodes.announced(b);
        assertEquals(List.of(), a.store().locations(id(0)));
        assertEquals(List.of(), a.store().locations(id(1)));
    }

    @Test
    void shouldEndItsMovesWhenItCloses() {
        Node a = nodes.start("a");
        Node b = nodes.start("b", builder -> builder.threading(ThreadingMode.INVOKER));
        write(a, 1);
        Transfer moving = a.mover().migrate(ids(1), b.id(), DEFAULT.withTimeout(TestNodes.LONG));
        a.close();
        assertAll(Outcome.CANCELED, moving);
        assertTrue(moving.cause(0) == null);
        assertEquals(Kind.CLOSED,
                assertThrows(MooncakeException.class, () -> a.mover().promote(ids(1), DEFAULT)).kind());
    }

    // ---- the example of docs/tiers.md

    @Test
    void shouldStandInTheDocs() throws IOException {
        DocsExample.assertStandsIn("docs/tiers.md", BlockMoverTest.class);
    }

    @Test
    void example() {
        Node node = startWithFile("prefill");
        Node decode = nodes.start("decode");
        write(node, 4);
        List<BlockId> cold = List.of(id(0), id(1));
        List<BlockId> hot = List.of(id(2), id(3));
        // begin
        BlockMover mover = node.mover();
        mover.demote(cold, TransferOptions.DEFAULT).join(); // durable, and out of memory
        try (Hold kept = mover.pin(hot, Tier.DRAM, Duration.ofSeconds(30))) { // whatever the policy says
            mover.replicate(kept.refs().stream().map(BlockRef::id).toList(), decode.id(), TransferOptions.DEFAULT)
                    .join();
        }
        Transfer ahead = mover.prefetch(cold); // behind every load; cancel() with its request
        ahead.join();
        mover.migrate(cold, decode.id(), TransferOptions.DEFAULT).join(); // decode has them now, and nobody else
        // end
        assertAll(Outcome.OK, ahead);
        assertTrue(IntStream.range(0, 4).allMatch(i -> isInMemory(decode, i)));
        assertTrue(!isInMemory(node, 0) && isInMemory(node, 2));
    }
}
