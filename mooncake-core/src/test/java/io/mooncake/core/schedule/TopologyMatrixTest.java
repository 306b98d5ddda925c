package io.mooncake.core.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Hop;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.registry.PairFigures;
import io.mooncake.core.registry.PairFigures.Figure;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is measured, on a clock of the test's. */
class TopologyMatrixTest {
    private static final long MS = 1_000_000;
    private static final long SECOND = 1000 * MS;
    private static final long MIB = 1 << 20;
    private static final NodeId PEER = new NodeId("p", 5);
    private static final NodeId OTHER = new NodeId("o", 5);

    private final TopologyMatrix matrix = new TopologyMatrix(new NodeId("self", 1), List.of());
    /** Anything but zero: the clock's origin is nobody's business. */
    private long nowNs = -3 * SECOND;

    @Test
    void waysInsideTheNodeStandInItsRowAndAreToldOnce() {
        NodeId self = new NodeId("self", 1);
        Figure figure = PathMeter.figure("cuda0 to cuda1, direct", 4 * MIB, 100_000);
        TopologyMatrix withDevices = new TopologyMatrix(self, List.of(figure));
        List<PairFigures> own = List.of(new PairFigures(self, self, Hop.NODE, List.of(figure)));
        assertEquals(4 * MIB, figure.upToBytes());
        assertEquals(own, withDevices.figures());
        assertEquals(own, withDevices.changes());
        assertEquals(List.of(), withDevices.changes());
        assertEquals(own, withDevices.figures());
    }

    private PathMeter meter() {
        return matrix.begin(PEER, Hop.RACK, "tcp");
    }

    private long expected() {
        return matrix.expectedNs(PEER, Hop.RACK, "tcp", MIB);
    }

    private boolean isDue() {
        return matrix.isDue(PEER, "tcp", MIB, nowNs);
    }

    /** Reads one after the other. */
    private void read(int reads, long ns) {
        for (int i = 0; i < reads; i++) {
            long began = nowNs;
            meter().begin();
            nowNs += ns;
            meter().served(began, MIB, nowNs);
        }
    }

    /** Reads that all begin now, and how long after that each of them ends. */
    private void batch(long... endsNs) {
        long began = nowNs;
        for (long _ : endsNs) {
            meter().begin();
        }
        for (long end : endsNs) {
            meter().served(began, MIB, began + end);
        }
        nowNs = began + endsNs[endsNs.length - 1];
    }

    private static void assertAbout(long wanted, long is, double tolerance) {
        assertTrue(Math.abs(is - wanted) <= tolerance * wanted, is + " is not about " + wanted);
    }

    @Test
    void whatIsNotMeasuredIsAsUsualAtThatDistanceAndDue() {
        long before = 0;
        for (Hop hop : Hop.values()) {
            long usual = matrix.expectedNs(PEER, hop, "tcp", MIB);
            assertTrue(usual >= before, hop + " is nearer than what is nearer");
            before = usual;
        }
        assertTrue(isDue());
        meter().begin();
        assertFalse(isDue(), "a read is on its way that will tell");
        meter().served(nowNs, MIB, nowNs + MS);
        nowNs += MS;
        assertEquals(MS, expected());
        assertTrue(isDue(), "one read alone is in doubt");
        read(1, MS);
        assertFalse(isDue());
        assertTrue(matrix.isDue(PEER, "tcp", 16 * MIB, nowNs), "another size is another matter");
        assertTrue(matrix.isDue(PEER, "rdma", MIB, nowNs), "another engine, too");
        nowNs += Estimate.FRESH_NS;
        assertTrue(isDue(), "old");
    }

    @Test
    void aConnectionThatHadToBeMadeFirstIsForgottenAtTheNextRead() {
        read(1, 50 * MS);
        read(1, MS);
        assertEquals(MS, expected());
    }

    @Test
    void oneOutlierMovesNothingAndTwoInARowReplaceTheMean() {
        read(10, MS);
        read(1, 21 * MS);
        assertEquals(MS, expected());
        assertTrue(isDue());
        read(1, MS);
        assertEquals(MS, expected());
        read(2, 21 * MS);
        assertEquals(21 * MS, expected());
        assertFalse(isDue(), "known to be slow: nobody goes there for a while");
        nowNs += Estimate.FRESH_NS;
        assertTrue(isDue());
        read(1, MS);
        assertTrue(isDue(), "so it is looked at once more, at once");
        read(1, MS);
        assertEquals(MS, expected());
    }

    @Test
    void theMeanForgetsByTime() {
        read(2, MS);
        read(1, 2 * MS);
        assertAbout(MS + MS / 8, expected(), 0.01);
        nowNs += 3 * Estimate.HALF_LIFE_NS;
        read(1, 2 * MS);
        assertAbout(2 * MS, expected(), 0.07);
    }

    /** The same work, served one after the other, and in turn: both is what one read takes, not what it waited. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 7, 100})
    void whatWaitedBehindOthersDoesNotMakeAWaySlow(int reads) {
        long[] oneByOne = new long[reads];
        long[] inTurn = new long[reads];
        for (int i = 0; i < reads; i++) {
            oneByOne[i] = (i + 1) * MS;
            inTurn[i] = reads * MS - (reads - 1 - i);
        }
        for (int round = 0; round < 5; round++) {
            batch(oneByOne);
            nowNs += SECOND;
            assertAbout(MS, expected(), 0.001);
            batch(inTurn);
            nowNs += SECOND;
            assertAbout(MS, expected(), 0.001);
        }
    }

    /** As long as there is always something outstanding, too. */
    @Test
    void aWayThatIsNeverIdleIsMeasuredAllTheSame() {
        int outstanding = 8;
        for (int i = 0; i < outstanding; i++) {
            meter().begin();
        }
        long began = nowNs;
        for (int i = 0; i < 200; i++) {
            nowNs += i < 100 ? MS : 30 * MS;
            meter().served(began, MIB, nowNs);
            meter().begin();
            if (i == 99) {
                assertAbout(MS, expected(), 0.01);
            }
            // Each began when the eighth before it ended.
            began = nowNs - (outstanding - 1) * (i < 100 ? MS : 30 * MS);
        }
        assertAbout(30 * MS, expected(), 0.2);
    }

    @Test
    void aDelayedWayIsSlowWithSeveralReadsOutstandingToo() {
        batch(MS, 2 * MS, 3 * MS, 4 * MS);
        batch(21 * MS, 22 * MS, 23 * MS, 24 * MS);
        assertAbout(6 * MS, expected(), 0.01);
    }

    @Test
    void readsOfOtherPeersMayHaveBeenInTheWay() {
        read(2, MS);
        PathMeter other = matrix.begin(OTHER, Hop.RACK, "tcp");
        other.begin();
        read(4, 2 * MS);
        assertEquals(MS, expected(), "half of it was perhaps the other's time");
        read(2, 40 * MS);
        assertEquals(20 * MS, expected(), "but not more than half");
        other.dropped(nowNs);
        read(2, 40 * MS);
        assertAbout(24 * MS, expected(), 0.1);
        assertEquals(0, matrix.load(OTHER));
    }

    @Test
    void aReadThatRanOutOfTimeTookAtLeastSoLong() {
        read(2, 10 * MS);
        for (int i = 0; i < 4; i++) {
            meter().begin();
            meter().timedOut(nowNs, MIB, nowNs + MS);
            nowNs += MS;
        }
        assertEquals(10 * MS, expected(), "its deadline says nothing of the way");
        for (int i = 0; i < 2; i++) {
            meter().begin();
            meter().timedOut(nowNs, MIB, nowNs + SECOND);
            nowNs += SECOND;
        }
        assertEquals(SECOND, expected());
    }

    @Test
    void whatWasCanceledTellsNothing() {
        read(2, MS);
        meter().begin();
        nowNs += SECOND;
        meter().dropped(nowNs);
        assertEquals(MS, expected());
        assertEquals(0, matrix.load(PEER));
        read(1, MS);
        assertEquals(MS, expected());
    }

    @Test
    void anotherLifeOfAPeerIsAnotherRow() {
        read(3, 7 * MS);
        assertEquals(1, matrix.changes().size());
        NodeId reborn = new NodeId(PEER.name(), PEER.incarnation() + 1);
        matrix.begin(reborn, Hop.RACK, "tcp");
        assertEquals(List.of(), matrix.figures());
        assertTrue(matrix.isDue(reborn, "tcp", MIB, nowNs));
        assertEquals(List.of(new PairFigures(new NodeId("self", 1), PEER, Hop.RACK, List.of())), matrix.changes());
        assertEquals(List.of(), matrix.changes());
    }

    @Test
    void onlyWhatChangedIsSaidAgain() {
        read(3, 8 * MS);
        PairFigures first = new PairFigures(new NodeId("self", 1), PEER, Hop.RACK,
                List.of(new Figure("tcp", MIB, 8 * MS, MIB)));
        assertEquals(List.of(first), matrix.changes());
        read(1, 9 * MS);
        assertEquals(List.of(), matrix.changes());
        read(2, 90 * MS);
        assertEquals(1, matrix.changes().size());
        assertEquals(90 * MS, matrix.figures().getFirst().figures().getFirst().readNs());
    }
}
