package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.Placement;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.FreeRanges;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Nodes whose blocks are on a device, in host memory and in a file: the tiers of the core, over the runtime. */
@Tag("gpu")
@Timeout(120)
class CudaTiersTest {
    private static final int BLOCK = 1 << 20;
    private static final int DEVICE_SLOTS = 6;
    private static final int HOST_SLOTS = 8;
    private static final TransferOptions DEFAULT = TransferOptions.DEFAULT;

    @TempDir
    @SuppressWarnings("NullAway.Init") // by JUnit
    Path directory;

    private final LocalRegistry registry = new LocalRegistry();
    private final Arena arena = Arena.ofShared();

    @BeforeEach
    void install() {
        EmulatedCuda.resetWhereEmulated(2);
    }

    @AfterEach
    void free() {
        arena.close();
    }

    private Node start(String name, ThreadingMode threading) throws IOException {
        return start(name, threading,
                (devices, device) -> devices.pool(device, List.of(new SizeClass(BLOCK, DEVICE_SLOTS))));
    }

    private Node start(String name, ThreadingMode threading, BiFunction<CudaDevices, Integer, VramPool> pool)
            throws IOException {
        CudaDevices devices = CudaDevices.open(CudaConfig.defaults().withChunks(256 << 10, 4).withPeerProbe(false));
        int device = name.equals("a") ? 0 : devices.count() - 1;
        Path own = Files.createDirectories(directory.resolve(name));
        return Node.start(NodeConfig.builder(name)
                .registry(registry)
                .threading(threading)
                .blockSize(BLOCK)
                .poolSize((long) HOST_SLOTS * BLOCK)
                .evictionPolicy("lru")
                .fileTier(own, 65L * BLOCK)
                .vram(() -> pool.apply(devices, device))
                .addEngine(context -> devices.engine(context, device))
                .build());
    }

    private static BlockId id(int number) {
        return BlockId.of("block " + number);
    }

    private static long word(int number, long at) {
        return number * 0x9E3779B97F4A7C15L + at;
    }

    private void write(Node node, int number, Placement placement) {
        write(node, number, BLOCK, placement);
    }

    private void write(Node node, int number, long length, Placement placement) {
        MemorySegment bytes = arena.allocate(length, 64);
        for (long at = 0; at < length; at += Long.BYTES) {
            bytes.set(ValueLayout.JAVA_LONG, at, word(number, at));
        }
        try (BlockWriter writer = node.store().allocate(id(number), length, placement)) {
            writer.write(0, Memory.of(bytes));
            writer.commit();
        }
    }

    private void assertReadable(Node node, int number) {
        assertReadable(node, number, BLOCK);
    }

    private void assertReadable(Node node, int number, long length) {
        MemorySegment bytes = arena.allocate(BLOCK, 64);
        Region region = node.register(Memory.of(bytes), Access.LOCAL_ONLY);
        assertEquals(Outcome.OK, node.store().read(id(number), 0, Piece.WHOLE, region, 0));
        region.close();
        for (long at = 0; at < length; at += Long.BYTES) {
            assertEquals(word(number, at), bytes.get(ValueLayout.JAVA_LONG, at), "block " + number + " at " + at);
        }
    }

    private static void assertOnDevice(Node node, int number, int device) {
        try (BlockView view = node.store().newView()) {
            assertTrue(node.store().acquire(id(number), view));
            assertEquals(Tier.VRAM, view.tier());
            assertEquals(device, view.device());
            assertThrows(MooncakeException.class, view::segment);
        }
    }

    private static void assertOk(Transfer transfer) {
        transfer.join();
        for (int i = 0; i < transfer.pieces(); i++) {
            assertEquals(Outcome.OK, transfer.outcome(i), "piece " + i + ": " + transfer.cause(i));
        }
    }

    private static void announced(Node node) {
        assertTrue(node.store().awaitAnnounced(Duration.ofSeconds(30)));
    }

    @ParameterizedTest
    @EnumSource(ThreadingMode.class)
    void shouldBringDownWhatHasNoRoomAndUpAgainWhatIsWanted(ThreadingMode threading) throws IOException {
        try (Node a = start("a", threading)) {
            for (int i = 0; i < 30; i++) {
                write(a, i, Placement.VRAM);
            }
            announced(a);
            assertTrue(a.usage(Tier.VRAM).used() > 0 && a.usage(Tier.SLOW).used() > 10, a.store().describe());
            for (int i = 0; i < 30; i++) {
                assertReadable(a, i);
            }
            assertOk(a.mover().promote(List.of(id(0), id(1), id(2)), Tier.VRAM, DEFAULT));
            for (int i = 0; i < 3; i++) {
                assertOnDevice(a, i, 0);
                assertReadable(a, i);
            }
            assertOk(a.mover().demote(List.of(id(1)), Tier.DRAM, DEFAULT));
            assertReadable(a, 1);
            assertEquals(0, a.counters().get(Counter.DEMOTIONS_FAILED));
        }
    }

    /** Another device gets the address only where it reads the memory of the first one in place. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldGiveTheAddressToADeviceThatReachesIt(boolean reached) throws IOException {
        EmulatedCuda.reset(2);
        if (!reached) {
            EmulatedCuda.noPeer(0, 1);
        }
        try (Node a = start("a", ThreadingMode.SHARED)) {
            BlockView view = a.store().newView();
            write(a, 1, Placement.VRAM);
            write(a, 2, Placement.DRAM);
            assertTrue(a.store().acquire(id(1), view, 0));
            long address = view.address();
            view.close();
            assertEquals(reached, a.store().acquire(id(1), view, 1));
            assertEquals(reached, view.isOpen());
            if (reached) {
                assertEquals(0, view.device());
                assertEquals(address, view.address());
                assertEquals(word(1, 8),
                        EmulatedCuda.bytes(view.address(), BLOCK).get(ValueLayout.JAVA_LONG, Long.BYTES));
                view.close();
            }
            assertFalse(a.store().acquire(id(2), view, 0), "it is in host memory");
            assertFalse(a.store().acquire(id(1), view, 7));
            assertThrows(MooncakeException.class, () -> a.store().acquire(id(1), view, -1));
        }
    }

    @Test
    void shouldPullWhatIsOnAnothersDeviceOntoItsOwn() throws IOException {
        try (Node a = start("a", ThreadingMode.SHARED); Node b = start("b", ThreadingMode.SHARED)) {
            for (int i = 0; i < 4; i++) {
                write(a, i, Placement.VRAM);
            }
            announced(a);
            assertEquals(Tier.VRAM, b.store().locations(id(0)).getFirst().tier());
            assertReadable(b, 0);
            assertOk(b.mover().promote(List.of(id(0), id(1), id(2), id(3)), Tier.VRAM, DEFAULT));
            int device = CudaDevices.open(CudaConfig.defaults().withPeerProbe(false)).count() - 1;
            for (int i = 0; i < 4; i++) {
                assertOnDevice(b, i, device);
                assertReadable(b, i);
            }
            assertTrue(a.counters().get(Counter.BLOCKS_WANTED) >= 4, a.store()::describe);
        }
    }

    /** Everything above the file is full of blocks that are nowhere else, while as many come up as there is room, and more. */
    @Test
    void shouldLetNoLoadWaitForEverBehindDemotions() throws IOException {
        try (Node a = start("a", ThreadingMode.SHARED)) {
            for (int i = 0; i < 40; i++) {
                write(a, i, i % 3 == 0 ? Placement.DRAM : Placement.VRAM);
            }
            int written = 40;
            for (int round = 0; round < 3; round++) {
                List<Transfer> loads = new ArrayList<>();
                for (int i = 0; i < 2 * DEVICE_SLOTS; i++) {
                    loads.add(a.mover().promote(List.of(id(8 * round + i)), Tier.VRAM, DEFAULT));
                }
                for (int i = 0; i < 6; i++) {
                    write(a, written++, Placement.VRAM);
                }
                loads.forEach(CudaTiersTest::assertOk);
            }
            for (int i = 0; i < written; i++) {
                assertReadable(a, i);
            }
            assertEquals(0, a.counters().get(Counter.DEMOTIONS_FAILED));
        }
    }

    /** By copies inside the device: no byte of it comes to the host meanwhile. */
    @ParameterizedTest
    @EnumSource(ThreadingMode.class)
    void shouldMoveTogetherWhatIsOnADevice(ThreadingMode threading) throws IOException {
        try (Node a = start("a", threading,
                (devices, device) -> devices.poolOfRanges(device, new SizeClass(BLOCK, 64), 8L * BLOCK))) {
            long half = BLOCK / 2;
            for (int i = 0; i < 16; i++) {
                write(a, i, half, Placement.VRAM);
            }
            announced(a);
            a.store().evict(List.of(id(0), id(2), id(4), id(6), id(8), id(10), id(12), id(14)));
            assertEquals(new FreeRanges(4L * BLOCK, 4L * BLOCK, false),
                    a.mover().compact(Tier.VRAM, Duration.ofSeconds(60)));
            assertTrue(a.counters().get(Counter.BLOCKS_COMPACTED) >= 4);
            assertEquals(0, a.counters().get(Counter.BYTES_STAGED));
            for (int i = 16; i < 20; i++) {
                write(a, i, Placement.VRAM);
            }
            for (int i = 1; i < 20; i += i < 16 ? 2 : 1) {
                assertOnDevice(a, i, 0);
            }
            assertEquals(0, a.counters().get(Counter.BLOCKS_DEMOTED));
            for (int i = 1; i < 20; i += i < 16 ? 2 : 1) {
                assertReadable(a, i, i < 16 ? half : BLOCK);
            }
        }
    }
}
