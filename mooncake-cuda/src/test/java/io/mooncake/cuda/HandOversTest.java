package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.Stream;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.pool.StreamOrder.Work;
import io.mooncake.cuda.runtime.CudaRuntime;
import io.mooncake.cuda.runtime.NativeRuntime;
import io.mooncake.testing.EngineRig;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A block is written from memory that kernels of the user's stream write before and after. Kernels are memsets behind gates.
 */
@Timeout(60)
class HandOversTest {
    private static final long BYTES = 64 << 10;
    private static final int ROUNDS = 100;
    private static final int BEFORE = 0x01;
    private static final int P = 0x50;
    private static final int Q = 0x51;

    private long stream;
    private long source;

    @BeforeEach
    void begin() {
        EmulatedCuda.reset(2);
        NativeRuntime.INSTANCE.setDevice(0);
        stream = NativeRuntime.INSTANCE.createStream(0);
        source = NativeRuntime.INSTANCE.malloc(BYTES);
    }

    @AfterEach
    void end() {
        NativeRuntime.INSTANCE.synchronize(stream);
        NativeRuntime.INSTANCE.destroyStream(stream);
        NativeRuntime.INSTANCE.free(source);
    }

    private static VramPool pool(CudaRuntime runtime) {
        return new CudaDevices(runtime, CudaConfig.defaults().withPeerProbe(false)).pool(0,
                List.of(new SizeClass(BYTES, 2)));
    }

    private void kernelWrites(int value) {
        assertEquals(0, NativeRuntime.INSTANCE.fill(source, value, BYTES, stream));
    }

    /** What the slot holds when the kernel that writes P is slow, and the one that writes Q is queued right after the store took P. */
    private int stored(VramPool pool) {
        int slot = pool.reserve(BYTES);
        MemorySegment seen = EmulatedCuda.bytes(pool.memory().address() + pool.offset(slot), BYTES);
        EmulatedCuda.bytes(source, BYTES).fill((byte) BEFORE);
        long kernel = EmulatedCuda.gate(stream);
        kernelWrites(P);
        Work work = pool.streams()
                .write(pool.offset(slot), new Memory.DeviceMemory(0, source, BYTES), new Stream(stream));
        kernelWrites(Q);
        EmulatedCuda.open(kernel);
        work.await();
        assertEquals(0, NativeRuntime.INSTANCE.synchronize(stream));
        assertEquals((byte) Q, EmulatedCuda.bytes(source, BYTES).get(ValueLayout.JAVA_BYTE, 0));
        int got = seen.get(ValueLayout.JAVA_BYTE, 0);
        assertTrue(EngineRig.isFilled(seen, (byte) got));
        pool.release(slot);
        return got;
    }

    @Test
    void C104_shouldStoreWhatTheKernelsBeforeHaveWrittenAndNothingLater() {
        try (VramPool pool = pool(NativeRuntime.INSTANCE)) {
            for (int i = 0; i < ROUNDS; i++) {
                assertEquals(P, stored(pool), "round " + i);
            }
        }
    }

    /** 64 MiB of host memory that is not pinned, with a kernel in front that ends only after all of this. */
    @Test
    void C103_shouldNotWaitForTheKernelInFrontWithMemoryThatIsNotPinned() {
        long large = 64L << 20;
        try (VramPool pool = new CudaDevices(NativeRuntime.INSTANCE, CudaConfig.defaults().withPeerProbe(false)).pool(0,
                List.of(new SizeClass(large, 1)));
                Arena arena = Arena.ofShared()) {
            int slot = pool.reserve(large);
            MemorySegment bytes = arena.allocate(large, 4096).fill((byte) P);
            long kernel = EmulatedCuda.gate(stream);
            MooncakeException refused = assertThrows(MooncakeException.class,
                    () -> pool.streams().write(pool.offset(slot), Memory.of(bytes), new Stream(stream)));
            assertEquals(Kind.UNSUPPORTED, refused.kind());
            assertTrue(refused.getMessage().contains("is not pinned"), refused::getMessage);
            pool.streams().write(pool.offset(slot), Memory.of(bytes));
            bytes.fill((byte) Q);
            EmulatedCuda.open(kernel);
            assertTrue(EngineRig.isFilled(EmulatedCuda.bytes(pool.memory().address() + pool.offset(slot), large),
                    (byte) P));
            pool.release(slot);
        }
    }

    @Test
    void shouldBeSeenWhenTheCopyDoesNotWaitForTheKernel() {
        AtomicLong begin = new AtomicLong();
        CudaRuntime hasty = RuntimeProxy.around((call, arguments, real) -> {
            if (call.equals("waitFor") && (long) arguments[0] != stream) {
                begin.incrementAndGet();
                return 0;
            }
            return real.call();
        });
        try (VramPool pool = pool(hasty)) {
            int slot = pool.reserve(BYTES);
            EmulatedCuda.bytes(source, BYTES).fill((byte) BEFORE);
            long kernel = EmulatedCuda.gate(stream);
            kernelWrites(P);
            Work work = pool.streams()
                    .write(pool.offset(slot), new Memory.DeviceMemory(0, source, BYTES), new Stream(stream));
            work.await();
            EmulatedCuda.open(kernel);
            assertEquals((byte) BEFORE, EmulatedCuda.bytes(pool.memory().address() + pool.offset(slot), BYTES)
                    .get(ValueLayout.JAVA_BYTE, 0), "the check would not see the fault");
            assertEquals(1, begin.get());
            pool.release(slot);
        }
    }

    @Test
    void shouldBeSeenWhenTheStreamDoesNotWaitForTheCopy() {
        AtomicLong slow = new AtomicLong();
        CudaRuntime careless = RuntimeProxy.around((call, arguments, real) -> {
            if (call.equals("waitFor") && (long) arguments[0] == stream) {
                return 0;
            }
            if (call.equals("copy")) {
                slow.set(EmulatedCuda.gate((long) arguments[3]));
            }
            return real.call();
        });
        try (VramPool pool = pool(careless)) {
            int slot = pool.reserve(BYTES);
            kernelWrites(P);
            Work work = pool.streams()
                    .write(pool.offset(slot), new Memory.DeviceMemory(0, source, BYTES), new Stream(stream));
            kernelWrites(Q);
            assertEquals(0, NativeRuntime.INSTANCE.synchronize(stream), "nothing holds the user's stream up");
            EmulatedCuda.open(slow.get());
            work.await();
            assertEquals((byte) Q, EmulatedCuda.bytes(pool.memory().address() + pool.offset(slot), BYTES)
                    .get(ValueLayout.JAVA_BYTE, 0), "the check would not see the fault");
            pool.release(slot);
        }
    }

    @Test
    void shouldHoldTheUsersStreamUpUntilTheCopyHasRead() {
        AtomicLong slow = new AtomicLong();
        CudaRuntime late = RuntimeProxy.around((call, arguments, real) -> {
            if (call.equals("copy")) {
                slow.set(EmulatedCuda.gate((long) arguments[3]));
            }
            return real.call();
        });
        try (VramPool pool = pool(late)) {
            int slot = pool.reserve(BYTES);
            kernelWrites(P);
            Work work = pool.streams()
                    .write(pool.offset(slot), new Memory.DeviceMemory(0, source, BYTES), new Stream(stream));
            kernelWrites(Q);
            assertFalse(work.hasEnded());
            // Whatever the user's stream does meanwhile, it does not come to Q.
            Work after = pool.streams().mark(new Stream(stream));
            for (int i = 0; i < 1000; i++) {
                assertFalse(after.hasEnded());
            }
            EmulatedCuda.open(slow.get());
            work.await();
            after.await();
            assertEquals((byte) P, EmulatedCuda.bytes(pool.memory().address() + pool.offset(slot), BYTES)
                    .get(ValueLayout.JAVA_BYTE, 0));
            pool.release(slot);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldGiveTheCallerItsDeviceBackAndServeVirtualThreads(boolean virtual) throws Exception {
        try (VramPool pool = pool(NativeRuntime.INSTANCE)) {
            Callable<Integer> work = () -> {
                NativeRuntime.INSTANCE.setDevice(1);
                int got = stored(pool);
                // A virtual thread has no device: it may go on upon another carrier, which has one of its own.
                assertTrue(virtual || NativeRuntime.INSTANCE.currentDevice() == 1);
                return got;
            };
            FutureTask<Integer> task = new FutureTask<>(work);
            (virtual ? Thread.ofVirtual() : Thread.ofPlatform()).start(task).join();
            assertEquals(P, task.get());
        }
    }

    @Test
    void shouldWriteHostMemoryAndRefuseWhatHasNoOrder() {
        CudaDevices devices = new CudaDevices(NativeRuntime.INSTANCE, CudaConfig.defaults());
        try (VramPool pool = devices.pool(0, List.of(new SizeClass(BYTES, 2))); Arena arena = Arena.ofShared()) {
            int slot = pool.reserve(BYTES);
            MemorySegment host = EngineRig.fillWithPattern(arena.allocate(BYTES, 4096));
            MemorySegment seen = EmulatedCuda.bytes(pool.memory().address() + pool.offset(slot), BYTES);
            pool.streams().write(pool.offset(slot), Memory.of(host));
            assertEquals(-1, seen.mismatch(host));

            Memory device = new Memory.DeviceMemory(0, source, BYTES);
            assertRefused(() -> pool.streams().write(pool.offset(slot), device), Kind.UNSUPPORTED, "stream");
            assertRefused(() -> pool.streams().write(pool.offset(slot), Memory.of(host), new Stream(stream)),
                    Kind.UNSUPPORTED, "pin");
            seen.fill((byte) 0);
            try (CudaDevices.Pin pin = devices.pin(host)) {
                pool.streams().write(pool.offset(slot), Memory.of(host), new Stream(stream)).await();
                assertEquals(-1, seen.mismatch(host), pin::toString);
            }
            long destroyed = NativeRuntime.INSTANCE.createStream(0);
            NativeRuntime.INSTANCE.destroyStream(destroyed);
            assertRefused(() -> pool.streams().mark(new Stream(destroyed)), Kind.CONFIG_ERROR, "stream");
            pool.release(slot);
        }
    }

    @Test
    void shouldEndWithTheDevice() {
        try (VramPool pool = pool(NativeRuntime.INSTANCE)) {
            Work work = pool.streams().mark(new Stream(stream));
            EmulatedCuda.failCall(0, 719);
            assertTrue(work.hasEnded());
            assertEquals(Kind.DEVICE_LOST, assertThrows(MooncakeException.class, work::await).kind());
            assertEquals(Kind.DEVICE_LOST, assertThrows(MooncakeException.class,
                    () -> pool.streams().mark(new Stream(stream))).kind());
        }
        EmulatedCuda.reset(2);
    }

    private static void assertRefused(Runnable call, Kind kind, String word) {
        MooncakeException e = assertThrows(MooncakeException.class, call::run);
        assertEquals(kind, e.kind(), e::getMessage);
        assertTrue(e.getMessage().contains(word), e::getMessage);
    }
}
