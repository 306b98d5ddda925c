package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.sim.SimulatedTiming;
import io.mooncake.rdma.verbs.WorkStatus;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Guards;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What goes wrong with cards, links and peers, over simulated cards. */
@Timeout(120)
final class RdmaFaultTest extends OwnerAndReader {
    private static final long BYTES = 6L << 20;
    private static final int ENOMEM = 12;

    /** Every status but success: the lane is broken, its chunks are read again over another, and no byte is wrong. */
    @ParameterizedTest
    @EnumSource(value = WorkStatus.class, mode = EnumSource.Mode.EXCLUDE, names = "SUCCESS")
    void shouldReadAgainOverAnotherLaneAfterEveryError(WorkStatus status) {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        long lost = reader.count(Counter.LANES_LOST);

        card(reader).failNext(status.ordinal());
        assertReads(source);

        assertEquals(lost + 1, reader.count(Counter.LANES_LOST));
        assertReads(source);
    }

    @Test
    void shouldNameTheStatusWhenNoLaneIsLeft() {
        Region source = owner.register(rig.pattern(4096), Access.READABLE);
        Region into = reader.own(rig.filled(4096, FILL));
        ended(reader.read(owner, source, 0, 8, into));
        Reading reading = new Reading();
        reading.read.from(owner.peer(), source.id(), 0, 8).into(into, 0).by(Long.MAX_VALUE);
        reader.submit(reading);
        rig.until(() -> {
            card(reader).failNext(WorkStatus.REM_OP_ERR.ordinal());
            return reading.ended();
        });
        card(reader).failNext(0);
        assertEquals(ReadStatus.UNREACHABLE, reading.status);
        assertTrue(reading.cause().getMessage().contains("REM_OP_ERR"), () -> reading.cause().getMessage());
        assertTrue(reading.cause().getMessage().contains("device sim0"), () -> reading.cause().getMessage());
    }

    /** CQ depth equals the credits, so even if every request of the storm completes at once nothing overflows. */
    @Test
    void shouldKeepTheCompletionQueueNearlyEmptyUnderAStormOfCancels() {
        rig.network.timing(SimulatedTiming.defaults().withCompleteNs(30_000));
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        MemorySegment to = rig.filled(BYTES, FILL);
        Region into = reader.own(to);
        Random random = new Random(7);
        int canceled = 0;
        for (int i = 0; i < 2000; i++) {
            Reading reading = reader.read(owner, source, 0, 1 + random.nextInt((int) BYTES), into);
            for (int cycles = random.nextInt(4); cycles > 0; cycles--) {
                rig.cycle();
            }
            reading.givenUp = true;
            reader.engine.abort(reading.read);
            ended(reading);
            canceled += reading.status == ReadStatus.CANCELED ? 1 : 0;
        }
        assertTrue(canceled > 1000, canceled + " were canceled");
        assertTrue(card(reader).highestOccupancyPercent() < 30,
                () -> card(reader).highestOccupancyPercent() + " % of the completion queue were taken");
        to.fill(FILL);
        rig.settle();
        assertTrue(EngineRig.isFilled(to, FILL), "a byte landed after the end of everything");
        assertReads(source);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void shouldReadAgainWhatTheCardDidNotTake(int requests) {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        long lost = reader.count(Counter.LANES_LOST);
        card(reader).refusePosts(requests);
        assertReads(source);
        assertTrue(reader.count(Counter.LANES_LOST) > lost);
    }

    @Test
    void shouldOpenACardAnewWhoseCompletionQueueIsDead() {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        card(reader).breakQueues();
        MemorySegment to = rig.filled(BYTES, FILL);
        Reading during = ended(reader.read(owner, source, 0, BYTES, reader.own(to)));
        if (during.status == ReadStatus.OK) {
            assertTrue(EngineRig.holdsPattern(to, 0, BYTES, 0));
        }
        rig.advance(3 * EngineRig.SECOND_NS);
        rig.settle();
        assertReads(source);
    }

    /** One lane that opens is enough, and a question without an answer is asked again. */
    @ParameterizedTest
    @ValueSource(ints = {1, 3, 4, 6, 8})
    void shouldGoOnWhenMessagesAreLost(int messages) {
        Region source = owner.register(rig.pattern(4096), Access.READABLE);
        rig.bus.lose(Math.min(messages, 3));
        assertReads(source);
        Region another = owner.register(rig.pattern(4096), Access.READABLE);
        rig.bus.lose(messages);
        assertReads(another);
    }

    /** With one lane nobody else asks: a question that is asked only once would never be answered. */
    @Test
    void shouldAskAgainWhenTheOnlyLanesQuestionWasLost() {
        restart(new RdmaRig(7, RdmaRig.config().withWindow(new RdmaConfig.Window(1, 1 << 20, 4 << 20, 16, 128))));
        assertReads(owner.register(rig.pattern(4096), Access.READABLE));
        Region another = owner.register(rig.pattern(4096), Access.READABLE);
        Region into = reader.own(rig.filled(4096, FILL));
        rig.bus.lose(1);
        Reading reading = new Reading();
        reading.read.from(owner.peer(), another.id(), 0, 4096).into(into, 0).by(rig.nowNs() + 5 * EngineRig.SECOND_NS);
        assertEquals(ReadStatus.OK, ended(reader.submit(reading)).status);
    }

    @Test
    void shouldNotReachAPeerWhoseAnswersAreAllLostUntilTheyAreNot() {
        Region source = owner.register(rig.pattern(4096), Access.READABLE);
        rig.bus.lose(4);
        Reading lost = ended(reader.read(owner, source, 0, 64, reader.own(rig.filled(64, FILL))));
        assertEquals(ReadStatus.UNREACHABLE, lost.status);
        assertTrue(lost.cause().getMessage().contains("did not open"), () -> lost.cause().getMessage());
        rig.advance(EngineRig.SECOND_NS);
        assertReads(source);
    }

    @Test
    void shouldLeaveAPortThatGoesDownAndReturnWithIt() {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        card(reader).portDown();
        Region into = reader.own(rig.filled(64, FILL));
        Reading down = ended(reader.read(owner, source, 0, 64, into));
        assertEquals(ReadStatus.UNREACHABLE, down.status);
        assertTrue(down.cause().getMessage().contains("port"), () -> down.cause().getMessage());
        card(reader).portUp();
        rig.advance(2 * EngineRig.SECOND_NS);
        rig.settle();
        assertReads(source);

        card(owner).portDown();
        Reading silent = ended(reader.read(owner, source, 0, 64, into));
        assertEquals(ReadStatus.UNREACHABLE, silent.status);
        card(owner).portUp();
        rig.advance(2 * EngineRig.SECOND_NS);
        rig.settle();
        assertReads(source);
    }

    @Test
    void shouldMakeNewLanesWhenAnAddressChanges() {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        long opened = reader.count(Counter.LANES_OPENED);
        card(owner).changeAddress(0x0A4D_0101);
        rig.settle();
        assertReads(source);
        assertTrue(reader.count(Counter.LANES_OPENED) > opened);
        card(reader).changeAddress(0x0A4D_0102);
        rig.settle();
        assertReads(source);
    }

    @Test
    void shouldOpenALostCardAgainWithNewKeys() {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        Region guarded = owner.register(rig.pattern(4096), Access.GUARDED);
        assertReads(source);
        MemorySegment to = rig.filled(BYTES, FILL);
        Region into = reader.own(to);

        Reading during = reader.read(owner, source, 0, BYTES, into);
        rig.cycle();
        card(owner).fail();
        rig.until(during::ended);
        if (during.status == ReadStatus.OK) {
            assertTrue(EngineRig.holdsPattern(to, 0, BYTES, 0));
        }
        card(owner).recover();
        rig.advance(3 * EngineRig.SECOND_NS);
        rig.settle();
        assertReads(source);

        card(reader).fail();
        card(reader).recover();
        rig.advance(3 * EngineRig.SECOND_NS);
        rig.settle();
        assertReads(source);
        assertEquals(ReadStatus.OK, ended(reader.readGuarded(owner, guarded, 4096, Guards.FIRST, into)).status);
    }

    @Test
    void shouldSayWhichRegionCannotBeRegisteredAndGoOn() {
        Region source = owner.register(rig.pattern(DestinationPath.MOST_BOUNCED_BYTES + 1), Access.READABLE);
        assertReads(source);
        card(reader).failRegistrations(0, ENOMEM);
        MemorySegment to = rig.filled(DestinationPath.MOST_BOUNCED_BYTES + 1, FILL);
        Region into = reader.own(to);
        Reading refused = ended(reader.read(owner, source, 0, source.length(), into));
        assertEquals(ReadStatus.REFUSED, refused.status);
        assertEquals(Kind.OUT_OF_MEMORY, refused.cause().kind());
        assertTrue(refused.cause().getMessage().contains(into.toString()), () -> refused.cause().getMessage());
        card(reader).failRegistrations(Integer.MAX_VALUE, 0);
        assertEquals(ReadStatus.OK, ended(reader.read(owner, source, 0, source.length(), into)).status);

        card(owner).failRegistrations(0, ENOMEM);
        Region more = owner.register(rig.pattern(4096), Access.READABLE);
        Reading unknown = ended(reader.read(owner, more, 0, 4096, into));
        assertEquals(ReadStatus.REFUSED, unknown.status);
        assertTrue(unknown.cause().getMessage().contains(more.toString()), () -> unknown.cause().getMessage());
    }

    @Test
    void shouldFailTheStartWhenAPoolCannotBeRegistered() {
        rig.host("third").addDevice("sim1", 0x0A4D_0201);
        rig.host("third").cards().getFirst().failRegistrations(0, ENOMEM);
        rig.poolOf("third", rig.pattern(4096));
        MooncakeException refused = assertThrows(MooncakeException.class, () -> rig.side("third"));
        assertEquals(Kind.OUT_OF_MEMORY, refused.kind());
        assertTrue(refused.getMessage().contains("region r1"), refused.getMessage());
    }

    @Test
    void shouldReadRegionsThatNeedManyRegistrations() {
        restart(new RdmaRig(3, RdmaRig.config()
                .withLimits(new RdmaConfig.Limits(4096, 1024, 4096,
                        new RdmaConfig.Memory(3L << 20, 1L << 20, 64L << 30)))));
        Region source = owner.register(rig.pattern(23L << 20), Access.READABLE);
        assertReads(source);
        // Each part overlaps the next one by the longest request: 2 MiB apart, 3 MiB long.
        assertEquals(12, card(owner).registered());
        // Also requests from where one part ends into the next one need one key.
        MemorySegment to = rig.filled(10L << 20, FILL);
        long lost = reader.count(Counter.LANES_LOST);
        Reading skewed = ended(reader.read(owner, source, 1_500_001, to.byteSize(), reader.own(to)));
        assertEquals(ReadStatus.OK, skewed.status);
        assertTrue(EngineRig.holdsPattern(to, 0, to.byteSize(), 1_500_001));
        assertEquals(lost, reader.count(Counter.LANES_LOST));
    }

    @Test
    void shouldRegisterInPartsUnderTheCardsOwnLimit() {
        rig.host("third").cards().getFirst().largestRegistration(5L << 20);
        EngineRig.Side third = rig.side("third");
        Region source = third.register(rig.pattern(12L << 20), Access.READABLE);
        MemorySegment to = rig.filled(12L << 20, FILL);
        assertEquals(ReadStatus.OK, ended(reader.read(third, source, 0, to.byteSize(), reader.own(to))).status);
        assertTrue(EngineRig.holdsPattern(to, 0, to.byteSize(), 0));
        assertEquals(3, rig.host("third").cards().getFirst().registered());
    }

    /** Closing a region waits until no card can read its memory any more. */
    @Test
    void shouldDeregisterARegionBeforeItsMemoryMayBeFreed() {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        assertEquals(1, source.uses());
        int before = card(owner).registered();
        MemorySegment to = rig.filled(BYTES, FILL);
        Reading during = reader.read(owner, source, 0, BYTES, reader.own(to));
        rig.cycle();
        source.close();
        assertEquals(0, source.uses());
        assertEquals(before - 1, card(owner).registered());
        ended(during);
        if (during.status == ReadStatus.OK) {
            assertTrue(EngineRig.holdsPattern(to, 0, BYTES, 0));
        } else {
            assertEquals(ReadStatus.REFUSED, during.status);
            assertEquals(Kind.UNAUTHORIZED, during.cause().kind());
        }
    }

    @Test
    void shouldForgetDestinationsThatWereClosed() {
        Region source = owner.register(rig.pattern(4096), Access.READABLE);
        assertReads(source);
        rig.advance(10_000_000);
        rig.settle();
        int before = card(reader).registered();
        for (int i = 0; i < 20; i++) {
            assertReads(source);
        }
        rig.advance(10_000_000);
        rig.settle();
        assertEquals(before, card(reader).registered());
    }

    @Test
    void shouldFindANewLifeOfAPeer() {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        owner.engine.poller().onClose();
        owner.regions.open().forEach(Region::close);
        EngineRig.Side former = owner;
        owner = rig.side(new NodeId("owner", 2000));
        Region again = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(again);

        Region into = reader.own(rig.filled(64, FILL));
        Reading stale = ended(reader.read(former.peer(), again.id(), 0, 64, into));
        assertEquals(ReadStatus.UNREACHABLE, stale.status);
        rig.advance(2 * EngineRig.SECOND_NS);
        Reading later = ended(reader.read(former.peer(), again.id(), 0, 64, into));
        assertEquals(ReadStatus.UNREACHABLE, later.status);
        assertEquals(Kind.STALE_INCARNATION, later.cause().kind(), () -> later.cause().getMessage());
    }

    @Test
    void shouldUseAllCardsAndGoOnWithTheOthersWhenOneIsLost() {
        RdmaRig two = new RdmaRig();
        for (String name : List.of("owner", "reader")) {
            two.host(name).addDevice("sim1", 0x0A4D_0301 + name.length());
        }
        restart(two);
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        rig.host("reader").cards().forEach(card -> assertTrue(card.registered() > 0, card.name()));

        MemorySegment to = rig.filled(BYTES, FILL);
        Region into = reader.own(to);
        List<Reading> readings = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            readings.add(reader.read(owner, source, 0, BYTES, into));
        }
        rig.cycle();
        card(reader).fail();
        readings.forEach(reading -> assertEquals(ReadStatus.OK, ended(reading).status));
        assertTrue(EngineRig.holdsPattern(to, 0, BYTES, 0));
    }

    @Test
    void shouldPushOutALaneThatNobodyAskedThroughWhenThereAreTooMany() {
        restart(new RdmaRig(5, RdmaRig.config()
                .withLimits(
                        new RdmaConfig.Limits(4096, 1024, 6, new RdmaConfig.Memory(1L << 30, 1L << 20, 64L << 30)))));
        Region source = owner.register(rig.pattern(4096), Access.READABLE);
        for (int i = 0; i < 5; i++) {
            EngineRig.Side one = rig.side("reader" + i);
            MemorySegment to = rig.filled(4096, FILL);
            Reading reading = ended(one.read(owner, source, 0, 4096, one.own(to)));
            assertEquals(ReadStatus.OK, reading.status);
            assertTrue(EngineRig.holdsPattern(to, 0, 4096, 0));
        }
        assertReads(source);
    }

    /** Who is dead leaves no queue pairs behind; who was only said to be makes new lanes. */
    @Test
    void shouldGiveBackTheLaneEndsOfADeadReader() {
        Region source = owner.register(rig.pattern(4096), Access.READABLE);
        assertReads(source);
        long others = rig.host("owner").queuePairs() - RdmaRig.config().window().lanes();
        owner.engine.onPeerDead(reader.id, "not heard of");
        rig.settle();
        assertTrue(rig.host("owner").queuePairs() <= others);
        rig.advance(EngineRig.SECOND_NS);
        assertReads(source);
    }

    @Test
    void shouldRefuseToStartWithoutACard() {
        rig.host("bare").cards().clear();
        MooncakeException none = assertThrows(MooncakeException.class, () -> rig.side("bare"));
        assertEquals(Kind.CONFIG_ERROR, none.kind());
        rig.host("down").cards().getFirst().portDown();
        MooncakeException down = assertThrows(MooncakeException.class, () -> rig.side("down"));
        assertTrue(down.getMessage().contains("sim0") && down.getMessage().contains("active"), down.getMessage());
        assertFalse(down.getMessage().contains("\n"));
    }

    @Test
    void shouldGiveBackTheLaneEndsOfADeadReaderHoweverBusyItIs() {
        Region source = owner.register(rig.pattern(4096), Access.READABLE);
        assertReads(source);
        byte[] query = new byte[16];
        query[0] = LaneMessages.VERSION;
        for (int i = 0; i < 20_000; i++) {
            rig.bus.deliver(reader.id, "owner", query);
        }
        assertTrue(owner.count(Counter.MESSAGES_DROPPED) > 0, "it has no room for more");
        rig.freeze(reader);
        rig.stop(reader);
        rig.sides().remove(reader);
        owner.engine.onPeerDead(reader.id, "not heard of");
        rig.settle();
        assertEquals(0, rig.host("owner").queuePairs());
    }

    /** The card says that it may do what it was given, or not: nobody waits for that until the lane stands still. */
    @Test
    void shouldReadAgainAtOnceWhenADoorbellFailed() {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        long lost = reader.count(Counter.LANES_LOST);
        long begunNs = rig.nowNs();
        card(reader).failDoorbells(1);
        assertReads(source);
        assertEquals(lost + 1, reader.count(Counter.LANES_LOST));
        assertTrue(rig.nowNs() - begunNs < EngineRig.SECOND_NS / 2, () -> rig.nowNs() - begunNs + " ns");
    }

    /** What a peer says unasked, of however many regions, is forgotten again; reads under way wait until they know theirs anew. */
    @Test
    void shouldReadOnHoweverManyRegionsThePeerTellsOf() {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        long lost = reader.count(Counter.LANES_LOST);
        tellOfRegions(1_000_000, 4000);
        rig.settle();
        rig.network.timing(new SimulatedTiming(3_000_000, 3_000_000, 1_000_000, 4, 20_000, 50));
        for (int round = 0; round < 60; round++) {
            MemorySegment to = rig.filled(BYTES, FILL);
            Region into = reader.own(to);
            Reading reading = reader.read(owner, source, 0, BYTES, into);
            for (int cycles = 0; cycles < 3 * round; cycles++) {
                rig.cycle();
            }
            // Now or in one of the next rounds it is one too many.
            tellOfRegions(2_000_000 + 1000 * round, 1000);
            assertEquals(ReadStatus.OK, ended(reading).status, () -> reading.cause().getMessage());
            assertTrue(EngineRig.holdsPattern(to, 0, BYTES, 0));
            into.close();
        }
        assertEquals(lost, reader.count(Counter.LANES_LOST));
    }

    private void tellOfRegions(int first, int count) {
        for (int region = first; region < first + count; region++) {
            for (long lane = 1; lane <= RdmaRig.config().window().lanes(); lane++) {
                rig.bus.deliver(owner.id, "reader",
                        bytes(new LaneMessage.NoRegion(lane, region, Kind.UNAUTHORIZED, "none")));
            }
        }
    }

    private static byte[] bytes(LaneMessage message) {
        ByteBuffer encoded = LaneMessages.encode(message);
        byte[] bytes = new byte[encoded.remaining()];
        encoded.get(bytes);
        return bytes;
    }
}
