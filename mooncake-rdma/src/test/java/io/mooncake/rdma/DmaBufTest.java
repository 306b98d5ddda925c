package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.CardAccess;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Memory of a device, by dma-buf or by its addresses: read and read into without the host's. */
final class DmaBufTest {
    private static final long BYTES = 100_000;

    private final RdmaRig rig = new RdmaRig();
    private final EngineRig.Side owner = rig.side("owner");
    private final EngineRig.Side reader = rig.side("reader");

    private final AtomicInteger opened = new AtomicInteger();
    private final AtomicInteger closed = new AtomicInteger();
    private final AtomicInteger flushes = new AtomicInteger();
    private boolean byAddress;

    @AfterEach
    void close() {
        rig.close();
        assertEquals(byAddress ? 0 : opened.get(), closed.get(), "each descriptor is closed once");
    }

    private DeviceMemory device(MemorySegment memory) {
        return new DeviceMemory(0, memory.address(), memory.byteSize(), new CardAccess() {
            @Override
            public @Nullable DmaBuf open() {
                opened.incrementAndGet();
                return byAddress ? null : new Descriptor(memory.address() - 4096, closed);
            }

            @Override
            public void makeVisible() {
                flushes.incrementAndGet();
            }
        });
    }

    private record Descriptor(long start, AtomicInteger closed) implements CardAccess.DmaBuf {
        @Override
        public int fd() {
            return 7;
        }

        @Override
        public void close() {
            closed.incrementAndGet();
        }
    }

    private Reading read(Region from, Region into, long bytes) {
        Reading reading = reader.read(owner, from, 0, bytes, into);
        rig.until(reading::ended);
        return reading;
    }

    @Test
    void shouldReadADevicesMemoryIntoAnothers() {
        rig.host("owner").cards().getFirst().takeDmaBufs();
        rig.host("reader").cards().getFirst().takeDmaBufs();
        Region source = owner.regions.register(device(rig.pattern(BYTES)), Access.READABLE);
        MemorySegment to = rig.filled(BYTES, EngineRig.FILL);
        Region into = reader.regions.register(device(to), Access.LOCAL_ONLY);
        assertEquals(ReadStatus.OK, read(source, into, BYTES).status);
        assertTrue(EngineRig.holdsPattern(to, 0, BYTES, 0));
        assertEquals(1, flushes.get(), "once, for the reader's device");
        assertEquals(2, closed.get(), "as soon as they are registered");
        // A short one, too: nobody here could copy it there.
        to.fill(EngineRig.FILL);
        assertEquals(ReadStatus.OK, read(source, into, 100).status);
        assertTrue(EngineRig.holdsPattern(to, 0, 100, 0));
    }

    /** With nvidia_peermem the kernel knows the device's addresses. */
    @Test
    void shouldReadIntoADeviceByItsAddresses() {
        byAddress = true;
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        MemorySegment to = rig.filled(BYTES, EngineRig.FILL);
        assertEquals(ReadStatus.OK,
                read(source, reader.regions.register(device(to), Access.LOCAL_ONLY), BYTES).status);
        assertTrue(EngineRig.holdsPattern(to, 0, BYTES, 0));
        assertEquals(1, flushes.get());
    }

    /** Whoever chooses ways is told beforehand where it can be known, and from the first refusal on where not. */
    @Test
    void shouldNotReachMemoryThatACardHasRefused() {
        DeviceMemory memory = device(rig.pattern(BYTES));
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        assertTrue(reader.engine.reaches(owner.peer(), source.id(), memory));
        assertRefused(read(source, reader.regions.register(memory, Access.LOCAL_ONLY), BYTES), "ibv_reg_dmabuf_mr");
        assertFalse(reader.engine.reaches(owner.peer(), source.id(), memory));
        assertFalse(reader.engine.reaches(owner.peer(), source.id(), new DeviceMemory(0, 4096, BYTES)));
        assertEquals(0, flushes.get());
    }

    @Test
    void shouldSayWhyWhereTheCardCannot() {
        Region source = owner.register(rig.pattern(BYTES), Access.READABLE);
        Region device = owner.regions.register(device(rig.pattern(BYTES)), Access.READABLE);
        Region plain = owner.regions.register(new DeviceMemory(0, 4096, BYTES), Access.READABLE);
        Region into = reader.regions.register(device(rig.pattern(BYTES)), Access.LOCAL_ONLY);
        Region host = reader.own(rig.filled(BYTES, EngineRig.FILL));

        assertRefused(read(source, into, BYTES), "ibv_reg_dmabuf_mr");
        assertRefused(read(device, host, BYTES), "ibv_reg_dmabuf_mr");
        assertRefused(read(plain, host, BYTES), "CudaDevices.memory");
        Reading unreachable = read(source, reader.regions.register(new DeviceMemory(0, 4096, BYTES),
                Access.LOCAL_ONLY), BYTES);
        assertEquals(ReadStatus.REFUSED, unreachable.status);
        assertEquals(Kind.UNSUPPORTED, unreachable.cause().kind());
    }

    private static void assertRefused(Reading reading, String why) {
        assertEquals(ReadStatus.REFUSED, reading.status);
        assertEquals(Kind.UNSUPPORTED, reading.cause().kind(), () -> reading.cause().getMessage());
        assertTrue(reading.cause().getMessage().contains(why), () -> reading.cause().getMessage());
    }
}
