package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.Placement;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.Stream;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.BlockPool.Usage;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.cuda.runtime.NativeRuntime;
import io.mooncake.testing.EngineRig;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A node's blocks on devices, and what kernels and devices do to them. Kernels are memsets behind gates. */
@Timeout(60)
class CudaStoreTest {
    private static final int BLOCK = 1 << 20;
    private static final int SLOTS = 4;
    private static final int CYCLES = 200;
    private static final int ILLEGAL_ADDRESS = 700;

    private final Arena arena = Arena.ofShared();
    private long stream;

    @BeforeEach
    void begin() {
        EmulatedCuda.reset(2);
        NativeRuntime.INSTANCE.setDevice(0);
        stream = NativeRuntime.INSTANCE.createStream(0);
    }

    @AfterEach
    void free() {
        arena.close();
    }

    private static Node start(ThreadingMode threading, int device) {
        CudaDevices devices = CudaDevices.open(CudaConfig.defaults().withPeerProbe(false));
        return Node.start(NodeConfig.builder("a")
                .threading(threading)
                .blockSize(BLOCK)
                .poolSize((long) SLOTS * BLOCK)
                .vram(() -> devices.pool(device, List.of(new SizeClass(BLOCK, SLOTS))))
                .addEngine(context -> devices.engine(context, 0))
                .addEngine(context -> devices.engine(context, 1))
                .build());
    }

    private BlockRef write(Node node, String name, Placement placement, int value) {
        try (BlockWriter writer = node.store().allocate(BlockId.of(name), BLOCK, placement)) {
            writer.write(0, Memory.of(arena.allocate(BLOCK, 64).fill((byte) value)));
            return writer.commit();
        }
    }

    private Outcome read(Node node, String name, int value) {
        MemorySegment bytes = arena.allocate(BLOCK, 64);
        try (Region region = node.register(Memory.of(bytes), Access.LOCAL_ONLY)) {
            Outcome outcome = node.store().read(BlockId.of(name), 0, Piece.WHOLE, region, 0);
            assertTrue(outcome != Outcome.OK || EngineRig.isFilled(bytes, (byte) value));
            return outcome;
        }
    }

    private static void settle(Node node) {
        for (int i = 0; i < CYCLES; i++) {
            node.doWork();
        }
    }

    /** A kernel of the user's reads a block in place, which is evicted meanwhile: its slot is nobody's before the kernel has passed. */
    @Test
    void shouldKeepASlotUntilTheKernelThatReadsItHasPassed() {
        try (Node node = start(ThreadingMode.INVOKER, 0)) {
            BlockRef block = write(node, "block", Placement.VRAM, 1);
            settle(node);
            BlockView view = node.store().newView();
            assertTrue(node.store().acquire(block.id(), view));
            assertEquals(0, view.device());
            assertEquals(BLOCK, view.length());
            assertEquals(block.version(), view.ref().version());
            long kernel = EmulatedCuda.gate(stream);
            view.closeAfter(new Stream(stream));
            assertFalse(view.isOpen());
            node.mover().evict(List.of(block.id()));
            settle(node);
            assertFalse(node.store().acquire(block.id(), view));
            assertEquals(SLOTS - 1, node.usage(Tier.VRAM).free(), "a kernel still reads it");
            EmulatedCuda.open(kernel);
            assertEquals(0, NativeRuntime.INSTANCE.synchronize(stream));
            settle(node);
            assertEquals(new Usage(0, 0, SLOTS), node.usage(Tier.VRAM));
        }
    }

    /** The block is there when its bytes are, not when the call has been made that is going to write them. */
    @Test
    void shouldNotBeThereBeforeTheKernelThatWritesItHasPassed() throws Exception {
        try (Node node = start(ThreadingMode.DEDICATED, 0)) {
            long source = NativeRuntime.INSTANCE.malloc(BLOCK);
            long kernel = EmulatedCuda.gate(stream);
            assertEquals(0, NativeRuntime.INSTANCE.fill(source, 2, BLOCK, stream));
            BlockWriter writer = node.store().allocate(BlockId.of("block"), BLOCK, Placement.VRAM);
            writer.write(0, new Memory.DeviceMemory(0, source, BLOCK), new Stream(stream));
            FutureTask<BlockRef> commit = new FutureTask<>(writer::commit);
            Thread.ofPlatform().daemon().start(commit);
            BlockView view = node.store().newView();
            for (int i = 0; i < CYCLES; i++) {
                assertFalse(node.store().acquire(BlockId.of("block"), view));
                assertFalse(commit.isDone());
            }
            EmulatedCuda.open(kernel);
            assertEquals(Tier.VRAM, commit.get().tier());
            assertEquals(Outcome.OK, read(node, "block", 2));
            NativeRuntime.INSTANCE.free(source);
        }
    }

    /** What was on the device and nowhere else is missed; everything else goes on, and closing waits for nothing. */
    @Test
    void C107_shouldGoOnWithoutALostDevice() {
        try (Node node = start(ThreadingMode.SHARED, 0)) {
            write(node, "on the device", Placement.VRAM, 1);
            write(node, "in memory", Placement.DRAM, 2);
            EmulatedCuda.failCopy(0, ILLEGAL_ADDRESS);
            assertNotEquals(Outcome.OK, read(node, "on the device", 1));
            long calls = EmulatedCuda.statistics().calls();
            assertNotEquals(Outcome.OK, read(node, "on the device", 1));
            assertEquals(Outcome.OK, read(node, "in memory", 2));
            MooncakeException refused = assertThrows(MooncakeException.class,
                    () -> write(node, "another", Placement.VRAM, 3));
            assertTrue(refused.kind() == Kind.OUT_OF_MEMORY || refused.kind() == Kind.DEVICE_LOST, refused::toString);
            write(node, "third", Placement.DRAM, 3);
            assertEquals(Outcome.OK, read(node, "third", 3));
            assertEquals(calls, EmulatedCuda.statistics().calls(), "a lost device is asked nothing");
        }
    }
}
