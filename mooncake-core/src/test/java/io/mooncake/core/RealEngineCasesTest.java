package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeout;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.Registry;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.Transfer.State;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Cases about transfers that end badly or early, over the engines that bring the bytes between nodes, with threads and clocks of their own. */
@Timeout(120)
class RealEngineCasesTest {
    private static final long MIB = 1 << 20;
    private static final long LARGE = 32 * MIB;
    private static final BlockId ID = BlockId.of("k");
    private static final int OLD = 0xEE;
    private static final int REUSED = 0xAB;

    /** Who brings the bytes. */
    enum Engine {
        TCP, SHM
    }

    @TempDir
    Path parent;

    private final TestNodes nodes = new TestNodes();

    @AfterEach
    void close() {
        nodes.close();
    }

    private Node start(String name, Engine engine, UnaryOperator<NodeConfigBuilder> settings) {
        String shared = engine == Engine.SHM ? parent.toString() : NodeConfig.SHARED_MEMORY_OFF;
        return nodes.start(name, builder -> settings.apply(builder.sharedMemory(shared)));
    }

    /** The holder of one large block, whose every byte is 5. */
    private BlockRef writer(Engine engine) {
        Node writer = start("writer", engine, builder -> builder.blockSize(LARGE).poolSize(2 * LARGE));
        return TestNodes.write(writer, ID, LARGE, 5);
    }

    private static void untilReadBy(Engine engine, Node reader, BlockId id) {
        String named = engine == Engine.TCP ? ": tcp" : ": shm (its memory is mapped here)";
        assertTrue(TestWaits.until(() -> reader.store().explain(id).contains(named)),
                () -> reader.store().explain(id));
    }

    private static Transfer read(Node reader, BlockRef ref, long offset, long length, Destination to,
            TransferOptions options) {
        return reader.store().prepare(List.of(Piece.of(ref, offset, length, to)), options).submit();
    }

    /** Case C19: nothing is written after a time-out was reported, alone or as one of eight. */
    @ParameterizedTest
    @EnumSource(Engine.class)
    void nothingIsWrittenAfterATimeOutWasReported(Engine engine) {
        BlockRef ref = writer(engine);
        Node reader = start("reader", engine, builder -> builder);
        untilReadBy(engine, reader, ID);
        Region late = nodes.region(reader, LARGE);
        Region sound = nodes.region(reader, 7 * MIB);
        MemorySegment reused = nodes.memory(LARGE).fill((byte) REUSED);
        int begun = 0;
        for (int round = 0; round < 50; round++) {
            TestNodes.segment(late).fill((byte) OLD);
            TestNodes.segment(sound).fill((byte) OLD);
            Transfer timed = read(reader, ref, 0, LARGE, Destination.at(late, 0),
                    TransferOptions.DEFAULT.withTimeout(Duration.ofNanos(300_000L * (1 + round % 10))));
            List<Transfer> others = new ArrayList<>();
            for (int i = 0; i < 7; i++) {
                others.add(read(reader, ref, i * MIB, MIB, Destination.at(sound, i * MIB), TransferOptions.DEFAULT));
            }
            boolean timedOut = timed.join() == State.TIMED_OUT;
            begun += timedOut && timed.received() > 0 ? 1 : 0;
            TestNodes.segment(late).fill((byte) REUSED);
            others.forEach(other -> assertEquals(State.COMPLETED, other.join()));
            assertTrue(TestNodes.isAll(TestNodes.segment(sound), 0, 7 * MIB, 5));
            assertEquals(-1, reused.mismatch(TestNodes.segment(late)), "a byte was written after " + timed.state());
        }
        assertTrue(begun >= 5, begun + " timed out after their first byte");
        // Whatever of them is on its way yet is before these bytes.
        TestNodes.segment(late).fill((byte) REUSED);
        Region whole = nodes.region(reader, LARGE);
        assertEquals(State.COMPLETED,
                read(reader, ref, 0, LARGE, Destination.at(whole, 0), TransferOptions.DEFAULT).join());
        assertEquals(-1, reused.mismatch(TestNodes.segment(late)));
        assertEquals(0, late.uses());
    }

    /** Case C19 as it came up: the network stands still in the middle of a read, and goes on when its memory is used for something else. */
    @Test
    void whatTheNetworkBringsAfterATimeOutLandsNowhere() throws IOException {
        BlockRef ref = writer(Engine.TCP);
        try (Gate gate = new Gate(Objects.requireNonNull(nodes.registry.peer(ref.node())))) {
            Registry before = gate.before(nodes.registry);
            Node reader = start("reader", Engine.TCP, builder -> builder.registry(before));
            Region late = nodes.region(reader, LARGE);
            Region sound = nodes.region(reader, MIB);
            MemorySegment reused = nodes.memory(LARGE).fill((byte) REUSED);
            int begun = 0;
            for (int round = 0; round < 10; round++) {
                TestNodes.segment(late).fill((byte) OLD);
                gate.letPass(3 << 20);
                Transfer timed = read(reader, ref, 0, LARGE, Destination.at(late, 0),
                        TransferOptions.DEFAULT.withTimeout(Duration.ofMillis(200)));
                assertEquals(State.TIMED_OUT, timed.join());
                begun += timed.received() > 0 ? 1 : 0;
                TestNodes.segment(late).fill((byte) REUSED);
                gate.open();
                // Whatever of it is on its way yet is before these bytes.
                assertEquals(State.COMPLETED,
                        read(reader, ref, 0, MIB, Destination.at(sound, 0), TransferOptions.DEFAULT).join());
                assertEquals(-1, reused.mismatch(TestNodes.segment(late)), "a byte was written after the time-out");
            }
            assertTrue(begun >= 5, begun + " timed out after their first byte");
        }
    }

    /** Case C23: a batch is not over while a part of it runs. */
    @ParameterizedTest
    @EnumSource(Engine.class)
    void aBatchIsNotOverWhileAPartOfItRuns(Engine engine) {
        BlockRef ref = writer(engine);
        BlockRef unguarded = new BlockRef(ref.id(), ref.version(), ref.node(), ref.region(), ref.offset(),
                ref.length(), 1_000_000, ref.guard());
        Node reader = start("reader", engine, builder -> builder);
        untilReadBy(engine, reader, ID);
        Region slow = nodes.region(reader, LARGE);
        Region refused = nodes.region(reader, MIB);
        TestNodes.segment(refused).fill((byte) OLD);
        int seen = 0;
        for (int round = 0; round < 20; round++) {
            TestNodes.segment(slow).fill((byte) OLD);
            Queue<Boolean> whole = new ConcurrentLinkedQueue<>();
            Transfer batch = reader.store()
                    .prepare(List.of(Piece.of(unguarded, 0, MIB, Destination.at(refused, 0)),
                            Piece.of(ref, 0, LARGE, Destination.at(slow, 0))),
                            TransferOptions.DEFAULT.withCallback(
                                    done -> whole.add(TestNodes.isAll(TestNodes.segment(slow), 0, LARGE, 5))));
            batch.submit();
            boolean early = false;
            while (!batch.isDone()) {
                early |= batch.outcome(0) == Outcome.REFUSED && batch.outcome(1) == Outcome.PENDING;
            }
            seen += early ? 1 : 0;
            assertEquals(State.FAILED, batch.state());
            assertEquals(Outcome.REFUSED, batch.outcome(0));
            assertEquals(Outcome.OK, batch.outcome(1));
            assertTrue(TestWaits.until(() -> !whole.isEmpty()));
            assertEquals(List.of(true), List.copyOf(whole), "whole when it was told");
        }
        assertTrue(seen > 0, "the failed part was never over before the slow one");
        assertTrue(TestNodes.isAll(TestNodes.segment(refused), 0, MIB, OLD));
    }

    /** Case C27: close with much queued, some of it for a peer that never answers. */
    @ParameterizedTest
    @EnumSource(Engine.class)
    void closeEndsEveryTransferOnce(Engine engine) throws IOException {
        BlockRef ref = writer(engine);
        Queue<Thread> threads = new ConcurrentLinkedQueue<>();
        Node reader = start("reader", engine, builder -> builder.threading(ThreadingMode.DEDICATED).threads(run -> {
            Thread thread = Thread.ofPlatform().daemon().unstarted(run);
            threads.add(thread);
            return thread;
        }));
        untilReadBy(engine, reader, ID);
        try (ServerSocketChannel silent = ServerSocketChannel.open()) {
            silent.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            NodeId nobody = new NodeId("silent", 1);
            nodes.registry.join(new Peer(nobody,
                    Map.of("tcp", "127.0.0.1:" + ((InetSocketAddress) silent.getLocalAddress()).getPort())));
            BlockRef unheard = new BlockRef(ref.id(), ref.version(), nobody, ref.region(), ref.offset(), ref.length(),
                    ref.guardIndex(), ref.guard());
            Region into = nodes.region(reader, LARGE);
            AtomicIntegerArray callbacks = new AtomicIntegerArray(200);
            List<Transfer> transfers = new ArrayList<>();
            for (int i = 0; i < callbacks.length(); i++) {
                int number = i;
                transfers.add(read(reader, i % 4 == 3 ? unheard : ref, 0, LARGE, Destination.at(into, 0),
                        TransferOptions.DEFAULT.withCallback(done -> callbacks.incrementAndGet(number))));
            }
            assertTrue(TestWaits.until(() -> transfers.getFirst().received() > 0));

            assertTimeout(Duration.ofSeconds(5), reader::close);

            int canceled = 0;
            for (int i = 0; i < callbacks.length(); i++) {
                Transfer transfer = transfers.get(i);
                assertTrue(transfer.isReleased(), transfer::toString);
                assertTrue(transfer.state() == State.CANCELED || transfer.state() == State.COMPLETED,
                        transfer::toString);
                canceled += transfer.state() == State.CANCELED ? 1 : 0;
            }
            assertTrue(canceled >= 50, canceled + " of 200 were at work or waiting, 50 of them for nobody");
            assertTrue(TestWaits.until(() -> sum(callbacks) == callbacks.length()));
            for (int i = 0; i < callbacks.length(); i++) {
                assertEquals(1, callbacks.get(i), "callbacks of transfer " + i);
            }
            assertTrue(TestWaits.until(() -> threads.stream().noneMatch(Thread::isAlive)), threads::toString);
            assertEquals(0, into.uses());
        }
    }

    private static int sum(AtomicIntegerArray numbers) {
        int sum = 0;
        for (int i = 0; i < numbers.length(); i++) {
            sum += numbers.get(i);
        }
        return sum;
    }
}
