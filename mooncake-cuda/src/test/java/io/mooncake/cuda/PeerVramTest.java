package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Placement;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.cuda.runtime.CudaRuntime;
import io.mooncake.cuda.runtime.NativeRuntime;
import io.mooncake.testing.EngineRig;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A node reads blocks out of another one's device without that one's doing. Both are in one process here, which the runtime does not allow: importing
 * is answered with the exporter's address. {@link PeerVramProcessTest} is the same between two processes, with nothing in between.
 */
@Timeout(120)
class PeerVramTest {
    private static final int BLOCK = 1 << 20;
    private static final int ILLEGAL_ADDRESS = 700;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path folder;

    private final LocalRegistry registry = new LocalRegistry();
    private final Arena arena = Arena.ofShared();
    private final AtomicInteger open = new AtomicInteger();
    /** Done once, before the next copy of any device. */
    private final AtomicReference<Runnable> atCopy = new AtomicReference<>(() -> {});

    @BeforeEach
    void reset() {
        EmulatedCuda.reset(2);
    }

    @AfterEach
    void free() {
        arena.close();
    }

    /** By the handle's bytes, the address that it stands for. */
    private CudaRuntime oneProcess() {
        ConcurrentHashMap<Integer, Long> exported = new ConcurrentHashMap<>();
        return RuntimeProxy.around((call, arguments, real) -> switch (call) {
            case "exportMemory" -> {
                Object result = real.call();
                exported.put(hash((MemorySegment) arguments[1]), (long) arguments[0]);
                yield result;
            }
            case "importMemory" -> {
                open.incrementAndGet();
                yield exported.getOrDefault(hash((MemorySegment) arguments[0]), -201L);
            }
            case "copy" -> {
                atCopy.getAndSet(() -> {}).run();
                yield real.call();
            }
            case "closeImported" -> {
                open.decrementAndGet();
                yield 0;
            }
            default -> real.call();
        });
    }

    private static int hash(MemorySegment handle) {
        return Arrays.hashCode(handle.asSlice(0, 64).toArray(ValueLayout.JAVA_BYTE));
    }

    private Node start(String name, CudaRuntime runtime, int device, boolean shared) {
        CudaDevices devices = new CudaDevices(runtime, CudaConfig.defaults()
                .withChunks(BLOCK, 4)
                .withPeerProbe(false)
                .withSharedDirectory(shared ? folder : null));
        return Node.start(NodeConfig.builder(name)
                .registry(registry)
                .threading(ThreadingMode.SHARED)
                .blockSize(BLOCK)
                .poolSize(8L * BLOCK)
                .memory(devices.pinned(MemorySource.anonymous()))
                .vram(() -> devices.pool(device, List.of(new SizeClass(BLOCK, 8))))
                .addEngine(context -> devices.engine(context, device))
                .build());
    }

    private BlockRef write(Node node, String name, int value) {
        MemorySegment bytes = arena.allocate(BLOCK, 64).fill((byte) value);
        try (BlockWriter writer = node.store().allocate(BlockId.of(name), BLOCK, Placement.VRAM)) {
            writer.write(0, Memory.of(bytes));
            return writer.commit();
        }
    }

    private static void until(BooleanSupplier done) {
        while (!done.getAsBoolean()) {
            assertFalse(Thread.currentThread().isInterrupted(), "not within the test's time");
            Thread.onSpinWait();
        }
    }

    private MemorySegment read(Node node, BlockRef ref) {
        MemorySegment bytes = arena.allocate(BLOCK, 64).fill(EngineRig.FILL);
        try (Region region = node.register(Memory.of(bytes), Access.LOCAL_ONLY)) {
            assertEquals(Outcome.OK, node.store().read(ref, region, 0));
        }
        return bytes;
    }

    @Test
    void shouldReadABlockWhereItIsAndAskItsOwnerForNothing() {
        CudaRuntime runtime = oneProcess();
        try (Node owner = start("owner", runtime, 0, true); Node reader = start("reader", runtime, 1, true)) {
            BlockRef first = write(owner, "first", 1);
            assertEquals(Tier.VRAM, first.tier());
            until(() -> reader.store().explain(first).contains("cuda1 ("));
            assertTrue(EngineRig.isFilled(read(reader, first), (byte) 1));

            BlockRef second = write(owner, "second", 2);
            assertTrue(EngineRig.isFilled(read(reader, second), (byte) 2));
            assertTrue(owner.store().awaitAnnounced(Duration.ofSeconds(30)));
            Transfer up = reader.mover().promote(List.of(second.id()), Tier.VRAM, TransferOptions.DEFAULT);
            up.join();
            assertEquals(Outcome.OK, up.outcome(0), () -> String.valueOf(up.cause(0)));
            assertEquals(0, owner.counters().get(Counter.BLOCKS_WANTED), owner.store()::describe);
            assertEquals(0, owner.usage(Tier.DRAM).used(), owner.store()::describe);
        }
        assertEquals(0, open.get());
    }

    /** The guard is what makes it right: the slot is another block's by now. */
    @Test
    void shouldNotTakeTheBytesOfABlockThatCameAfter() {
        CudaRuntime runtime = oneProcess();
        try (Node owner = start("owner", runtime, 0, true); Node reader = start("reader", runtime, 1, true)) {
            BlockRef gone = write(owner, "gone", 1);
            until(() -> reader.store().explain(gone).contains("cuda1 ("));
            assertEquals(1, owner.mover().evict(List.of(gone.id())));
            until(() -> owner.usage(Tier.VRAM).used() == 0);
            BlockRef next = write(owner, "next", 2);
            MemorySegment bytes = arena.allocate(BLOCK, 64).fill(EngineRig.FILL);
            try (Region region = reader.register(Memory.of(bytes), Access.LOCAL_ONLY)) {
                Outcome outcome = reader.store().read(gone, region, 0);
                assertEquals(Outcome.STALE, outcome);
            }
            assertTrue(EngineRig.isFilled(read(reader, next), (byte) 2));
        }
    }

    /** Nor those of a block that leaves between the first look and the last. */
    @Test
    void shouldNotTakeBytesWhoseGuardHasChangedAfterwards() {
        CudaRuntime runtime = oneProcess();
        try (Node owner = start("owner", runtime, 0, true); Node reader = start("reader", runtime, 1, true)) {
            BlockRef block = write(owner, "block", 1);
            until(() -> reader.store().explain(block).contains("cuda1 ("));
            MemorySegment bytes = arena.allocate(BLOCK, 64).fill(EngineRig.FILL);
            try (Region region = reader.register(Memory.of(bytes), Access.LOCAL_ONLY)) {
                atCopy.set(() -> {
                    owner.mover().evict(List.of(block.id()));
                    until(() -> owner.usage(Tier.VRAM).used() == 0);
                });
                assertEquals(Outcome.STALE, reader.store().read(block, region, 0));
            }
        }
    }

    /** The exporter's memory is there as long as somebody has it open, and nobody has for longer than he must. */
    @Test
    void shouldLetGoOfTheMemoryOfANodeThatCloses() throws Exception {
        CudaRuntime runtime = oneProcess();
        try (Node reader = start("reader", runtime, 1, true)) {
            Node owner = start("owner", runtime, 0, true);
            BlockRef block = write(owner, "block", 1);
            until(() -> reader.store().explain(block).contains("cuda1 ("));
            assertEquals(1, open.get());
            long frees = EmulatedCuda.statistics().frees();
            owner.close();
            assertEquals(0, open.get(), "it was freed while it was open elsewhere");
            assertEquals(frees + 1, EmulatedCuda.statistics().frees());
            assertFalse(reader.store().explain(block).contains("cuda1 ("), reader.store().explain(block));
        }
        try (var left = Files.walk(folder)) {
            assertEquals(0, left.filter(Files::isRegularFile).count());
        }
    }

    /** The reader's device is lost while it copies: the block comes by way of its owner's host memory, as it does from then on. */
    @Test
    void shouldAskTheOwnerWhenTheReadersDeviceIsLost() {
        CudaRuntime runtime = oneProcess();
        try (Node owner = start("owner", runtime, 0, true); Node reader = start("reader", runtime, 1, true)) {
            BlockRef block = write(owner, "block", 5);
            assertTrue(owner.store().awaitAnnounced(Duration.ofSeconds(30)));
            until(() -> reader.store().explain(block).contains("cuda1 ("));
            EmulatedCuda.failCopy(0, ILLEGAL_ADDRESS);
            assertTrue(EngineRig.isFilled(read(reader, block), (byte) 5));
            assertTrue(owner.counters().get(Counter.BLOCKS_WANTED) > 0, owner.store()::describe);
            assertFalse(reader.store().explain(block).contains("cuda1 ("), reader.store().explain(block));
        }
    }

    /** The runtime does not open it, as that of C106: by way of the owner's host memory, and the reason is said. */
    @Test
    void C106_shouldAskTheOwnerWhereTheRuntimeOpensNothing() {
        try (Node owner = start("owner", NativeRuntime.INSTANCE, 0, true);
                Node reader = start("reader", NativeRuntime.INSTANCE, 1, true)) {
            BlockRef block = write(owner, "block", 4);
            assertTrue(owner.store().awaitAnnounced(Duration.ofSeconds(30)));
            assertTrue(EngineRig.isFilled(read(reader, block), (byte) 4));
            assertTrue(owner.counters().get(Counter.BLOCKS_WANTED) > 0, owner.store()::describe);
            until(() -> reader.store().explain(block).contains("cudaIpcOpenMemHandle"));
        }
    }

    /** As before: by way of the owner's host memory. */
    @Test
    void shouldAskTheOwnerWhereItsPoolIsNotShared() {
        CudaRuntime runtime = oneProcess();
        try (Node owner = start("owner", runtime, 0, false); Node reader = start("reader", runtime, 1, true)) {
            BlockRef block = write(owner, "block", 3);
            assertTrue(owner.store().awaitAnnounced(Duration.ofSeconds(30)));
            assertTrue(EngineRig.isFilled(read(reader, block), (byte) 3));
            assertTrue(owner.counters().get(Counter.BLOCKS_WANTED) > 0, owner.store()::describe);
            assertTrue(reader.store().explain(block).contains("by way of that node's memory"),
                    reader.store().explain(block));
            assertEquals(0, open.get());
        }
    }
}
