package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.Placement;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.CardAccess;
import io.mooncake.core.base.CardAccess.DmaBuf;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.sim.VirtualLink;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.cuda.runtime.NativeRuntime;
import io.mooncake.testing.EngineRig;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Blocks of another node come onto a device: written there by network cards that were told of its dma-buf, seen by its kernels before anybody is told
 * that they are there; by host memory where cards don't get at it.
 */
@Timeout(120)
class CardsWriteDevicesTest {
    private static final int BLOCK = 1 << 20;
    private static final long STEP_NS = 20_000;
    private static final BlockId ID = BlockId.of("block");
    private static final TransferOptions PATIENT = TransferOptions.DEFAULT.withTimeout(Duration.ofHours(1));

    private final AtomicLong nowNs = new AtomicLong(1);
    private final VirtualLink.Network network = new VirtualLink.Network(1);
    private final LocalRegistry registry = new LocalRegistry();
    private final Arena arena = Arena.ofShared();
    /** What cards have registered; and how often they are asked for a device's memory before they refuse. */
    private final Map<DeviceMemory, MemorySegment> registered = new HashMap<>();
    private int refusesAfter = Integer.MAX_VALUE;
    @SuppressWarnings("NullAway.Init")
    private CudaDevices devices;

    @SuppressWarnings("NullAway.Init")
    private Node from;

    @SuppressWarnings("NullAway.Init")
    private Node to;

    private void start() {
        network.reachDevices(this::register);
        from = start("from");
        to = start("to");
        MemorySegment bytes = EngineRig.fillWithPattern(arena.allocate(BLOCK, 4096));
        try (BlockWriter writer = from.store().allocate(ID, BLOCK, Placement.DRAM)) {
            writer.write(0, Memory.of(bytes));
            writer.commit();
        }
        settle();
    }

    private Node start(String name) {
        CudaDevices opened = new CudaDevices(NativeRuntime.INSTANCE, CudaConfig.defaults().withPeerProbe(false));
        devices = opened;
        return Node.start(NodeConfig.builder(name)
                .registry(registry)
                .threading(ThreadingMode.INVOKER)
                .nanoClock(nowNs::get)
                .blockSize(BLOCK)
                .poolSize(4L * BLOCK)
                .memory(opened.pinned(MemorySource.anonymous()))
                .vram(() -> opened.pool(0, List.of(new SizeClass(BLOCK, 4))))
                .engines(context -> engines(context, opened))
                .build());
    }

    private List<TransferEngine> engines(EngineContext context, CudaDevices opened) {
        return List.of(opened.engine(context, 0), network.join(context));
    }

    /** As a card's driver does: the descriptor is needed for that moment only. */
    private @Nullable MemorySegment register(DeviceMemory memory) {
        CardAccess cards = memory.cards();
        if (cards == null || refusesAfter-- <= 0) {
            return null;
        }
        return registered.computeIfAbsent(memory, any -> {
            try (DmaBuf buffer = Objects.requireNonNull(cards.open())) {
                return Objects.requireNonNull(
                        EmulatedCuda.resolve(buffer.fd(), memory.address() - buffer.start(), memory.length()));
            }
        });
    }

    @AfterEach
    void close() {
        to.close();
        from.close();
        arena.close();
        assertEquals(0, EmulatedCuda.openDmaBufs());
        EmulatedCuda.reset(1);
    }

    private void settle() {
        for (int i = 0; i < 100; i++) {
            cycle();
        }
    }

    private void cycle() {
        nowNs.addAndGet(STEP_NS);
        from.doWork();
        to.doWork();
    }

    private void bring(Piece piece) {
        Transfer transfer = to.store().prepare(List.of(piece), PATIENT).submit();
        while (!transfer.isDone()) {
            cycle();
        }
        assertEquals(Outcome.OK, transfer.outcome(0), () -> String.valueOf(transfer.cause(0)));
    }

    private void assertOnDevice() {
        try (BlockView view = to.store().newView()) {
            assertTrue(to.store().acquire(ID, view));
            assertEquals(Tier.VRAM, view.tier());
            assertTrue(EngineRig.holdsPattern(EmulatedCuda.bytes(view.address(), BLOCK), 0, BLOCK, 0));
        }
        assertEquals(BLOCK, to.counters().get(Counter.BYTES_PULLED));
    }

    @Test
    void shouldWriteABlockStraightOntoTheDevice() {
        EmulatedCuda.reset(1);
        start();
        EmulatedCuda.Statistics before = EmulatedCuda.statistics();
        bring(Piece.replica(ID, Tier.VRAM));
        assertOnDevice();
        assertEquals(0, to.counters().get(Counter.BYTES_PROMOTED), "not by host memory");
        assertEquals(before.copies(), EmulatedCuda.statistics().copies());
        assertEquals(before.flushes() + 1, EmulatedCuda.statistics().flushes());
    }

    @Test
    void shouldWriteThePagesOfAnInferenceEngine() {
        EmulatedCuda.reset(1);
        start();
        try (VramPool cache = devices.pool(0, List.of(new SizeClass(4L * BLOCK, 1)))) {
            Region region = to.register(devices.memory(0, cache.memory().address(), 4L * BLOCK), Access.LOCAL_ONLY);
            int[] pages = {3, 1, 0, 2};
            bring(Piece.of(ID, 0, Piece.WHOLE, Destination.pages(region,
                    new PageMap(512, BLOCK / 4, BLOCK / 2, pages))));
            for (int i = 0; i < pages.length; i++) {
                MemorySegment page = EmulatedCuda.bytes(cache.memory().address() + 512 + pages[i] * (BLOCK / 2L),
                        BLOCK / 4);
                assertTrue(EngineRig.holdsPattern(page, 0, BLOCK / 4, i * (BLOCK / 4L)), "page " + i);
            }
            region.close();
        }
    }

    @Test
    void shouldBounceWhereNoCardGetsAtTheDevice() {
        EmulatedCuda.reset(1);
        EmulatedCuda.withoutDmaBufs();
        start();
        bring(Piece.replica(ID, Tier.VRAM));
        assertOnDevice();
        assertEquals(BLOCK, to.counters().get(Counter.BYTES_PROMOTED));
    }

    /** Asked twice what it reaches, while the way is chosen; then the read finds out. */
    @Test
    void shouldBounceWhenACardRefusesAfterAll() {
        EmulatedCuda.reset(1);
        start();
        refusesAfter = 2;
        bring(Piece.replica(ID, Tier.VRAM));
        assertOnDevice();
        assertTrue(refusesAfter < 0);
        assertEquals(BLOCK, to.counters().get(Counter.BYTES_PROMOTED));
    }

    /** What was not flushed must not be told: a flush that fails loses the device, and the piece ends. */
    @Test
    void shouldNotTellOfBytesThatWereNotFlushed() {
        EmulatedCuda.reset(1);
        start();
        Transfer transfer = to.store().prepare(List.of(Piece.replica(ID, Tier.VRAM)), PATIENT).submit();
        to.doWork();
        EmulatedCuda.failCall(0, 719);
        while (!transfer.isDone()) {
            cycle();
        }
        assertEquals(Outcome.REFUSED, transfer.outcome(0), () -> String.valueOf(transfer.cause(0)));
        assertTrue(to.counters().get(Counter.BYTES_PULLED) == 0);
    }
}
