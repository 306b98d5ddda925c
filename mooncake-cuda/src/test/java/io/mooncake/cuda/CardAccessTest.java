package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.CardAccess;
import io.mooncake.core.base.CardAccess.DmaBuf;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.cuda.CardWay.Way;
import io.mooncake.cuda.runtime.CudaDriver;
import io.mooncake.cuda.runtime.NativeDriver;
import io.mooncake.cuda.runtime.NativeRuntime;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How network cards get at a device's memory: which way, why no better one, and what becomes of the descriptors. */
@Timeout(120)
class CardAccessTest {
    private static final long MIB = 1 << 20;
    private static final int NOT_SUPPORTED = 801;
    private static final int ILLEGAL_ADDRESS = 700;
    /** More than devices, a pool and a descriptor make. */
    private static final int CALLS = 60;

    @TempDir
    @SuppressWarnings("NullAway.Init")
    Path modules;

    @BeforeEach
    void reset() {
        EmulatedCuda.reset(1);
    }

    @AfterEach
    void noDescriptorIsLeft() {
        assertEquals(0, EmulatedCuda.openDmaBufs());
        EmulatedCuda.reset(2);
    }

    private CudaDevices devices(CudaDriver driver) {
        return new CudaDevices(NativeRuntime.INSTANCE, driver, modules, CudaConfig.defaults().withPeerProbe(false));
    }

    private static VramPool pool(CudaDevices devices) {
        return devices.pool(0, List.of(new SizeClass(MIB + 7, 2)));
    }

    private static CardAccess cards(DeviceMemory memory) {
        return Objects.requireNonNull(memory.cards());
    }

    private static String line(CudaDevices devices) {
        return devices.describe().getFirst();
    }

    /** The driver with one of its answers replaced. */
    private record Altered(@Nullable String failure, int takes, int dmaBuf) implements CudaDriver {
        @Override
        public int takesDmaBufs(int device) {
            return takes;
        }

        @Override
        public int dmaBuf(long address, long bytes) {
            return dmaBuf != 0 ? dmaBuf : NativeDriver.INSTANCE.dmaBuf(address, bytes);
        }

        @Override
        public void close(int fd) {
            NativeDriver.INSTANCE.close(fd);
        }

        @Override
        public int pageSize() {
            return NativeDriver.INSTANCE.pageSize();
        }

        @Override
        public String errorText(int code) {
            return NativeDriver.INSTANCE.errorText(code);
        }
    }

    /** A card that is told of the second block must find that one's bytes, not those at the beginning of the pool (C111). */
    @Test
    void C111_shouldGiveADescriptorInWhichABlockIsAtItsPlace() {
        CudaDevices devices = devices(NativeDriver.INSTANCE);
        assertTrue(line(devices).contains("by dma-buf, flushed after writes"), () -> line(devices));
        try (VramPool pool = pool(devices)) {
            DeviceMemory whole = (DeviceMemory) pool.memory();
            DeviceMemory block = whole.part(pool.offset(1), MIB + 7);
            DmaBuf buffer = cards(block).open();
            assertNotNull(buffer);
            assertEquals(1, EmulatedCuda.openDmaBufs());
            MemorySegment card = EmulatedCuda.resolve(buffer.fd(), block.address() - buffer.start(), block.length());
            assertNotNull(card);
            assertEquals(EmulatedCuda.bytes(block.address(), MIB).address(), card.address());
            buffer.close();
            assertNull(EmulatedCuda.resolve(buffer.fd(), 0, 1), "it is closed");
            buffer.close();
        }
    }

    /** Memory of an inference engine need not begin with a page of the host. */
    @Test
    void shouldDescribeMemoryThatBeginsInsideAPage() {
        CudaDevices devices = devices(NativeDriver.INSTANCE);
        try (VramPool pool = pool(devices)) {
            DeviceMemory inside = devices.memory(0, pool.memory().address() + 1536, 100);
            try (DmaBuf buffer = Objects.requireNonNull(cards(inside).open())) {
                assertEquals(pool.memory().address(), buffer.start());
                assertNotNull(EmulatedCuda.resolve(buffer.fd(), inside.address() - buffer.start(), 100));
            }
            DeviceMemory nowhere = devices.memory(0, pool.memory().address() + (1L << 30), 100);
            MooncakeException refused = assertThrows(MooncakeException.class, cards(nowhere)::open);
            assertEquals(Kind.UNSUPPORTED, refused.kind());
            assertTrue(refused.getMessage().contains("CUDA_ERROR_INVALID_VALUE (1)"), refused::getMessage);
        }
    }

    @Test
    void shouldSayWhyThereIsNoDescriptorAndTakeTheNextWay() throws IOException {
        for (boolean peerMemory : List.of(false, true)) {
            if (peerMemory) {
                Files.createDirectory(modules.resolve("nvidia_peermem"));
            }
            for (CudaDriver driver : List.of(new Altered("cannot open libcuda.so.1", 1, 0), new Altered(null, 0, 0),
                    new Altered(null, -1, 0), new Altered(null, 1, -NOT_SUPPORTED))) {
                CudaDevices devices = devices(driver);
                String line = line(devices);
                assertTrue(line.contains(driver.failure() != null
                        ? "cannot open libcuda.so.1"
                        : driver.takesDmaBufs(0) == 0
                                ? "device 0 has none"
                                : driver.takesDmaBufs(0) < 0
                                        ? "CUDA_ERROR_INVALID_VALUE (1)"
                                        : "CUDA_ERROR_NOT_SUPPORTED (801)"),
                        line);
                assertTrue(line.contains(peerMemory ? "by peer memory" : "nvidia_peermem is not loaded"), line);
                try (VramPool pool = pool(devices)) {
                    DeviceMemory memory = (DeviceMemory) pool.memory();
                    if (peerMemory) {
                        assertNull(cards(memory).open(), "cards are told the addresses");
                    } else {
                        assertNull(memory.cards());
                    }
                }
            }
        }
    }

    /** The real library says so itself. */
    @Test
    void shouldAskTheDriver() {
        EmulatedCuda.withoutDmaBufs();
        assertTrue(line(devices(NativeDriver.INSTANCE)).contains("the driver says that device 0 has none"));
    }

    @ParameterizedTest
    @CsvSource({"0, 1", "100, 1", "200, 0"})
    void shouldFlushWhereTheDeviceNeedsIt(int ordering, int flushes) {
        EmulatedCuda.orderWrites(ordering);
        CudaDevices devices = devices(NativeDriver.INSTANCE);
        try (VramPool pool = pool(devices)) {
            long before = EmulatedCuda.statistics().flushes();
            cards((DeviceMemory) pool.memory()).makeVisible();
            assertEquals(flushes, EmulatedCuda.statistics().flushes() - before);
        }
    }

    @Test
    void shouldChooseTheDescriptorFirst() {
        assertEquals(Way.DMA_BUF, CardWay.choose(true, null, true).way());
        assertEquals(Way.PEER_MEMORY, CardWay.choose(true, "no", true).way());
        assertEquals(Way.NONE, CardWay.choose(true, "no", false).way());
    }

    /** Each call of opening devices, a pool, a descriptor and a flush fails once: a clear error or another way, and nothing is left open. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, NOT_SUPPORTED, ILLEGAL_ADDRESS})
    void shouldLeaveNothingOpenWhicheverCallFails(int error) {
        List<String> refusals = new ArrayList<>();
        for (int call = 0; call < CALLS; call++) {
            EmulatedCuda.reset(1);
            EmulatedCuda.failCall(call, error);
            try (VramPool pool = pool(devices(NativeDriver.INSTANCE))) {
                CardAccess cards = ((DeviceMemory) pool.memory()).cards();
                if (cards != null) {
                    try (DmaBuf _ = cards.open()) {
                        cards.makeVisible();
                    }
                }
            } catch (MooncakeException e) {
                refusals.add(e.getMessage());
            }
            assertEquals(0, EmulatedCuda.openDmaBufs(), "call " + call);
        }
        assertTrue(refusals.stream().anyMatch(refusal -> refusal.contains("cuMemGetHandleForAddressRange"))
                || error == ILLEGAL_ADDRESS, refusals::toString);
        assertTrue(refusals.stream().anyMatch(refusal -> refusal.contains("cudaDeviceFlushGPUDirectRDMAWrites")),
                refusals::toString);
    }
}
