package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.testing.EngineRig;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A node with the engine of a device: blocks go from the node's memory straight into an inference engine's pages on the device. */
@Tag("gpu")
@Timeout(60)
class CudaNodeTest {
    private static final long PAGE = 4096;
    private static final int PAGES = 64;

    @BeforeEach
    void install() {
        EmulatedCuda.resetWhereEmulated(2);
    }

    private static Node node(String name, CudaDevices devices, ThreadingMode threading, LocalRegistry registry) {
        return Node.start(NodeConfig.builder(name)
                .registry(registry)
                .threading(threading)
                .blockSize(1 << 20)
                .poolSize(4 << 20)
                .memory(devices.pinned(MemorySource.anonymous()))
                .addEngine(context -> devices.engine(context, 0))
                .build());
    }

    /** What was found of each pair of devices at the start stands in the matrix, and other nodes are told. */
    @Test
    void shouldHaveItsDevicesInTheMatrix() {
        CudaDevices devices = CudaDevices.open(CudaConfig.defaults());
        try (Node node = node("a", devices, ThreadingMode.SHARED, new LocalRegistry())) {
            List<String> measured = devices.links()
                    .stream()
                    .filter(link -> link.from() == 0)
                    .flatMap(link -> link.ways().stream())
                    .map(way -> way.name() + " " + way.bytes() + " " + way.ns())
                    .toList();
            List<String> known = node.matrix()
                    .stream()
                    .filter(pair -> pair.reader().equals(pair.holder()))
                    .flatMap(pair -> pair.figures().stream())
                    .map(figure -> figure.path() + " " + figure.readBytes() + " " + figure.readNs())
                    .toList();
            assertEquals(measured, known);
            // On a machine with one device there is no pair.
            assertEquals(devices.links().isEmpty(), known.isEmpty());
        }
    }

    private static void put(Node node, String id) {
        try (BlockWriter writer = node.store().allocate(BlockId.of(id), PAGES * PAGE)) {
            EngineRig.fillWithPattern(writer.segment());
            writer.commit();
        }
        assertTrue(node.store().awaitAnnounced(Duration.ofSeconds(20)));
    }

    @ParameterizedTest
    @EnumSource(ThreadingMode.class)
    void shouldLoadABlockIntoThePagesOfADevice(ThreadingMode threading) {
        CudaDevices devices = CudaDevices.open(CudaConfig.defaults());
        try (Node node = node("a", devices, threading, new LocalRegistry());
                VramPool cache = devices.pool(0, List.of(new SizeClass(2 * PAGES * PAGE, 1)));
                // As an inference engine tells it of its own cache.
                Region region = node.register(devices.memory(0, cache.memory().address(), cache.memory().length()),
                        Access.LOCAL_ONLY)) {
            put(node, "block");
            int[] pages = new int[PAGES];
            for (int i = 0; i < PAGES; i++) {
                pages[i] = 2 * ((i * 5) % PAGES);
            }
            PageMap map = new PageMap(0, PAGE, PAGE, pages);
            Transfer transfer = node.store()
                    .prepare(List.of(Piece.of(BlockId.of("block"), 0, Piece.WHOLE, Destination.pages(region, map))),
                            TransferOptions.DEFAULT)
                    .submit();
            transfer.join();
            assertEquals(Outcome.OK, transfer.outcome(0), () -> String.valueOf(transfer.cause(0)));
            MemorySegment seen = DeviceBytes.read(devices.device(0), (Memory.DeviceMemory) cache.memory());
            for (int i = 0; i < PAGES; i++) {
                assertTrue(EngineRig.holdsPattern(seen, pages[i] * PAGE, PAGE, i * PAGE), "page " + i);
            }
        }
    }

    /** TCP writes no device memory: it says so, and neither socket nor host code is given the address. */
    @Test
    void C109_shouldRefuseDeviceMemoryWhereOnlyTheHostCanWrite() {
        CudaDevices devices = CudaDevices.open(CudaConfig.defaults());
        LocalRegistry registry = new LocalRegistry();
        try (Node owner = node("owner", devices, ThreadingMode.SHARED, registry);
                Node reader = node("reader", devices, ThreadingMode.SHARED, registry);
                VramPool cache = devices.pool(0, List.of(new SizeClass(PAGES * PAGE, 1)));
                Region region = reader.register(cache.memory(), Access.LOCAL_ONLY)) {
            put(owner, "block");
            Outcome outcome = reader.store().read(BlockId.of("block"), 0, PAGES * PAGE, region, 0);
            assertEquals(Outcome.REFUSED, outcome);

            // By way of the reader's own memory it goes.
            Transfer replica = reader.store()
                    .prepare(List.of(Piece.replica(BlockId.of("block"))),
                            TransferOptions.DEFAULT)
                    .submit();
            replica.join();
            assertEquals(Outcome.OK, replica.outcome(0));
            assertEquals(Outcome.OK, reader.store().read(BlockId.of("block"), 0, PAGES * PAGE, region, 0));
            assertTrue(EngineRig.holdsPattern(
                    DeviceBytes.read(devices.device(0), (Memory.DeviceMemory) cache.memory()), 0, PAGES * PAGE, 0));
        }
    }
}
