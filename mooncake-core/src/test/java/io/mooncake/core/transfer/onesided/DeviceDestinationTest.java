package io.mooncake.core.transfer.onesided;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.CardAccess;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Reads into memory of a device, whose kernels see what a card wrote only when that was flushed. */
final class DeviceDestinationTest {
    private static final long BYTES = 3 << 20;

    private final SimRig rig = new SimRig();
    private final EngineRig.Side owner = rig.side("owner");
    private final EngineRig.Side reader = rig.side("reader");
    /** Where cards write, and what the device's kernels see. */
    private final MemorySegment written = rig.filled(BYTES, EngineRig.FILL);
    private final MemorySegment seen = rig.filled(BYTES, EngineRig.FILL);
    private @Nullable MooncakeException failure;
    private int flushes;
    private final DeviceMemory device = new DeviceMemory(0, 1L << 40, BYTES, new CardAccess() {
        @Override
        public @Nullable DmaBuf open() {
            return null;
        }

        @Override
        public void makeVisible() {
            flushes++;
            if (failure != null) {
                throw failure;
            }
            seen.copyFrom(written);
        }
    });

    DeviceDestinationTest() {
        rig.network.reachDevices(memory -> memory.cards() == null ? null : written);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private Reading read(Memory to) {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        Reading reading = reader.read(owner, source, 0, BYTES, reader.regions.register(to, Access.LOCAL_ONLY));
        rig.until(reading::ended);
        return reading;
    }

    @Test
    void shouldReportWhatTheDeviceSees() {
        assertEquals(ReadStatus.OK, read(device).status);
        assertTrue(EngineRig.holdsPattern(seen, 0, BYTES, 0), "reported before the device saw it");
        assertEquals(1, flushes);
    }

    @Test
    void shouldNotReportWhatTheDeviceWillNeverSee() {
        failure = new MooncakeException(Kind.DEVICE_LOST, "device 0 is lost");
        Reading reading = read(device);
        assertEquals(ReadStatus.REFUSED, reading.status);
        assertEquals(Kind.DEVICE_LOST, reading.cause().kind());
        assertEquals(1, reading.ends);
    }

    @Test
    void shouldSayWhichDevicesItReaches() {
        DeviceMemory other = new DeviceMemory(0, 1L << 40, BYTES);
        assertTrue(reader.engine.reaches(owner.peer(), 1, device));
        assertFalse(reader.engine.reaches(owner.peer(), 1, other));
        Reading reading = read(other);
        assertEquals(ReadStatus.REFUSED, reading.status);
        assertEquals(Kind.UNSUPPORTED, reading.cause().kind());
        assertEquals(0, flushes);
    }
}
