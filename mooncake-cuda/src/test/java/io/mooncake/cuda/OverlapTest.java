package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.Placement;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Tier;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.cuda.runtime.NativeRuntime;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.VirtualLink;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Blocks go from one node's device to another node, by both nodes' host memory: while one is on the network, the next is copied off the device,
 * and the one before onto the other. Copies and the network are equally fast and take virtual time, the same on every machine.
 */
@Timeout(120)
class OverlapTest {
    private static final int BLOCKS = 12;
    private static final int BLOCK = 1 << 20;
    private static final long BYTES_PER_US = 1000;
    /** What a block takes on each stretch of its way. */
    private static final long STRETCH_NS = BLOCK * 1000L / BYTES_PER_US;
    /** What the issue of the GPU tier asks for. */
    private static final double FASTER = 1.6;
    /** More duty cycles than anything takes that needs no time. */
    private static final int SETTLING_CYCLES = 40;
    private static final TransferOptions PATIENT = TransferOptions.DEFAULT.withTimeout(Duration.ofHours(1));

    @AfterEach
    void reset() {
        EmulatedCuda.reset(1);
    }

    /** To the other node's memory two stretches, onto its device three. */
    @ParameterizedTest
    @EnumSource(names = {"DRAM", "VRAM"})
    void shouldSendABlockWhileTheNextIsCopied(Tier tier) {
        int stretches = tier == Tier.DRAM ? 2 : 3;
        long oneByOneNs;
        try (World world = new World()) {
            long began = world.nowNs.get();
            for (int i = 0; i < BLOCKS; i++) {
                world.bring(List.of(id(i)), tier);
            }
            oneByOneNs = world.nowNs.get() - began;
        }
        long pipelinedNs;
        try (World world = new World()) {
            long began = world.nowNs.get();
            world.bring(IntStream.range(0, BLOCKS).mapToObj(OverlapTest::id).toList(), tier);
            pipelinedNs = world.nowNs.get() - began;
        }
        System.out.printf("%d blocks to %s: %.1f stretches one after the other, %.1f pipelined, %.2f times faster%n",
                BLOCKS, tier, (double) oneByOneNs / STRETCH_NS, (double) pipelinedNs / STRETCH_NS,
                (double) oneByOneNs / pipelinedNs);
        assertTrue(Math.abs(oneByOneNs - BLOCKS * STRETCH_NS * stretches) < STRETCH_NS, "one by one: " + oneByOneNs);
        assertTrue(pipelinedNs * FASTER <= oneByOneNs, pipelinedNs + " ns, one after the other " + oneByOneNs);
    }

    private static BlockId id(int number) {
        return BlockId.of("block " + number);
    }

    /** Two nodes without threads, on one virtual clock with their devices and the link between them. */
    private static final class World implements AutoCloseable {
        final AtomicLong nowNs = new AtomicLong(1);
        private final VirtualLink.Network network = new VirtualLink.Network(1000.0 / BYTES_PER_US);
        private final LocalRegistry registry = new LocalRegistry();
        private final Arena arena = Arena.ofShared();
        private final Node from;
        private final Node to;

        World() {
            EmulatedCuda.reset(2);
            EmulatedCuda.virtualTime();
            from = start("from", 0);
            to = start("to", 1);
            MemorySegment bytes = EngineRig.fillWithPattern(arena.allocate(BLOCK, 4096));
            for (int i = 0; i < BLOCKS; i++) {
                try (BlockWriter writer = from.store().allocate(id(i), BLOCK, Placement.VRAM)) {
                    writer.write(0, Memory.of(bytes));
                    writer.commit();
                }
            }
            settle();
            EmulatedCuda.delay(0, BYTES_PER_US);
        }

        private Node start(String name, int device) {
            CudaDevices devices = new CudaDevices(NativeRuntime.INSTANCE,
                    CudaConfig.defaults().withChunks(256 << 10, 4).withPeerProbe(false));
            return Node.start(NodeConfig.builder(name)
                    .registry(registry)
                    .threading(ThreadingMode.INVOKER)
                    .nanoClock(nowNs::get)
                    .blockSize(BLOCK)
                    .poolSize((BLOCKS + 2L) * BLOCK)
                    .memory(devices.pinned(MemorySource.anonymous()))
                    .vram(() -> devices.pool(device, List.of(new SizeClass(BLOCK, BLOCKS + 2))))
                    .engines(context -> engines(context, devices, device))
                    .build());
        }

        private List<TransferEngine> engines(EngineContext context, CudaDevices devices, int device) {
            return List.of(devices.engine(context, device), network.join(context));
        }

        /** Until all of them are there, and right. */
        void bring(List<BlockId> ids, Tier tier) {
            Transfer transfer = to.store()
                    .prepare(ids.stream().map(id -> Piece.replica(id, tier)).toList(), PATIENT)
                    .submit();
            settle();
            while (!transfer.isDone()) {
                long next = Math.min(network.nextNs(), EmulatedCuda.nextNs());
                assertTrue(next < Long.MAX_VALUE, () -> "nothing is on its way: " + from.store().describe());
                nowNs.accumulateAndGet(next, Math::max);
                EmulatedCuda.advance(nowNs.get());
                settle();
            }
            for (int i = 0; i < ids.size(); i++) {
                assertEquals(Outcome.OK, transfer.outcome(i), String.valueOf(transfer.cause(i)));
            }
        }

        /** Both do what they can at this moment. Polling copies is work that never ends: so often is enough. */
        private void settle() {
            for (int i = 0; i < SETTLING_CYCLES; i++) {
                from.doWork();
                to.doWork();
            }
        }

        @Override
        public void close() {
            to.close();
            from.close();
            arena.close();
        }
    }
}
