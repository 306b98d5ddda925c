package io.mooncake.core;

import static io.mooncake.core.TestNodes.BLOCK;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Hold;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.registry.MemberChange;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.testing.ForwardingRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** What follows from what is known of other nodes: that one died, has a block, has a later version, was the writer. */
class PeerFactsTest {
    private static final BlockId ID = BlockId.of("k");

    /** Lets the test say who died. */
    private static final class Obituaries extends ForwardingRegistry {
        Consumer<? super MemberChange> listener = change -> {};

        Obituaries(LocalRegistry registry) {
            super(registry);
        }

        @Override
        public void watch(Consumer<? super MemberChange> told) {
            listener = told;
        }
    }

    @Test
    void whoIsDeadIsToldToEveryEngineAndWhatWasMeasuredOfItIsForgotten() {
        try (TestNodes nodes = new TestNodes()) {
            Obituaries registry = new Obituaries(nodes.registry);
            AtomicReference<ManualEngine> made = new AtomicReference<>();
            Node a = nodes.start("a");
            Node b = nodes.start("b", builder -> builder.threading(ThreadingMode.INVOKER)
                    .registry(registry)
                    .engines(context -> {
                        made.set(new ManualEngine(context));
                        return List.of(made.get());
                    }));
            ManualEngine engine = Objects.requireNonNull(made.get());
            BlockRef ref = TestNodes.write(a, ID, BLOCK, 1);
            Region region = nodes.region(b, BLOCK);
            b.store().prepare(List.of(ManualNodes.into(region, 0, ref)), TransferOptions.DEFAULT).submit();
            engine.arrive(1);
            assertEquals(List.of(a.id()), b.matrix().stream().map(pair -> pair.holder()).toList());
            List<NodeEvent> events = new ArrayList<>();
            try (BlockStore.Subscription _ = b.nodeEvents(events::add)) {
                registry.listener.accept(new MemberChange(MemberChange.Kind.DEAD, a.id(), "it was shot"));
                while (b.doWork() > 0) {
                    // Until every event was heard.
                }
            }
            assertEquals(List.of(a.id()), engine.dead);
            assertEquals(List.of(), b.matrix());
            assertEquals("it was shot", events.getFirst().reason());
        }
    }

    @Test
    void aHoldForANodeEndsWhenThatHasTheBlocks() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            BlockRef first = TestNodes.write(a, ID, BLOCK, 1);
            BlockRef second = TestNodes.write(a, BlockId.of("l"), BLOCK, 2);
            try (Hold hold = a.store().hold(List.of(first, second), b.id(), Duration.ofHours(1))) {
                // A hold keeps a block readable by its reference, whatever becomes of the id.
                a.store().evict(List.of(ID));
                assertEquals(Outcome.OK, b.store().read(replica(first)));
                TestNodes.announced(b);
                assertTrue(hold.isOpen(), "one of two");
                assertEquals(Outcome.OK, b.store().read(replica(second)));
                assertTrue(TestWaits.until(() -> !hold.isOpen()));
            }
        }
    }

    private static Piece replica(BlockRef ref) {
        return Piece.of(ref, 0, Piece.WHOLE, Destination.replica());
    }

    @Test
    void aHoldForANodeEndsWhenThatIsDeadAndNotBeforeItIsKnown() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            BlockRef ref = TestNodes.write(a, ID, BLOCK, 1);
            try (Hold dying = a.store().hold(List.of(ref), b.id(), Duration.ofHours(1));
                    Hold unborn = a.store().hold(List.of(ref), new NodeId("c", 77), Duration.ofHours(1))) {
                TestNodes.announced(a);
                assertTrue(dying.isOpen());
                // The conductor has looked when another hold that is over at once has ended.
                try (Hold brief = a.store().hold(List.of(ref), a.id(), Duration.ofHours(1))) {
                    assertTrue(TestWaits.until(() -> !brief.isOpen()));
                }
                b.close();
                assertTrue(TestWaits.until(() -> !dying.isOpen()));
                assertTrue(unborn.isOpen());
            }
        }
    }

    @Test
    void everyHolderIsPrimaryWhenTheWriterIsDead() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            Node c = nodes.start("c");
            BlockRef written = TestNodes.write(a, ID, BLOCK, 1);
            for (Node node : List.of(b, c)) {
                assertEquals(Outcome.OK, node.store().read(Piece.replica(ID)));
                TestNodes.announced(node);
            }
            List<BlockRef> replicas = c.store().locations(ID).stream().filter(ref -> !ref.equals(written)).toList();
            assertEquals(2, replicas.size());
            assertTrue(c.store().isPrimary(written));
            assertFalse(c.store().isPrimary(replicas.get(0)) || c.store().isPrimary(replicas.get(1)));
            a.close();
            assertTrue(c.store().isPrimary(replicas.get(0)) && c.store().isPrimary(replicas.get(1)));
        }
    }

    @Test
    void aReaderMayAskForAVersionThatIsNotOlder() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            BlockRef first = TestNodes.write(a, ID, BLOCK, 1);
            Region region = nodes.region(b, BLOCK);
            Piece any = Piece.of(ID, 0, Piece.WHOLE, Destination.at(region, 0));
            long next = first.version().counter() + 1;
            assertEquals(Outcome.OK, b.store().read(any.withAtLeast(next - 1)));
            assertEquals(Outcome.ABSENT, b.store().read(any.withAtLeast(next)));
            // A copy of the old version here does not do either.
            assertEquals(Outcome.OK, b.store().read(Piece.replica(ID)));
            assertEquals(Outcome.ABSENT, b.store().read(any.withAtLeast(next)));
            BlockRef second = TestNodes.write(a, ID, BLOCK, 2);
            assertEquals(next, second.version().counter());
            assertEquals(Outcome.OK, b.store().read(any.withAtLeast(next)));
            assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, BLOCK, 2));
            MooncakeException both = assertThrows(MooncakeException.class,
                    () -> Piece.of(second, 0, Piece.WHOLE, Destination.at(region, 0)).withAtLeast(1));
            assertEquals(MooncakeException.Kind.INVALID_ARGUMENT, both.kind());
        }
    }

    @Test
    void ofAnIdThatTwoWriteEachReadBringsOneAndSaysWhich() {
        try (TestNodes nodes = new TestNodes()) {
            Node a = nodes.start("a");
            Node b = nodes.start("b");
            Node c = nodes.start("c");
            BlockRef ofA;
            BlockRef ofB;
            try (BlockWriter one = a.store().allocate(ID, BLOCK); BlockWriter other = b.store().allocate(ID, BLOCK)) {
                one.segment().fill((byte) 1);
                other.segment().fill((byte) 2);
                ofA = one.commit();
                ofB = other.commit();
            }
            TestNodes.announced(a);
            TestNodes.announced(b);
            Region region = nodes.region(c, BLOCK);
            Transfer transfer = TestNodes.prepare(c, Piece.of(ID, 0, Piece.WHOLE, Destination.at(region, 0)),
                    Piece.replica(BlockId.of("nobody's"))).submit();
            transfer.join();
            BlockRef source = Objects.requireNonNull(c.store().source(transfer, 0));
            assertTrue(source.equals(ofA) || source.equals(ofB));
            assertTrue(TestNodes.isAll(TestNodes.segment(region), 0, BLOCK, source.equals(ofA) ? 1 : 2));
            assertNull(c.store().source(transfer, 1));
            assertThrows(MooncakeException.class, () -> a.store().source(transfer, 0));
        }
    }

    @Test
    void eventsSayWhy() {
        List<String> told = new ArrayList<>();
        try (ManualNodes manual = new ManualNodes()) {
            try (BlockStore.Subscription _ = manual.node.store()
                    .events(event -> told.add(event.kind() + ": " + event.reason()))) {
                BlockRef ref = manual.block("k");
                Region region = manual.region(1);
                manual.prepare(ManualNodes.into(region, 0, ref)).submit();
                manual.engine.end(manual.engine.reads.getFirst(), ReadStatus.UNREACHABLE,
                        new MooncakeException(MooncakeException.Kind.PEER_UNREACHABLE, "the cable is out"));
                manual.run();
                manual.prepare(ManualNodes.into(region, 0, ref)).submit();
                manual.engine.end(manual.engine.reads.getFirst(), ReadStatus.STALE);
                manual.run();
                try (BlockWriter writer = manual.node.store().allocate(ID, BLOCK)) {
                    writer.commit();
                }
                manual.run();
                manual.node.store().evict(List.of(ID));
                manual.run();
                try (BlockView view = manual.node.store().newView()) {
                    assertFalse(manual.node.store().acquire(ID, view));
                }
            }
            assertEquals(4, told.size(), told::toString);
            assertEquals("LOST: the cable is out", told.get(0));
            assertTrue(told.get(1).startsWith("STALE: its guard has changed: node source"), told.get(1));
            assertEquals("WRITTEN: it was written here", told.get(2));
            assertEquals("EVICTED: somebody asked for it, or the node closes", told.get(3));
        }
    }
}
