package io.mooncake.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.mooncake.cuda.runtime.ffi.CudaLibrary;
import io.mooncake.cuda.runtime.ffi.DriverLibrary;
import io.mooncake.testing.CCompiler;
import io.mooncake.testing.ForkedJvm;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;

/**
 * The emulated CUDA runtime of {@code src/test/c}, built once and loaded in place of libcudart, and what tests ask of it beyond CUDA. Every test
 * that touches {@link CudaLibrary} calls {@link #install} first: a process has one runtime.
 *
 * <p>With {@code -Dmooncake.cuda=device} the real runtime is used, and what asks for more than CUDA is skipped.
 */
@SuppressWarnings("restricted")
public final class EmulatedCuda {
    private static final String SOURCES = "src/test/c/";
    private static final boolean REAL = "device".equals(System.getProperty("mooncake.cuda"));
    private static boolean installed;

    private EmulatedCuda() {}

    /** Has the bindings load it. Skips the test where there is no C compiler, or, on a real device, no device. */
    public static synchronized void install() {
        if (REAL) {
            Assumptions.assumeTrue(Cuda.isAvailable(), () -> "a GPU is needed: " + Cuda.unavailabilityCause());
        } else if (!installed) {
            String library = build().toAbsolutePath().toString();
            System.setProperty(CudaLibrary.PATH_PROPERTY, library);
            System.setProperty(DriverLibrary.PATH_PROPERTY, library);
            Throwable failure = CudaLibrary.failure();
            if (failure != null) {
                throw new AssertionError("a test touched CudaLibrary before install()", failure);
            }
            installed = true;
        }
    }

    /** The same as at the first use, with so many devices; skips the test on a real one. */
    public static void reset(int devices) {
        install();
        Assumptions.assumeFalse(REAL, "only the emulated runtime can do this");
        call("emulationReset", devices);
    }

    /** The same, but a real device is left as it is. */
    public static void resetWhereEmulated(int devices) {
        install();
        if (!REAL) {
            call("emulationReset", devices);
        }
    }

    /** Whether it is no emulation. */
    public static boolean isReal() {
        return REAL;
    }

    private static Path build() {
        try {
            Path out = Files.createDirectories(Path.of("target", "emulated-cuda")).resolve("libcudart-emulated.so");
            return CCompiler.compile(Files.readString(Path.of(SOURCES + "devices.c")), out, "-O2", "-Wall", "-Wextra",
                    "-Werror", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread", "-I" + SOURCES,
                    SOURCES + "clock.c", SOURCES + "streams.c", SOURCES + "memory.c", SOURCES + "driver.c");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Runs a main class of the tests in a process of its own, over the same emulation: to its end. */
    static ForkedJvm.Result runProcess(Path folder, Class<?> main, String... arguments)
            throws IOException, InterruptedException {
        List<String> parts = new ArrayList<>(List.of("target/test-classes", "target/classes"));
        for (String property : List.of("jdk.module.path", "java.class.path")) {
            String path = System.getProperty(property);
            if (path != null) {
                parts.add(path);
            }
        }
        List<String> command = new ArrayList<>(List.of("--enable-native-access=ALL-UNNAMED", "-cp",
                String.join(File.pathSeparator, parts),
                "-D" + CudaLibrary.PATH_PROPERTY + "=" + System.getProperty(CudaLibrary.PATH_PROPERTY),
                main.getName()));
        command.addAll(List.of(arguments));
        return ForkedJvm.run(folder, command);
    }

    private static Object invoke(@Nullable MemoryLayout result, String function, Object... arguments) {
        MemoryLayout[] layouts = new MemoryLayout[arguments.length];
        for (int i = 0; i < arguments.length; i++) {
            layouts[i] = switch (arguments[i]) {
                case Integer _ -> JAVA_INT;
                case Long _ -> JAVA_LONG;
                default -> ADDRESS;
            };
        }
        try {
            Object got = Linker.nativeLinker()
                    .downcallHandle(CudaLibrary.lookup().findOrThrow(function), result == null
                            ? FunctionDescriptor.ofVoid(layouts)
                            : FunctionDescriptor.of(result, layouts))
                    .invokeWithArguments(arguments);
            return got == null ? "" : got;
        } catch (Throwable e) {
            throw new AssertionError(function, e);
        }
    }

    private static void call(String function, Object... arguments) {
        invoke(null, function, arguments);
    }

    /** Has every operation take so long; 0 bytes a microsecond = any number. */
    public static void delay(long latencyUs, long bytesPerUs) {
        call("emulationDelay", latencyUs, bytesPerUs);
    }

    /** From now on {@link #delay} is time of a clock that stands still but for {@link #advance}, and for calls that block. */
    public static void virtualTime() {
        call("emulationClock", 1);
    }

    /** When the next operation ends that runs on virtual time, all that are due having ended; Long.MAX_VALUE when none does. */
    public static long nextNs() {
        long next = (long) invoke(JAVA_LONG, "emulationNext");
        return next < 0 ? Long.MAX_VALUE : next;
    }

    /** Turns virtual time on: what is due by then has ended when this returns. */
    public static void advance(long toNs) {
        call("emulationAdvance", toNs);
    }

    /** A device has so much memory. */
    public static void memory(int device, long bytes) {
        call("emulationMemory", device, bytes);
    }

    /** Freeing what a queued copy still uses is that copy's failure. */
    public static void strict() {
        call("emulationStrict", 1);
    }

    /** Two devices can't reach each other. */
    public static void noPeer(int device, int peer) {
        call("emulationNoPeer", device, peer);
        call("emulationNoPeer", peer, device);
    }

    /** After so many copies one fails, for good. */
    public static void failCopy(long after, int error) {
        call("emulationFailCopy", after, error);
    }

    /** After so many calls one fails. */
    public static void failCall(long after, int error) {
        call("emulationFailCall", after, error);
    }

    /** A stream stands still from here on until {@link #open}: a kernel that takes as long as the test likes. */
    public static long gate(long stream) {
        return ((MemorySegment) invoke(ADDRESS, "emulationGate", MemorySegment.ofAddress(stream))).address();
    }

    /** The stream goes on. */
    public static void open(long gate) {
        call("emulationOpen", MemorySegment.ofAddress(gate));
    }

    /** The bytes of device memory, as a network card would reach them. */
    public static MemorySegment bytes(long address, long length) {
        return ((MemorySegment) invoke(ADDRESS, "emulationHostAddress", MemorySegment.ofAddress(address)))
                .reinterpret(length);
    }

    /** Devices give no dma-bufs until the next reset. */
    public static void withoutDmaBufs() {
        call("emulationWithoutDmaBufs", 1);
    }

    /** Kernels see what cards wrote without a flush: 100 = those of the device itself, 200 = all. */
    public static void orderWrites(int scope) {
        call("emulationOrderWrites", scope);
    }

    /** The bytes of a dma-buf as a network card's driver finds them; null when the descriptor is closed, or the range is not in it. */
    public static @Nullable MemorySegment resolve(int fd, long offset, long length) {
        MemorySegment found = (MemorySegment) invoke(ADDRESS, "emulationResolve", fd, offset, length);
        return found.address() == 0 ? null : found.reinterpret(length);
    }

    /** Descriptors of dma-bufs that are open in this process. */
    public static long openDmaBufs() {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.filter(EmulatedCuda::isDmaBuf).count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isDmaBuf(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().contains("emulated-dma-buf");
        } catch (IOException closedMeanwhile) {
            return false;
        }
    }

    /** What was counted since the process began. */
    public static Statistics statistics() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(JAVA_LONG, 8);
            call("emulationStatistics", out);
            return new Statistics(out.getAtIndex(JAVA_LONG, 0), out.getAtIndex(JAVA_LONG, 1),
                    out.getAtIndex(JAVA_LONG, 2), out.getAtIndex(JAVA_LONG, 3), out.getAtIndex(JAVA_LONG, 4),
                    out.getAtIndex(JAVA_LONG, 5), out.getAtIndex(JAVA_LONG, 6), out.getAtIndex(JAVA_LONG, 7));
        }
    }

    /**
     * Counts.
     *
     * @param allocations on devices
     * @param frees on devices
     * @param copies that ran, of any kind
     * @param bytes that they copied
     * @param pageable copies that blocked, since host memory was not pinned
     * @param unsafeFrees of what a queued copy still used
     * @param calls of the runtime
     * @param flushes of what network cards wrote
     */
    public record Statistics(long allocations, long frees, long copies, long bytes, long pageable, long unsafeFrees,
            long calls, long flushes) {}
}
