package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.CardAccess;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.LaneMessage.Purpose;
import io.mooncake.rdma.LaneMessage.Request;
import io.mooncake.rdma.sim.SimulatedDevice;
import io.mooncake.rdma.sim.SimulatedTiming;
import io.mooncake.rdma.verbs.Gid;
import io.mooncake.rdma.verbs.PathMtu;
import io.mooncake.rdma.verbs.PeerEnd;
import io.mooncake.rdma.verbs.WorkStatus;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Cards that do not give back what they were given, number queue pairs again, or come back as others. */
@Timeout(120)
final class RefusingCardTest extends OwnerAndReader {
    private static final byte REFILL = 0x77;
    private static final long BYTES = 6L << 20;
    private static final long SHORT = 4096;

    /** Drivers may leave a destroyed queue pair's completions in the queue, and give its number to the next one. */
    @ParameterizedTest
    @EnumSource(value = WorkStatus.class, names = {"SUCCESS", "REM_ACCESS_ERR", "WR_FLUSH_ERR"})
    void shouldNotTakeACompletionOfAFormerQueuePairForItsOwn(WorkStatus status) {
        Region source = owner.register(rig.pattern(SHORT), Access.READABLE);
        assertReads(source);
        long lost = reader.count(Counter.LANES_LOST);
        rig.network.timing(new SimulatedTiming(1_000_000, 1_000_000, 100_000, 4, 20_000, 50));
        MemorySegment to = rig.filled(SHORT, FILL);
        Reading reading = reader.read(owner, source, 0, SHORT, reader.own(to));
        rig.cycle();
        rig.cycle();
        card(reader).leaveCompletions(0x7700_0000_0001L, status.ordinal());
        ended(reading);
        assertEquals(ReadStatus.OK, reading.status, () -> reading.cause().getMessage());
        assertTrue(EngineRig.holdsPattern(to, 0, SHORT, 0));
        assertEquals(lost, reader.count(Counter.LANES_LOST));
        rig.network.timing(SimulatedTiming.defaults());
        for (int i = 0; i < 100; i++) {
            assertReads(source);
        }
    }

    /** It is reset instead, which ends its requests as well. */
    @Test
    void shouldLetNothingLandByAQueuePairThatIsNotDestroyed() {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        rig.network.timing(new SimulatedTiming(10_000, 1_000_000_000, 3_000_000_000L, 4, 3_000_000_000L, 50));
        card(reader).refuseDestroys(8);
        MemorySegment to = rig.filled(BYTES, FILL);
        Reading reading = reader.read(owner, source, 0, BYTES, reader.own(to));
        reading.onEnd = () -> to.fill(REFILL);
        rig.until(() -> !EngineRig.isFilled(to, FILL));
        reading.givenUp = true;
        reader.engine.abort(reading.read);
        ended(reading);
        rig.advance(10 * EngineRig.SECOND_NS);
        rig.settle();
        assertTrue(EngineRig.isFilled(to, REFILL), "a byte landed after the end");
        rig.network.timing(SimulatedTiming.defaults());
        assertReads(source);
        // What was refused is asked for again, until it is not: the rig looks for what is left.
    }

    @Test
    void shouldOpenACardAnewThatNeitherDestroysNorResets() {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        long lost = reader.count(Counter.LANES_LOST);
        card(reader).refuseDestroys(1);
        card(reader).refuseResets(1);
        card(reader).failNext(WorkStatus.RETRY_EXC_ERR.ordinal());
        assertReads(source);
        rig.settle();
        assertEquals(lost + RdmaRig.config().window().lanes(), reader.count(Counter.LANES_LOST),
                "the one, and the others with the card");
        rig.advance(3 * EngineRig.SECOND_NS);
        rig.settle();
        assertReads(source);
    }

    /** Until it does not refuse any more the region's memory is not the owner's; every other region and card goes on. */
    @Test
    void shouldAskAgainForARegistrationThatIsNotTakenBack() {
        RdmaRig two = new RdmaRig();
        two.host("owner").addDevice("sim1", 0x0A4D_0101);
        restart(two);
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        Region another = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        assertReads(another);
        int before = card(owner).registered();
        card(owner).refuseDeregistrations(50);
        long begunNs = rig.nowNs();
        source.close();
        assertTrue(rig.nowNs() - begunNs > 40_000_000, "it was not the owner's before the card had given it back");
        assertEquals(before - 1, card(owner).registered());
        assertReads(another);
    }

    @Test
    void shouldGoOnWithoutALostCardThatTakesNothingBack() {
        card(owner).refuseWhenDead();
        card(reader).refuseWhenDead();
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        Region guarded = owner.register(rig.pattern(SHORT), Access.GUARDED);
        assertReads(source);
        for (EngineRig.Side side : new EngineRig.Side[]{owner, reader}) {
            Reading during = reader.read(owner, source, 0, BYTES, reader.own(rig.filled(BYTES, FILL)));
            rig.cycle();
            card(side).fail();
            ended(during);
            card(side).recover();
            rig.advance(3 * EngineRig.SECOND_NS);
            rig.settle();
            assertReads(source);
        }
        assertEquals(1, source.uses(), "that of the card which is there");
        source.close();
        assertTrue(guarded.uses() <= 1, () -> guarded.uses() + " uses");
    }

    @Test
    void shouldMakeNewLanesWhenAPortsNumberChanges() {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        for (EngineRig.Side side : new EngineRig.Side[]{owner, reader}) {
            long opened = reader.count(Counter.LANES_OPENED);
            card(side).changeLid(7);
            rig.advance(2 * EngineRig.SECOND_NS);
            rig.settle();
            assertReads(source);
            assertTrue(reader.count(Counter.LANES_OPENED) > opened, side.id.name());
        }
    }

    /** The engine's window was laid out for the cards of the start: one that holds less would overflow. */
    @Test
    void shouldLeaveOutACardThatComesLaterAndHoldsLess() {
        RdmaRig two = new RdmaRig();
        SimulatedDevice later = two.host("reader").addDevice("sim1", 0x0A4D_0301);
        later.fail();
        two.poolOf("reader", two.pattern(SHORT));
        restart(two);
        later.largestQueue(64);
        later.recover();
        rig.advance(3 * EngineRig.SECOND_NS);
        rig.settle();
        assertEquals(0, later.registered());
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
    }

    /** A message may come late: the life that follows has its lanes already. */
    @Test
    void shouldKeepTheLanesOfALifeThatAnEarlierOneAsksAfter() {
        restart(new RdmaRig());
        Region source = owner.register(rig.pattern(SHORT), Access.READABLE);
        assertReads(source);
        long ends = rig.host("owner").queuePairs();
        long lost = reader.count(Counter.LANES_LOST);
        PeerEnd end = new PeerEnd(77, 5, PathMtu.of(3), 0, new byte[Gid.BYTES]);
        ByteBuffer late = LaneMessages.encode(new Request(1, Purpose.READS, owner.id.incarnation(), 1, end));
        byte[] bytes = new byte[late.remaining()];
        late.get(bytes);
        rig.bus.deliver(new NodeId("reader", reader.id.incarnation() - 1), "owner", bytes);
        rig.settle();
        assertEquals(ends, rig.host("owner").queuePairs());
        assertReads(source);
        assertEquals(lost, reader.count(Counter.LANES_LOST));
    }

    /** Whatever goes wrong when a destination is registered, the read is told. */
    @Test
    void shouldSayWhatADeviceThrowsWhenItsMemoryIsToBeRegistered() {
        card(reader).takeDmaBufs();
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertReads(source);
        MemorySegment to = rig.filled(BYTES, FILL);
        Region into = reader.regions.register(new DeviceMemory(0, to.address(), BYTES, new CardAccess() {
            @Override
            public @Nullable DmaBuf open() {
                throw new IllegalStateException("the driver was shut down");
            }

            @Override
            public void makeVisible() {
                // Nothing comes.
            }
        }), Access.LOCAL_ONLY);
        for (int i = 0; i < 2; i++) {
            long begunNs = rig.nowNs();
            Reading reading = ended(reader.read(owner, source, 0, BYTES, into));
            assertEquals(ReadStatus.REFUSED, reading.status);
            assertTrue(reading.cause().getMessage().contains("the driver was shut down"),
                    () -> reading.cause().getMessage());
            assertTrue(rig.nowNs() - begunNs < EngineRig.SECOND_NS);
        }
        assertReads(source);
    }

    @ParameterizedTest
    @ValueSource(longs = {1L << 50, 1L << 62})
    void shouldRefuseARegionOfMoreRegistrationsThanAPeerCanBeTold(long bytes) {
        restart(new RdmaRig(3, RdmaRig.config()
                .withLimits(new RdmaConfig.Limits(4096, 1024, 4096,
                        new RdmaConfig.Memory(3L << 20, 1L << 20, 64L << 30)))));
        Region source = owner.regions.register(new DeviceMemory(0, 4096, bytes, new CardAccess() {
            @Override
            public @Nullable DmaBuf open() {
                return null;
            }

            @Override
            public void makeVisible() {
                // Nothing comes.
            }
        }), Access.READABLE);
        Reading reading = ended(reader.read(owner, source, 0, 100, reader.own(rig.filled(100, FILL))));
        assertEquals(ReadStatus.REFUSED, reading.status);
        assertEquals(Kind.CONFIG_ERROR, reading.cause().kind());
        assertTrue(reading.cause().getMessage().contains("rdma.registrationBytes"),
                () -> reading.cause().getMessage());
    }
}
