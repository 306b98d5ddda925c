package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Hop;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.PairFigures;
import io.mooncake.core.schedule.Scheduler;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.local.LocalTransferEngine;
import io.mooncake.core.transfer.onesided.FabricLimits;
import io.mooncake.core.transfer.onesided.OneSidedConfig;
import io.mooncake.core.transfer.onesided.OneSidedEngine;
import io.mooncake.core.transfer.onesided.SimNetwork;
import io.mooncake.testing.FaultyEngine;
import io.mooncake.testing.VirtualTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two nodes have every block, and the link to one of them gets 20 ms longer: real nodes and engines on virtual time. */
class SlowLinkTest {
    private static final long MIB = 1 << 20;
    private static final long MS = 1_000_000;
    private static final long SECOND = 1000 * MS;
    private static final long TICK_NS = 10;
    private static final int BLOCKS = 4;

    private final VirtualTime time = new VirtualTime();
    private final SimNetwork network = new SimNetwork(time, 4711);
    private final TestNodes nodes = new TestNodes();
    private final List<Node> all = new ArrayList<>();
    /** Whom the reader read from, in order. */
    private final List<String> chosen = new ArrayList<>();
    private long clockNs;
    @SuppressWarnings("NullAway.Init") // by the node that is started last
    private FaultyEngine link;
    private Node reader;
    private Region region;

    @BeforeEach
    void start() {
        Node a = node("a", builder -> builder);
        Node b = node("b", builder -> builder);
        reader = node("reader", builder -> builder.scheduler((holders, bytes, view) -> {
            BlockRef source = Scheduler.cheapestHolder().source(holders, bytes, view);
            chosen.add(Objects.requireNonNull(source).node().name());
            return source;
        }));
        region = nodes.region(reader, BLOCKS * MIB);
        for (int i = 0; i < BLOCKS; i++) {
            TestNodes.write(a, BlockId.of("k" + i), MIB, i);
            run(TestNodes.prepare(b, Piece.replica(BlockId.of("k" + i))));
        }
        TestNodes.announced(b);
    }

    @AfterEach
    void close() {
        region.close();
        nodes.close();
    }

    private Node node(String name, UnaryOperator<NodeConfigBuilder> more) {
        Node node = nodes.start(name, builder -> more.apply(builder.threading(ThreadingMode.INVOKER)
                .blockSize(MIB)
                .poolSize(8 * MIB)
                .host("host of " + name)
                .rack("one rack")
                .nanoClock(this::clock)
                .engines(this::engines)));
        all.add(node);
        return node;
    }

    private List<TransferEngine> engines(EngineContext context) {
        OneSidedEngine engine = new OneSidedEngine(context,
                network.join(context, new FabricLimits(1024, 64, MIB)), OneSidedConfig.defaults());
        link = new FaultyEngine(engine, 1, Map.of(), this::clock);
        return List.of(new LocalTransferEngine(context), link);
    }

    /** Stands almost still, so that whoever waits on it gets to an end. */
    private long clock() {
        clockNs = Math.max(clockNs + TICK_NS, time.nowNs());
        return clockNs;
    }

    private void run(Transfer... transfers) {
        for (Transfer transfer : transfers) {
            transfer.submit();
        }
        for (Transfer transfer : transfers) {
            while (!transfer.isDone()) {
                all.forEach(Node::doWork);
                time.runTo(time.nowNs() + 20_000);
            }
            assertEquals(Transfer.State.COMPLETED, transfer.state());
        }
    }

    /** Reads blocks, so many at once, and then does nothing for a while; whom they came from. */
    private List<String> read(int atOnce, long pauseNs) {
        chosen.clear();
        Transfer[] transfers = new Transfer[atOnce];
        for (int i = 0; i < atOnce; i++) {
            transfers[i] = TestNodes.prepare(reader,
                    Piece.of(BlockId.of("k" + i), 0, Piece.WHOLE, Destination.at(region, i * MIB)));
        }
        run(transfers);
        time.runTo(time.nowNs() + pauseNs);
        all.forEach(Node::doWork);
        return List.copyOf(chosen);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void aLinkThatGotSlowIsLeftAndUsedAgainWhenItIsRepaired(int atOnce) {
        for (int i = 0; i < 10; i++) {
            read(atOnce, 100 * MS);
        }
        List<String> usual = read(atOnce, 100 * MS);
        String slow = usual.getFirst();

        link.slow(node(slow).id(), 20 * MS);
        List<String> after = new ArrayList<>();
        while (after.size() < 20) {
            after.addAll(read(atOnce, 100 * MS));
        }
        assertTrue(after.lastIndexOf(slow) < 4, "the slow one was not left: " + after);

        // It is looked at now and then, which is how anybody finds out that it is fast again.
        List<String> whileSlow = new ArrayList<>();
        long until = time.nowNs() + 40 * SECOND;
        while (time.nowNs() < until) {
            whileSlow.addAll(read(atOnce, 250 * MS));
        }
        long probes = whileSlow.stream().filter(slow::equals).count();
        assertTrue(probes >= 3 && probes <= 5, probes + " reads in 40 s over a slow link");

        link.slow(node(slow).id(), 0);
        long repairedNs = time.nowNs();
        // Once may be a look; twice is use.
        for (int used = 0; used < 2; used = read(atOnce, 250 * MS).equals(usual) ? used + 1 : 0) {
            assertTrue(time.nowNs() - repairedNs < 30 * SECOND, "not used again");
        }
    }

    private Node node(String name) {
        return all.stream().filter(node -> node.id().name().equals(name)).findFirst().orElseThrow();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 4})
    void everybodySeesWhatTheReaderMeasured(int atOnce) {
        for (int i = 0; i < 10; i++) {
            read(atOnce, SECOND);
        }
        List<PairFigures> seen = node("a").matrix()
                .stream()
                .filter(pair -> pair.reader().equals(reader.id()))
                .toList();
        assertEquals(2, seen.size(), seen::toString);
        for (PairFigures pair : seen) {
            assertEquals(Hop.RACK, pair.hop());
            PairFigures.Figure figure = pair.figures().getFirst();
            assertEquals("sim", figure.path());
            assertEquals(MIB, figure.readBytes());
            assertTrue(figure.readNs() > 1_000 && figure.readNs() < MS, figure::toString);
        }
    }
}
