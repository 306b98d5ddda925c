package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.CardAccess;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.cuda.CudaRig.Place;
import io.mooncake.cuda.runtime.Device;
import io.mooncake.cuda.runtime.Event;
import io.mooncake.cuda.runtime.NativeRuntime;
import io.mooncake.cuda.runtime.Stream;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.opentest4j.TestAbortedException;

/** Pool and engine by nothing but the runtime's own calls: the same on a GPU as over the emulation. */
@Tag("gpu")
@Timeout(120)
class GpuTest {
    private static final long MIB = 1 << 20;
    private static final long LARGE = 64 * MIB;
    private static final int ROUNDS = 5;

    @BeforeEach
    void install() {
        EmulatedCuda.resetWhereEmulated(2);
    }

    private static Reading ended(EngineRig rig, Reading reading) {
        rig.until(reading::ended);
        return reading;
    }

    /** The same bytes after: host, device, the same device, host; pinned or not. */
    @Test
    void shouldBringBytesToTheDeviceAndBack() {
        for (Place place : List.of(Place.HOST, Place.PINNED)) {
            try (CudaRig rig = new CudaRig(place, Place.DEVICE_0, CudaConfig.defaults());
                    VramPool pool = rig.devices.pool(0, List.of(new SizeClass(5 * MIB + 7, 2)))) {
                EngineRig.Side node = rig.side("node");
                Region vram = node.regions.register(pool.memory(), Access.READABLE);
                MemorySegment bytes = rig.pattern(5 * MIB + 7);
                Region source = node.register(bytes, Access.READABLE);
                assertEquals(ReadStatus.OK, ended(rig,
                        node.submit(into(node, source, bytes.byteSize(), vram, pool.offset(1)))).status);
                Reading inside = new Reading();
                inside.read.from(node.peer(), vram.id(), pool.offset(1), bytes.byteSize())
                        .into(vram, pool.offset(0))
                        .by(Long.MAX_VALUE);
                assertEquals(ReadStatus.OK, ended(rig, node.submit(inside)).status);
                MemorySegment back = rig.arena().allocate(bytes.byteSize());
                Reading home = new Reading();
                home.read.from(node.peer(), vram.id(), pool.offset(0), bytes.byteSize())
                        .into(node.own(back), 0)
                        .by(Long.MAX_VALUE);
                assertEquals(ReadStatus.OK, ended(rig, node.submit(home)).status);
                assertEquals(-1, back.mismatch(bytes));
                vram.close();
            }
        }
    }

    private static Reading into(EngineRig.Side node, Region source, long length, Region to, long offset) {
        Reading reading = new Reading();
        reading.read.from(node.peer(), source.id(), 0, length).into(to, offset).by(Long.MAX_VALUE);
        return reading;
    }

    @Test
    void shouldScatterPagesOnTheDevice() {
        try (CudaRig rig = new CudaRig(Place.PINNED, Place.DEVICE_0, CudaConfig.defaults());
                VramPool pool = rig.devices.pool(0, List.of(new SizeClass(4 * MIB, 1)))) {
            EngineRig.Side node = rig.side("node");
            Region vram = node.regions.register(pool.memory(), Access.READABLE);
            MemorySegment bytes = rig.pattern(16 * 65_536);
            Region source = node.register(bytes, Access.READABLE);
            int[] pages = {3, 5, 7, 9, 1, 0, 2, 4, 6, 8, 10, 12, 14, 11, 13, 15};
            Reading reading = new Reading();
            reading.read.from(node.peer(), source.id(), 0, bytes.byteSize())
                    .into(vram, new PageMap(512, 65_536, 131_072, pages))
                    .by(Long.MAX_VALUE);
            assertEquals(ReadStatus.OK, ended(rig, node.submit(reading)).status);
            Device device = rig.devices.device(0);
            for (int i = 0; i < pages.length; i++) {
                Memory.DeviceMemory page = new Memory.DeviceMemory(0,
                        pool.memory().address() + 512 + pages[i] * 131_072L, 65_536);
                assertTrue(EngineRig.holdsPattern(DeviceBytes.read(device, page), 0, 65_536, i * 65_536L), "page " + i);
            }
            vram.close();
        }
    }

    @Test
    void shouldReachEveryPeer() {
        try (CudaRig rig = new CudaRig(Place.PINNED, Place.DEVICE_0, CudaConfig.defaults())) {
            int count = rig.devices.count();
            EngineRig.Side node = rig.side("node");
            List<VramPool> pools = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                pools.add(rig.devices.pool(i, List.of(new SizeClass(3 * MIB, 1))));
            }
            MemorySegment bytes = rig.pattern(3 * MIB);
            DeviceBytes.write(rig.devices.device(0), (Memory.DeviceMemory) pools.getFirst().memory(), bytes);
            Region from = node.regions.register(pools.getFirst().memory(), Access.READABLE);
            for (int i = 1; i < count; i++) {
                Region to = node.regions.register(pools.get(i).memory(), Access.READABLE);
                assertEquals(ReadStatus.OK,
                        ended(rig, node.submit(into(node, from, bytes.byteSize(), to, 0))).status);
                MemorySegment got = DeviceBytes.read(rig.devices.device(i),
                        (Memory.DeviceMemory) pools.get(i).memory());
                assertEquals(-1, got.asSlice(0, bytes.byteSize()).mismatch(bytes), "device " + i);
                to.close();
            }
            from.close();
            pools.forEach(VramPool::close);
        }
    }

    /** A descriptor of a pool, twice, closed before the pool; and a flush. Where the driver refuses that, its reason is what is skipped for. */
    @Test
    void shouldGiveNetworkCardsADescriptor() {
        CudaDevices devices = new CudaDevices(NativeRuntime.INSTANCE, CudaConfig.defaults().withPeerProbe(false));
        System.out.println(devices.describe());
        try (VramPool pool = devices.pool(0, List.of(new SizeClass(4 * MIB + 7, 2)))) {
            CardAccess cards = ((Memory.DeviceMemory) pool.memory()).cards();
            if (cards == null) {
                throw new TestAbortedException(devices.describe().toString());
            }
            for (int i = 0; i < 2; i++) {
                try (CardAccess.DmaBuf buffer = cards.open()) {
                    if (buffer == null) {
                        throw new TestAbortedException("cards are told the addresses: " + devices.describe());
                    }
                    assertTrue(buffer.fd() >= 0 && buffer.start() <= pool.memory().address(), buffer::toString);
                }
            }
            cards.makeVisible();
        }
    }

    /** How the engine's copies of 64 MiB compare with one plain cudaMemcpyAsync, both ways; printed, and asserted on a real device only. */
    @Test
    void shouldBeAboutAsFastAsOnePlainCopy() {
        for (boolean toDevice : List.of(true, false)) {
            try (CudaRig rig = new CudaRig(toDevice ? Place.PINNED : Place.DEVICE_0,
                    toDevice ? Place.DEVICE_0 : Place.PINNED, CudaConfig.defaults());
                    VramPool pool = rig.devices.pool(0, List.of(new SizeClass(LARGE, 1)))) {
                EngineRig.Side node = rig.side("node");
                Region vram = node.regions.register(pool.memory(), Access.READABLE);
                MemorySegment host = rig.pinned(LARGE);
                Region ram = node.register(host, Access.READABLE);
                long plain = Long.MAX_VALUE;
                long engine = Long.MAX_VALUE;
                for (int i = 0; i < ROUNDS; i++) {
                    plain = Math.min(plain, plainNs(rig.devices.device(0), toDevice
                            ? pool.memory().address()
                            : host.address(), toDevice ? host.address() : pool.memory().address()));
                    long began = System.nanoTime();
                    Reading reading = into(node, toDevice ? ram : vram, LARGE, toDevice ? vram : ram, 0);
                    assertEquals(ReadStatus.OK, ended(rig, node.submit(reading)).status);
                    engine = Math.min(engine, System.nanoTime() - began);
                }
                double ratio = (double) plain / engine;
                System.out.printf("64 MiB %s: cudaMemcpyAsync %.1f GB/s, engine %.1f GB/s, ratio %.3f%n",
                        toDevice ? "to the device" : "to the host", (double) LARGE / plain, (double) LARGE / engine,
                        ratio);
                assertTrue(ratio >= 0.9 || !EmulatedCuda.isReal(), "ratio " + ratio);
                vram.close();
            }
        }
    }

    private static long plainNs(Device device, long to, long from) {
        try (Stream stream = new Stream(device, "plain", 0); Event end = new Event(device, "plain", false)) {
            long began = System.nanoTime();
            stream.copy(to, from, LARGE);
            end.record(stream);
            stream.synchronize();
            return System.nanoTime() - began;
        }
    }
}
