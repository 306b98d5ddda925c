package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.DmaBuf;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Memory of a device, by its dma-buf: read and read into without the host's. */
final class DmaBufTest {
    private static final long BYTES = 100_000;

    private final RdmaRig rig = new RdmaRig();
    private final EngineRig.Side owner = rig.side("owner");
    private final EngineRig.Side reader = rig.side("reader");

    @AfterEach
    void close() {
        rig.close();
    }

    private static DeviceMemory device(MemorySegment memory) {
        return new DeviceMemory(0, memory.address(), memory.byteSize(), new DmaBuf(7, 4096));
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
        // A short one, too: nobody here could copy it there.
        to.fill(EngineRig.FILL);
        assertEquals(ReadStatus.OK, read(source, into, 100).status);
        assertTrue(EngineRig.holdsPattern(to, 0, 100, 0));
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
        assertRefused(read(plain, host, BYTES), "dma-buf");
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
