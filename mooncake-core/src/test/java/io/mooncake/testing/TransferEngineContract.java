package io.mooncake.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadListener;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Topic;
import io.mooncake.testing.EngineRig.Guards;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What every engine owes, as {@link io.mooncake.core.transfer.TransferEngine} says. A subclass gives the rig of its engine.
 */
@Timeout(120)
public abstract class TransferEngineContract {
    private static final byte FILL = EngineRig.FILL;
    private static final byte REFILL = 0x77;
    private static final int MANY = 1000;
    private static final int MOST_QUEUED = 1 << 20;

    private EngineRig rig;
    private EngineRig.Side owner;
    private EngineRig.Side reader;

    /** Not ready before {@link #prepare}. */
    @SuppressWarnings("NullAway") // JUnit calls prepare() first.
    protected TransferEngineContract() {}

    /** A new rig of the engine. */
    protected abstract EngineRig rig();

    /** Makes the rig: before each test. */
    @BeforeEach
    protected final void prepare() {
        rig = rig();
        owner = rig.side("owner");
        reader = rig.isLocal() ? owner : rig.side("reader");
        rig.connect(reader, owner);
    }

    @AfterEach
    final void close() {
        assertEquals(0, owner.guards.pinned());
        rig.close();
    }

    private Reading ended(Reading reading) {
        rig.until(reading::ended);
        assertEquals(1, reading.ends);
        return reading;
    }

    private void assertRefused(Reading reading, Kind kind) {
        assertEquals(ReadStatus.REFUSED, ended(reading).status);
        assertEquals(kind, reading.cause().kind(), () -> reading.cause().getMessage());
    }

    /** Whether bytes have come to a destination: looks at some of them. */
    private static boolean isTouched(MemorySegment to) {
        for (long at = 0; at < to.byteSize(); at += 4096) {
            if (to.get(ValueLayout.JAVA_BYTE, at) != FILL) {
                return true;
            }
        }
        return false;
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 7, 64, 4096, 65_537, 1 << 20, (1 << 20) + 1, 5_000_011})
    public void shouldBringEveryByteOfAnySize(long length) {
        Source source = rig.source(owner, length + 100);
        MemorySegment to = rig.filled(length + 64, FILL);

        Reading reading = ended(reader.read(source, 77, length, reader.own(to)));

        assertEquals(ReadStatus.OK, reading.status);
        assertEquals(length, reading.read.received);
        assertTrue(EngineRig.holdsPattern(to, 0, length, 77));
        assertTrue(EngineRig.isFilled(to.asSlice(length), FILL));
        assertEquals(rig.lastingUses(), source.uses());
        source.close();
        assertEquals(0, source.uses());
    }

    @Test
    public void shouldProveZeroBytes() {
        Source source = rig.source(owner, 4096).wholeRegion();
        Source guarded = rig.guarded(owner, 4096);
        MemorySegment to = rig.filled(64, FILL);
        Region into = reader.own(to);

        assertEquals(ReadStatus.OK, ended(reader.read(source, 100, 0, into)).status);
        assertEquals(ReadStatus.OK, ended(reader.read(source, source.length(), 0, into)).status);
        assertRefused(reader.read(source, source.length() + 1, 0, into), Kind.OUT_OF_BOUNDS);
        assertEquals(ReadStatus.OK, ended(reader.read(guarded, 0, 0, into)).status);
        owner.guards.set(0, Guards.FIRST - 1);
        assertEquals(ReadStatus.STALE, ended(reader.read(guarded, 0, 0, into)).status);
        assertTrue(EngineRig.isFilled(to, FILL));
    }

    @Test
    public void shouldScatterOverThePagesOfTheMap() {
        int pages = 24;
        long pageBytes = 40_000;
        long stride = 40_064;
        Source source = rig.source(owner, pages * pageBytes);
        MemorySegment to = rig.filled(2_400_000, FILL);
        int[] order = new int[pages];
        for (int i = 0; i < pages; i++) {
            order[i] = ((i * 7) % pages) * 2 + 1;
        }
        Reading reading = new Reading();
        source.ask(reading.read, 0, pages * pageBytes - 5)
                .into(reader.own(to), new PageMap(16, pageBytes, stride, order))
                .by(Long.MAX_VALUE);

        assertEquals(ReadStatus.OK, ended(reader.submit(reading)).status);

        for (int i = 0; i < pages; i++) {
            long length = i == pages - 1 ? pageBytes - 5 : pageBytes;
            assertTrue(EngineRig.holdsPattern(to, 16 + order[i] * stride, length, i * pageBytes), "page " + i);
            assertTrue(EngineRig.isFilled(to.asSlice(16 + order[i] * stride + length, pageBytes + 64 - length), FILL));
        }
    }

    @Test
    public void shouldRefuseWhatIsOutOfBoundsOnEitherSide() {
        Source source = rig.source(owner, 4096).wholeRegion();
        long end = source.length();
        MemorySegment to = rig.filled(64, FILL);
        Region into = reader.own(to);
        long[][] ranges = {{Long.MAX_VALUE - 7, 16}, {end - 6, 7}, {-1, 1}, {0, -1}, {end, 1}};
        for (long[] range : ranges) {
            assertRefused(reader.read(source, range[0], range[1], into), Kind.OUT_OF_BOUNDS);
        }
        assertRefused(reader.read(source, 0, 65, into), Kind.OUT_OF_BOUNDS);
        Reading overflow = new Reading();
        source.ask(overflow.read, 0, 16).into(into, Long.MAX_VALUE - 3).by(Long.MAX_VALUE);
        assertRefused(reader.submit(overflow), Kind.OUT_OF_BOUNDS);
        Reading outside = new Reading();
        source.ask(outside.read, 0, 40)
                .into(into, new PageMap(0, 20, 50, new int[]{0, 1}))
                .by(Long.MAX_VALUE);
        assertRefused(reader.submit(outside), Kind.OUT_OF_BOUNDS);
        assertTrue(EngineRig.isFilled(to, FILL));
        assertEquals(ReadStatus.OK, ended(reader.read(source, end - 6, 6, into)).status);
    }

    @Test
    public void shouldRefuseRegionsThatMayNotBeReadSo() {
        assumeTrue(rig.hasPlainRegions());
        Region hidden = owner.own(rig.pattern(64));
        Region plain = owner.register(rig.pattern(64), Access.READABLE);
        Region guarded = owner.register(rig.pattern(64), Access.GUARDED);
        Region closed = owner.register(rig.pattern(64), Access.READABLE);
        closed.close();
        MemorySegment to = rig.filled(64, FILL);
        Region into = reader.own(to);
        Reading elsewhere = new Reading();
        elsewhere.read.from(owner.peer(), guarded.id(), 0, 1).guardedBy(1, 42).into(into, 0).by(Long.MAX_VALUE);
        List<Reading> refused = List.of(reader.read(owner, hidden, 0, 1, into), reader.read(owner, closed, 0, 1, into),
                reader.read(owner, guarded, 0, 1, into), reader.readGuarded(owner, plain, 1, Guards.FIRST, into),
                reader.submit(elsewhere));
        for (Reading reading : refused) {
            assertEquals(ReadStatus.REFUSED, ended(reading).status, () -> reading.read.toString());
            assertFalse(reading.cause().getMessage().isEmpty());
        }
        assertTrue(EngineRig.isFilled(to, FILL));
    }

    @Test
    public void c30_shouldReadNothingOfMemoryThatWasReleasedAndMadeAnew() {
        assumeTrue(rig.hasPlainRegions() && rig.copiesOnHost());
        long bytes = 4096;
        MemorySegment to = rig.filled(bytes, FILL);
        Region into = reader.own(to);
        Region released;
        try (Arena first = Arena.ofShared()) {
            released = owner.register(first.allocate(bytes, 64).fill((byte) 0x11), Access.READABLE);
            assertEquals(ReadStatus.OK, ended(reader.read(owner, released, 0, bytes, into)).status);
            assertTrue(EngineRig.isFilled(to, (byte) 0x11));
            released.close();
        }
        to.fill(FILL);
        Reading between = ended(reader.read(owner, released, 0, bytes, into));
        assertEquals(ReadStatus.REFUSED, between.status);
        assertFalse(between.cause().getMessage().isEmpty());

        Region anew = owner.register(rig.filled(bytes, (byte) 0x55), Access.READABLE);
        assertEquals(ReadStatus.REFUSED, ended(reader.read(owner, released, 0, bytes, into)).status);
        assertTrue(EngineRig.isFilled(to, FILL));
        assertEquals(ReadStatus.OK, ended(reader.read(owner, anew, 0, bytes, into)).status);
        assertTrue(EngineRig.isFilled(to, (byte) 0x55));
    }

    @Test
    public void shouldRefuseADestinationThatItCannotWrite() {
        Source source = rig.source(owner, 64);
        Region readOnly = reader.own(rig.filled(64, FILL).asReadOnly());
        Reading reading = ended(reader.read(source, 0, 8, readOnly));
        assertEquals(ReadStatus.REFUSED, reading.status);
        assertFalse(reading.cause().getMessage().isEmpty());
    }

    @Test
    public void shouldNeverSucceedWithBytesOfAnotherGuard() {
        long length = Math.min(rig.largeBytes(), 6L << 20);
        Source source = rig.guarded(owner, length);
        MemorySegment bytes = source.bytes();
        MemorySegment before = rig.pattern(length);
        MemorySegment to = rig.filled(length, FILL);
        Region into = reader.own(to);
        int stale = 0;
        for (int cycles = 0; cycles < 40; cycles++) {
            bytes.copyFrom(before);
            owner.guards.set(0, 100 + cycles);
            Reading reading = new Reading();
            source.ask(reading.read, 0, length, 100 + cycles).into(into, 0).by(Long.MAX_VALUE);
            reader.submit(reading);
            for (int i = 0; i < cycles && !reading.ended(); i++) {
                rig.cycle();
            }
            owner.guards.set(0, -1);
            bytes.fill((byte) 0);
            ended(reading);
            if (reading.status == ReadStatus.OK) {
                assertEquals(-1, to.mismatch(before), "after " + cycles + " cycles");
            } else {
                assertEquals(ReadStatus.STALE, reading.status);
                stale++;
            }
        }
        assertTrue(stale > 0);
    }

    @Test
    public void shouldKeepManyReadsApart() {
        Source source = rig.source(owner, 1 << 20);
        List<Reading> readings = new ArrayList<>();
        List<MemorySegment> targets = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            long length = i % 10 == 0 ? 200_000 + i : 1 + i * 3;
            MemorySegment to = rig.filled(length, FILL);
            targets.add(to);
            readings.add(reader.read(source, i * 17L, length, reader.own(to)));
        }
        rig.until(() -> readings.stream().allMatch(Reading::ended));
        for (int i = 0; i < MANY; i++) {
            assertEquals(ReadStatus.OK, readings.get(i).status);
            assertEquals(1, readings.get(i).ends);
            assertTrue(EngineRig.holdsPattern(targets.get(i), 0, targets.get(i).byteSize(), i * 17L), "read " + i);
        }
    }

    @Test
    public void shouldTakeTheSameReadAgainFromItsOwnEnd() {
        Source source = rig.source(owner, 10_000);
        MemorySegment to = rig.filled(5000, FILL);
        Region into = reader.own(to);
        Reading reading = new Reading();
        reading.onEnd = () -> {
            if (reading.ends < 5) {
                to.fill(FILL);
                source.ask(reading.read, reading.ends, 5000).into(into, 0).by(Long.MAX_VALUE);
                assertTrue(reader.engine.submit(reading.read));
            }
        };
        source.ask(reading.read, 0, 5000).into(into, 0).by(Long.MAX_VALUE);
        reader.submit(reading);
        rig.until(() -> reading.ends == 5);
        assertEquals(ReadStatus.OK, reading.status);
        assertTrue(EngineRig.holdsPattern(to, 0, 5000, 4));
    }

    @Test
    public void shouldEndByTheDeadlineAndWriteNothingAfterTheEnd() {
        Source source = rig.source(owner, rig.largeBytes());
        MemorySegment to = rig.filled(rig.largeBytes(), FILL);
        Region into = reader.own(to);
        Reading late = new Reading();
        source.ask(late.read, 0, 8).into(into, 0).by(rig.nowNs());
        assertEquals(ReadStatus.TIMED_OUT, ended(reader.submit(late)).status);
        assertTrue(EngineRig.isFilled(to, FILL));

        Reading reading = new Reading();
        long deadlineNs = rig.nowNs() + EngineRig.SECOND_NS;
        source.ask(reading.read, 0, to.byteSize()).into(into, 0).by(deadlineNs);
        reading.onEnd = () -> to.fill(REFILL);
        reader.submit(reading);
        rig.until(() -> isTouched(to));
        rig.advance(deadlineNs - rig.nowNs());
        rig.cycle();
        assertTimedOutInTime(reading, deadlineNs);
        assertNothingLands(to);
    }

    @Test
    public void shouldEndByTheDeadlineThoughThePeerStandsStill() {
        assumeTrue(rig.needsOwner());
        Source source = rig.source(owner, rig.largeBytes());
        MemorySegment to = rig.filled(rig.largeBytes(), FILL);
        Reading reading = new Reading();
        long deadlineNs = rig.nowNs() + EngineRig.SECOND_NS;
        source.ask(reading.read, 0, to.byteSize()).into(reader.own(to), 0).by(deadlineNs);
        reading.onEnd = () -> to.fill(REFILL);
        reader.submit(reading);
        rig.until(() -> isTouched(to));
        rig.freeze(owner);
        rig.settle();
        rig.advance(Math.max(0, deadlineNs - rig.nowNs()));
        rig.cycle();
        assertTimedOutInTime(reading, deadlineNs);
        rig.thaw(owner);
        assertNothingLands(to);
    }

    /** Also what was accepted before that was said and is still to be begun. */
    @Test
    public void shouldEndTheReadsOfADeadPeerHoweverManyOthersWait() {
        assumeTrue(rig.needsOwner());
        Source source = rig.source(owner, 4096);
        Source elsewhere = rig.source(rig.side("another"), 4096);
        Region into = reader.own(rig.filled(4096, FILL));
        for (int i = 0; i < 1000; i++) {
            reader.read(elsewhere, 0, 64, into);
        }
        Reading reading = reader.read(source, 0, 64, into);
        rig.freeze(owner);
        long saidNs = rig.nowNs();
        reader.engine.onPeerDead(owner.id, "its host is on fire");

        assertEquals(ReadStatus.UNREACHABLE, ended(reading).status);
        assertTrue(reading.cause().getMessage().contains("its host is on fire"), reading.cause()::getMessage);
        assertTrue(rig.nowNs() - saidNs <= rig.endBoundNs(), () -> rig.nowNs() - saidNs + " ns late");
        rig.thaw(owner);
    }

    @Test
    public void shouldEndTheReadsOfAPeerThatIsSaidToBeDead() {
        assumeTrue(rig.needsOwner());
        Source source = rig.source(owner, rig.largeBytes());
        MemorySegment to = rig.filled(rig.largeBytes(), FILL);
        Region into = reader.own(to);
        Reading reading = reader.read(source, 0, to.byteSize(), into);
        reading.onEnd = () -> to.fill(REFILL);
        rig.until(() -> isTouched(to));
        rig.freeze(owner);
        long saidNs = rig.nowNs();
        reader.engine.onPeerDead(owner.id, "its host is on fire");

        assertEquals(ReadStatus.UNREACHABLE, ended(reading).status);
        assertTrue(reading.cause().getMessage().contains("its host is on fire"), reading.cause()::getMessage);
        assertTrue(rig.nowNs() - saidNs <= rig.endBoundNs(), () -> rig.nowNs() - saidNs + " ns late");
        rig.thaw(owner);
        assertNothingLands(to);

        // What was said was wrong: it is back, in the same life.
        Reading again = ended(reader.read(source, 0, 4096, into));
        for (int tries = 0; again.status == ReadStatus.UNREACHABLE && tries < 100; tries++) {
            rig.advance(EngineRig.SECOND_NS);
            again = ended(reader.read(source, 0, 4096, into));
        }
        assertEquals(ReadStatus.OK, again.status);
    }

    private void assertTimedOutInTime(Reading reading, long deadlineNs) {
        assertTrue(reading.ended() || reading.expired == 1, "one duty cycle after its deadline");
        ended(reading);
        assertEquals(ReadStatus.TIMED_OUT, reading.status);
        assertTrue(rig.nowNs() - deadlineNs <= rig.endBoundNs(), () -> (rig.nowNs() - deadlineNs) + " ns late");
    }

    private void assertNothingLands(MemorySegment to) {
        rig.settle();
        rig.advance(EngineRig.SECOND_NS);
        rig.settle();
        assertTrue(EngineRig.isFilled(to, REFILL), "a byte landed after the end");
    }

    @Test
    public void shouldReadNothingForWhatWasGivenUpBefore() {
        Source source = rig.source(owner, 4096);
        MemorySegment to = rig.filled(4096, FILL);
        Reading reading = new Reading();
        reading.givenUp = true;
        source.ask(reading.read, 0, 4096).into(reader.own(to), 0).by(Long.MAX_VALUE);
        assertEquals(ReadStatus.CANCELED, ended(reader.submit(reading)).status);
        rig.settle();
        assertTrue(EngineRig.isFilled(to, FILL));
    }

    @Test
    public void shouldWriteNothingAfterTheEndOfAReadGivenUpInTheMiddle() {
        Source source = rig.source(owner, rig.largeBytes());
        MemorySegment to = rig.filled(rig.largeBytes(), FILL);
        Region into = reader.own(to);
        for (int round = 0; round < 5; round++) {
            to.fill(FILL);
            Reading reading = new Reading();
            reading.onEnd = () -> to.fill(REFILL);
            source.ask(reading.read, 0, to.byteSize())
                    .into(into, 0)
                    .by(rig.nowNs() + 1000 * EngineRig.SECOND_NS);
            reader.submit(reading);
            rig.until(() -> isTouched(to));
            for (int i = 0; i < round; i++) {
                rig.cycle();
            }
            assertFalse(reading.ended());
            reading.givenUp = true;
            reader.engine.abort(reading.read);
            assertEquals(ReadStatus.CANCELED, ended(reading).status);
            assertNothingLands(to);
        }
        to.fill(FILL);
        assertEquals(ReadStatus.OK, ended(reader.read(source, 0, to.byteSize(), into)).status);
        assertTrue(EngineRig.holdsPattern(to, 0, to.byteSize(), 0));
    }

    @Test
    public void shouldDoNothingForAnAbortAfterTheEnd() {
        Source source = rig.source(owner, 64);
        MemorySegment to = rig.filled(64, FILL);
        Region into = reader.own(to);
        Reading reading = ended(reader.read(source, 0, 64, into));
        reader.engine.abort(reading.read);
        rig.settle();
        assertEquals(1, reading.ends);
        assertEquals(ReadStatus.OK, reading.status);
        source.ask(reading.read, 0, 64).into(into, 0).by(Long.MAX_VALUE);
        reader.submit(reading);
        reader.engine.abort(reading.read);
        rig.until(reading::ended);
        assertEquals(2, reading.ends);
        assertEquals(ReadStatus.OK, reading.status, "the abort of an earlier submission");
    }

    @Test
    public void shouldSendLoadsBeforeBackgroundReads() {
        assumeTrue(rig.sendsLoadsFirst());
        long length = Math.min(rig.largeBytes(), 4L << 20);
        Source source = rig.source(owner, length);
        Region into = reader.own(rig.filled(length, FILL));
        Reading load = new Reading();
        List<Reading> all = new ArrayList<>();
        List<Reading> before = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            Reading reading = i == 11 ? load : new Reading();
            reading.onEnd = () -> {
                // Its last chunks are not overtaken in the engine, but may be below it.
                if (load.read.received < length / 2) {
                    before.add(reading);
                }
            };
            source.ask(reading.read, 0, length)
                    .withPriority(reading == load ? Priority.LOAD : Priority.BACKGROUND)
                    .into(into, 0)
                    .by(Long.MAX_VALUE);
            all.add(reader.submit(reading));
        }
        rig.until(() -> all.stream().allMatch(Reading::ended));
        assertTrue(before.size() < 6,
                () -> "the LOAD came last of 12, and before half of it " + before.size() + " ended");
    }

    @Test
    public void shouldPushBackWhenTheQueueIsFull() {
        long length = rig.queuedBytes();
        Source source = rig.source(owner, length);
        Region into = reader.own(rig.filled(length, FILL));
        List<Reading> accepted = new ArrayList<>();
        Reading refused = new Reading();
        while (refused.ends == 0) {
            Reading next = new Reading();
            source.ask(next.read, 0, length).into(into, 0).by(Long.MAX_VALUE);
            if (!reader.engine.submit(next.read)) {
                refused = next;
                break;
            }
            accepted.add(next);
            assertTrue(accepted.size() < MOST_QUEUED, "the queue has no end");
        }
        Reading waiting = refused;
        rig.until(() -> accepted.stream().allMatch(Reading::ended));
        assertEquals(0, waiting.ends);
        assertEquals(ReadStatus.OK, ended(reader.submit(waiting)).status);
        assertTrue(accepted.stream().allMatch(reading -> reading.ends == 1 && reading.status == ReadStatus.OK));
    }

    @Test
    public void shouldNotReachWhoIsNotThereOrIsAnother() {
        assumeFalse(rig.isLocal());
        Source source = rig.source(owner, 64);
        Region into = reader.own(rig.filled(64, FILL));
        Reading nowhere = new Reading();
        Peer nobody = new Peer(new NodeId("owner-of-nothing", 1), Map.of());
        nowhere.read.from(nobody, source.region().id(), 0, 8).into(into, 0).by(Long.MAX_VALUE);
        assertUnreachable(reader.submit(nowhere), Kind.PEER_UNREACHABLE);
        Reading earlier = new Reading();
        Peer former = owner.peer(new NodeId("owner", 17));
        earlier.read.from(former, source.region().id(), 0, 8).into(into, 0).by(Long.MAX_VALUE);
        assertUnreachable(reader.submit(earlier), rig.anotherLife());
        assertEquals(ReadStatus.OK, ended(reader.read(source, 0, 8, into)).status);
        rig.stop(owner);
        assertUnreachable(reader.read(source, 0, 8, into), Kind.PEER_UNREACHABLE);
    }

    @Test
    public void shouldEndUnreachableWhenTheOwnerDiesInTheMiddle() {
        assumeFalse(rig.isLocal());
        Source source = rig.source(owner, rig.largeBytes());
        MemorySegment to = rig.filled(rig.largeBytes(), FILL);
        Region into = reader.own(to);
        List<Reading> readings = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            readings.add(reader.read(source, 0, to.byteSize(), into));
        }
        rig.until(() -> isTouched(to));
        rig.stop(owner);
        for (Reading reading : readings) {
            assertUnreachable(reading, Kind.PEER_UNREACHABLE);
        }
        to.fill(REFILL);
        Reading after = new Reading();
        source.ask(after.read, 0, 8).into(into, 0).by(Long.MAX_VALUE);
        assertUnreachable(reader.submit(after), Kind.PEER_UNREACHABLE);
        assertNothingLands(to);
    }

    private void assertUnreachable(Reading reading, Kind kind) {
        assertEquals(ReadStatus.UNREACHABLE, ended(reading).status);
        assertEquals(kind, reading.cause().kind(), () -> reading.cause().getMessage());
        assertTrue(reading.cause().getMessage().contains("owner"), () -> reading.cause().getMessage());
    }

    @Test
    public void shouldEndEverythingOnCloseAndAcceptNothingAfter() {
        Source source = rig.source(owner, rig.largeBytes());
        MemorySegment to = rig.filled(rig.largeBytes(), FILL);
        Region into = reader.own(to);
        List<Reading> readings = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            readings.add(reader.read(source, 0, to.byteSize(), into));
        }
        rig.until(() -> isTouched(to));
        readings.add(reader.read(source, 0, to.byteSize(), into));
        reader.engine.poller().onClose();
        to.fill(REFILL);
        reader.engine.poller().onClose();
        for (Reading reading : readings) {
            assertEquals(ReadStatus.CANCELED, reading.status);
            assertEquals(1, reading.ends);
        }
        Reading after = new Reading();
        source.ask(after.read, 0, 1).into(into, 0).by(Long.MAX_VALUE);
        assertFalse(reader.engine.submit(after.read));
        assertFalse(reader.engine.send(owner.peer(), Topic.APPLICATION, EngineRig.utf8("x")));
        assertEquals(0, reader.engine.poller().doWork());
        assertNothingLands(to);
    }

    @Test
    public void shouldLeaveNoReadWithoutEndWhenSubmitAndCloseRace() throws InterruptedException {
        for (int round = 0; round < 20; round++) {
            EngineRig.Side side = rig.side("racing" + round);
            Peer nobody = new Peer(new NodeId("nobody", 1), Map.of());
            Region into = side.own(rig.filled(rig.queuedBytes(), FILL));
            AtomicInteger accepted = new AtomicInteger();
            AtomicInteger ended = new AtomicInteger();
            ReadListener listener = new ReadListener() {
                @Override
                public void onReadEnded(GuardedRead read, ReadStatus status) {
                    ended.incrementAndGet();
                }

                @Override
                public boolean isGivenUp(GuardedRead read) {
                    return false;
                }
            };
            CountDownLatch started = new CountDownLatch(2);
            List<Thread> threads = new ArrayList<>();
            for (int t = 0; t < 2; t++) {
                threads.add(Thread.ofPlatform().start(() -> {
                    started.countDown();
                    while (side.engine.submit(new GuardedRead(listener, 0).from(nobody, 1, 0, rig.queuedBytes())
                            .into(into, 0)
                            .by(Long.MAX_VALUE))) {
                        accepted.incrementAndGet();
                    }
                }));
            }
            started.await();
            side.engine.poller().doWork();
            side.engine.poller().onClose();
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(accepted.get(), ended.get());
        }
    }

    @Test
    public void shouldWakeAParkedPoller() throws InterruptedException {
        long length = rig.queuedBytes();
        Source source = rig.source(owner, length);
        Region into = reader.own(rig.filled(length, FILL));
        reader.engine.poller().wakeup();
        Thread poller = Thread.ofPlatform().start(() -> reader.engine.poller().park(60 * EngineRig.SECOND_NS));
        Reading reading = reader.read(source, 0, length, into);
        poller.join();
        assertEquals(ReadStatus.OK, ended(reading).status);
    }

    @Test
    public void shouldCarryMessagesInOrder() {
        assumeTrue(rig.canSend());
        List<String> sent = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            String text = i % 50 == 0 ? "m".repeat(EngineContext.MAX_MESSAGE_BYTES) : "message " + i;
            sent.add(reader.id.name() + ":" + text);
            assertTrue(reader.engine.send(owner.peer(), Topic.APPLICATION, EngineRig.utf8(text)));
        }
        rig.until(() -> owner.messages.size() == 100);
        assertEquals(sent, owner.messages);
    }
}
