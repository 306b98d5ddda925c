package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.cuda.CudaRig.Place;
import io.mooncake.cuda.PeerLink.Way;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.CudaRuntime;
import io.mooncake.cuda.runtime.NativeRuntime;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.Source;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The CUDA engine where something is not as it should be: no peer access, memory that is not pinned, errors of every call. */
@Timeout(120)
class CopyFaultsTest {
    private static final long MIB = 1 << 20;
    private static final int REFILL = 0x77;
    private static final int LAUNCH_FAILURE = 719;
    /** About as many as a life has, without those that only ask whether a copy has ended. */
    private static final int CALLS = 160;

    @BeforeEach
    void reset() {
        EmulatedCuda.reset(2);
    }

    private static Reading ended(EngineRig rig, Reading reading) {
        rig.until(reading::ended);
        return reading;
    }

    @Test
    void C106_shouldStageWhereTwoDevicesDoNotReachEachOther() {
        EmulatedCuda.noPeer(0, 1);
        try (CudaRig rig = new CudaRig(Place.DEVICE_0, Place.DEVICE_1, CudaConfig.defaults().withChunks(MIB, 4))) {
            for (PeerLink link : rig.devices.links()) {
                assertEquals(Way.STAGED, link.way());
                assertEquals(0, link.directNs());
                assertTrue(link.stagedNs() > 0 && link.toString().contains("STAGED"), link::toString);
            }
            EngineRig.Side node = rig.side("node");
            Source source = rig.guarded(node, 5 * MIB + 3);
            MemorySegment to = rig.filled(source.length(), EngineRig.FILL);
            assertEquals(ReadStatus.OK, ended(rig, node.read(source, 0, source.length(), node.own(to))).status);
            assertTrue(EngineRig.holdsPattern(to, 0, source.length(), 0));
            assertEquals(source.length(), node.count(Counter.BYTES_STAGED));
        }
    }

    @Test
    void shouldMeasureBothWaysAndTakeTheDirectOneWhenItIsNotSlower() {
        EmulatedCuda.delay(0, 20_000);
        try (CudaRig rig = new CudaRig(Place.DEVICE_0, Place.DEVICE_1, CudaConfig.defaults())) {
            PeerLink link = rig.devices.links().getFirst();
            assertTrue(link.directNs() > 0 && link.stagedNs() > 0 && link.probedBytes() > 0, link::toString);
            assertEquals(link.directNs() <= link.stagedNs() ? Way.DIRECT : Way.STAGED, link.way());
        }
    }

    @Test
    void C103_shouldNeverBlockForMemoryThatIsNotPinned() {
        long before = EmulatedCuda.statistics().pageable();
        try (CudaRig rig = new CudaRig(Place.DEVICE_0, Place.HOST);
                CudaRig pinned = new CudaRig(Place.DEVICE_0,
                        Place.PINNED)) {
            for (CudaRig each : List.of(rig, pinned)) {
                EngineRig.Side node = each.side("node");
                Source source = each.guarded(node, 3 * MIB);
                MemorySegment to = each.filled(3 * MIB, EngineRig.FILL);
                assertEquals(ReadStatus.OK, ended(each, node.read(source, 0, 3 * MIB, node.own(to))).status);
                assertTrue(EngineRig.holdsPattern(to, 0, 3 * MIB, 0));
                assertEquals(each.equals(rig) ? 3 * MIB : 0, node.count(Counter.BYTES_STAGED));
            }
        }
        assertEquals(before, EmulatedCuda.statistics().pageable(), "the runtime was given memory that is not pinned");
    }

    /** 64 MiB each way, and the source overwritten as soon as the end is told: what is told is that the bytes have left it, not that a call returned. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void C103_shouldTellTheEndOfTheCopyAndNotOfTheCall(boolean toDevice) {
        Place device = Place.DEVICE_0;
        try (CudaRig rig = new CudaRig(toDevice ? Place.HOST : device, toDevice ? device : Place.HOST,
                CudaConfig.defaults().withPeerProbe(false))) {
            EngineRig.Side node = rig.side("node");
            MemorySegment from = rig.pattern(64 * MIB);
            Region source = node.register(from, Access.READABLE);
            MemorySegment to = rig.filled(64 * MIB, EngineRig.FILL);
            EmulatedCuda.delay(2_000, 0);
            Reading reading = new Reading();
            reading.read.from(node.peer(), source.id(), 0, 64 * MIB).into(node.own(to), 0).by(Long.MAX_VALUE);
            assertEquals(ReadStatus.OK, ended(rig, node.submit(reading)).status);
            from.fill((byte) REFILL);
            rig.settle();
            assertTrue(EngineRig.holdsPattern(to, 0, 64 * MIB, 0));
            assertEquals(64 * MIB, node.count(Counter.BYTES_STAGED));
        }
    }

    @Test
    void shouldCopyPagesThatAreEquallyFarFromEachOtherInOneCall() {
        try (CudaRig rig = new CudaRig(Place.PINNED, Place.DEVICE_0, CudaConfig.defaults().withChunks(MIB, 4))) {
            EngineRig.Side node = rig.side("node");
            Source source = rig.source(node, MIB);
            MemorySegment to = rig.filled(4 * MIB, EngineRig.FILL);
            int[] pages = new int[64];
            for (int i = 0; i < pages.length; i++) {
                pages[i] = i;
            }
            long before = EmulatedCuda.statistics().copies();
            Reading reading = new Reading();
            source.ask(reading.read, 0, MIB)
                    .into(node.own(to), new PageMap(4096, 16 << 10, 64 << 10, pages))
                    .by(Long.MAX_VALUE);
            assertEquals(ReadStatus.OK, ended(rig, node.submit(reading)).status);
            assertEquals(before + 1, EmulatedCuda.statistics().copies());
            for (int i = 0; i < pages.length; i++) {
                assertTrue(EngineRig.holdsPattern(to, 4096 + i * (64L << 10), 16 << 10, i * (16L << 10)), "page " + i);
            }
        }
    }

    @Test
    void C107_shouldFailEverythingOfALostDeviceAndNothingElse() {
        try (CudaRig rig = new CudaRig(Place.DEVICE_0, Place.HOST)) {
            EngineRig.Side node = rig.side("node");
            Source source = rig.guarded(node, 4 * MIB);
            MemorySegment to = rig.filled(4 * MIB, EngineRig.FILL);
            Region into = node.own(to);
            EmulatedCuda.failCopy(3, 700);
            Reading first = node.read(source, 0, 4 * MIB, into);
            Reading second = node.read(source, 0, 4 * MIB, into);
            for (Reading reading : List.of(first, second)) {
                assertLost(ended(rig, reading));
            }
            to.fill((byte) REFILL);
            long calls = EmulatedCuda.statistics().calls();
            assertLost(ended(rig, node.read(source, 0, 8, into)));
            assertEquals(calls, EmulatedCuda.statistics().calls(), "a lost device is asked nothing");
            assertEquals(0, node.guards.pinned());
            assertTrue(EngineRig.isFilled(to, (byte) REFILL));
            assertFalse(node.engine.route(node.peer(), source.region().id()).registered());
            assertTrue(rig.devices.describe().get(0).contains("lost"), rig.devices.describe()::toString);
            assertFalse(rig.devices.describe().get(1).contains("lost"), rig.devices.describe()::toString);
        }
        try (CudaRig other = new CudaRig(Place.DEVICE_1, Place.HOST)) {
            EngineRig.Side node = other.side("node");
            Source source = other.guarded(node, 4 * MIB);
            MemorySegment to = other.filled(4 * MIB, EngineRig.FILL);
            assertEquals(ReadStatus.OK, ended(other, node.read(source, 0, 4 * MIB, node.own(to))).status);
        }
    }

    /** The other device is lost just when its copy has been queued and the event behind it is not: nobody knows whether that landed. */
    @Test
    void shouldNotCountWhatTheLossOfAnotherDeviceLeavesOpen() {
        EmulatedCuda.noPeer(0, 1);
        Set<Object> onward = new HashSet<>();
        CudaRuntime losing = RuntimeProxy.around((call, arguments, real) -> {
            if (call.equals("record") && onward.contains(arguments[1])) {
                EmulatedCuda.failCall(0, LAUNCH_FAILURE);
            }
            Object result = real.call();
            if (call.equals("createStream") && NativeRuntime.INSTANCE.currentDevice() == 1) {
                onward.add(result);
            }
            return result;
        });
        try (CudaRig rig = new CudaRig(Place.DEVICE_0, Place.DEVICE_1,
                CudaConfig.defaults().withChunks(MIB, 4).withPeerProbe(false), losing)) {
            EngineRig.Side node = rig.side("node");
            Source source = rig.guarded(node, MIB);
            Region to = node.own(rig.filled(MIB, EngineRig.FILL));
            Reading reading = ended(rig, node.read(source, 0, MIB, to));
            assertEquals(ReadStatus.UNREACHABLE, reading.status);
            assertEquals(Kind.DEVICE_LOST, reading.cause().kind());
            assertTrue(reading.cause().getMessage().contains("device 1"), reading.cause()::getMessage);
            assertEquals(0, node.guards.pinned());

            Region home = node.own(rig.arena().allocate(MIB));
            assertEquals(ReadStatus.OK, ended(rig, node.read(source, 0, MIB, home)).status, "the first device goes on");
        }
    }

    private static void assertLost(Reading reading) {
        assertEquals(ReadStatus.UNREACHABLE, reading.status);
        assertEquals(Kind.DEVICE_LOST, reading.cause().kind());
        assertTrue(reading.cause().getMessage().contains("device 0"), reading.cause()::getMessage);
    }

    /** Each call of a whole life fails once, at one try after the other: every read ends once, and nothing lands after its end. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 400, 719})
    void shouldEndEveryReadWhicheverCallFails(int error) {
        int reached = 0;
        for (int call = 0; call < CALLS; call++) {
            reached += lifeWithFailure(call, error) ? 1 : 0;
        }
        assertTrue(reached > CALLS / 2, reached + " of " + CALLS + " calls were made");
    }

    private static boolean lifeWithFailure(int call, int error) {
        EmulatedCuda.reset(2);
        EmulatedCuda.noPeer(0, 1);
        EmulatedCuda.failCall(call, error);
        long before = EmulatedCuda.statistics().calls();
        try (CudaRig rig = new CudaRig(Place.DEVICE_0, Place.DEVICE_1)) {
            EngineRig.Side node = rig.side("node");
            Source source = rig.guarded(node, MIB);
            MemorySegment to = rig.filled(MIB, EngineRig.FILL);
            Region into = node.own(to);
            List<Reading> readings = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                readings.add(node.read(source, 0, MIB, into));
            }
            rig.until(() -> readings.stream().allMatch(Reading::ended));
            for (Reading reading : readings) {
                assertEquals(1, reading.ends);
                if (reading.status == ReadStatus.OK) {
                    assertTrue(EngineRig.holdsPattern(to, 0, MIB, 0), "call " + call);
                } else {
                    assertEquals(error == 719 ? Kind.DEVICE_LOST : reading.cause().kind(), reading.cause().kind());
                }
            }
            assertEquals(0, node.guards.pinned());
            to.fill((byte) REFILL);
            rig.settle();
            assertTrue(EngineRig.isFilled(to, (byte) REFILL), "call " + call);
        } catch (MooncakeException e) {
            assertFalse(e.getMessage().isEmpty());
        } catch (RuntimeException | AssertionError e) {
            // The rig's own calls fail, too.
            if (!(e instanceof CudaException)
                    && !(e.getCause() instanceof CudaException)) {
                throw e;
            }
        }
        return EmulatedCuda.statistics().calls() - before > call;
    }

    /** Where threads are shared the agent's thread parks in another engine's poller. */
    @Test
    void shouldWakeTheThreadThatItShares() {
        AtomicInteger wakeups = new AtomicInteger();
        try (CudaRig rig = new CudaRig(Place.DEVICE_0, Place.PINNED) {
            @Override
            protected TransferEngine engine(EngineContext context) {
                return super.engine(context.wokenBy(wakeups::incrementAndGet));
            }
        }) {
            EngineRig.Side node = rig.side("node");
            Source source = rig.guarded(node, MIB);
            Region into = node.own(rig.filled(MIB, EngineRig.FILL));
            Reading reading = node.read(source, 0, MIB, into);
            assertEquals(1, wakeups.get());
            node.engine.abort(reading.read);
            assertEquals(2, wakeups.get());
            assertEquals(ReadStatus.OK, ended(rig, reading).status);
        }
    }
}
