package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Placement;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.cuda.CudaRig.Place;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.ForkedJvm;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A process reads a block of another one's device at its place, proven by the guard; the owner frees nothing that is open there. */
@Timeout(180)
class PeerVramProcessTest {
    private static final int BLOCK = 1 << 20;
    private static final int SLOTS = 16;
    private static final String READ = "read";
    private static final long PAUSE_NS = 1_000_000;

    /** How the reader ends. */
    enum End {
        /** When it sees that the owner has closed. */
        WITH_THE_OWNER,
        /** At once, and it tells nobody. */
        SUDDENLY
    }

    @ParameterizedTest
    @EnumSource(End.class)
    void shouldReadInPlaceAndKeepTheMemoryAsLongAsItIsOpen(End end, @TempDir Path folder) throws Exception {
        EmulatedCuda.reset(2);
        Path shared = Files.createDirectory(folder.resolve("shared"));
        CudaDevices devices = CudaDevices
                .open(CudaConfig.defaults().withPeerProbe(false).withSharedDirectory(shared));
        Node owner = Node.start(NodeConfig.builder("owner")
                .blockSize(BLOCK)
                .poolSize(4L * BLOCK)
                .vram(() -> devices.pool(0, List.of(new SizeClass(BLOCK, SLOTS))))
                .addEngine(context -> devices.engine(context, 0))
                .build());
        BlockRef ref;
        try (Arena arena = Arena.ofShared();
                BlockWriter writer = owner.store()
                        .allocate(BlockId.of("block"), BLOCK, Placement.VRAM)) {
            writer.write(0, Memory.of(EngineRig.fillWithPattern(arena.allocate(BLOCK, 64))));
            ref = writer.commit();
        }
        String address = String.valueOf(owner.addresses().get("cuda0"));
        FutureTask<ForkedJvm.Result> reader = new FutureTask<>(
                () -> EmulatedCuda.runProcess(folder, Reader.class, folder.resolve(READ).toString(), end.name(),
                        owner.id().name(), String.valueOf(owner.id().incarnation()), address,
                        String.valueOf(ref.region()), String.valueOf(ref.offset()), String.valueOf(ref.guardOffset()),
                        String.valueOf(ref.guard())));
        Thread.ofPlatform().daemon().start(reader);
        if (end == End.WITH_THE_OWNER) {
            while (!Files.exists(folder.resolve(READ))) {
                assertFalse(reader.isDone(), () -> resultOf(reader).toString());
                LockSupport.parkNanos(PAUSE_NS);
            }
        } else {
            assertEquals(0, reader.get().exit(), () -> resultOf(reader).toString());
            assertEquals(1, marks(shared), "it left its mark");
        }
        assertEquals(0, owner.counters().get(Counter.BLOCKS_WANTED));
        long frees = EmulatedCuda.statistics().frees();
        owner.close();
        assertEquals(frees + 1, EmulatedCuda.statistics().frees());
        if (end == End.WITH_THE_OWNER) {
            assertEquals(0, marks(shared), "the reader was there still when the memory was freed");
            String out = resultOf(reader).out();
            assertTrue(out.contains("the node has closed"), () -> resultOf(reader).toString());
        }
        assertEquals(List.of("right true", "other guard STALE", "behind the end REFUSED", "no guard REFUSED"),
                resultOf(reader).out().lines().limit(4).toList(), () -> resultOf(reader).toString());
    }

    private static ForkedJvm.Result resultOf(FutureTask<ForkedJvm.Result> reader) {
        try {
            return reader.get();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private static long marks(Path folder) throws IOException {
        try (var files = Files.walk(folder)) {
            return files.filter(file -> file.toString().endsWith(".pins")).count();
        }
    }

    /** The other process. */
    static final class Reader {
        private Reader() {}

        /**
         * Reads.
         *
         * @param arguments what to make when it has read, how to end, and where the block is
         */
        public static void main(String[] arguments) throws IOException {
            try (CudaRig rig = new CudaRig(Place.DEVICE_1, Place.HOST)) {
                EngineRig.Side node = rig.side("reader");
                Peer owner = new Peer(new NodeId(arguments[2], Long.parseLong(arguments[3])),
                        Map.of("cuda0", arguments[4]));
                int region = Integer.parseInt(arguments[5]);
                long offset = Long.parseLong(arguments[6]);
                long guardOffset = Long.parseLong(arguments[7]);
                long guard = Long.parseLong(arguments[8]);
                rig.until(() -> node.engine.readsInPlace(owner, region));
                MemorySegment bytes = rig.filled(BLOCK, EngineRig.FILL);
                Region into = node.own(bytes);
                Reading right = read(rig, node, into, asked(owner, region, offset, guardOffset, guard));
                System.out.println("right "
                        + (right.status == ReadStatus.OK && EngineRig.holdsPattern(bytes, 0, BLOCK, 0)));
                System.out.println("other guard "
                        + read(rig, node, into, asked(owner, region, offset, guardOffset, guard + 1)).status);
                System.out.println("behind the end "
                        + read(rig, node, into, asked(owner, region, (long) SLOTS * BLOCK, guardOffset, guard)).status);
                System.out.println("no guard " + read(rig, node, into, asked(owner, region, offset, -1, guard)).status);
                Files.createFile(Path.of(arguments[0]));
                if (arguments[1].equals(End.SUDDENLY.name())) {
                    Runtime.getRuntime().halt(0);
                }
                rig.until(() -> {
                    LockSupport.parkNanos(PAUSE_NS);
                    rig.advance(EngineRig.SECOND_NS);
                    return !node.engine.readsInPlace(owner, region);
                });
                System.out.println(node.engine.route(owner, region).reason());
            }
        }

        private static Reading asked(Peer owner, int region, long offset, long guardOffset, long guard) {
            Reading reading = new Reading();
            reading.read.from(owner, region, offset, BLOCK).guardedBy(guardOffset, guard).by(Long.MAX_VALUE);
            return reading;
        }

        private static Reading read(EngineRig rig, EngineRig.Side node, Region into, Reading reading) {
            reading.read.into(into, 0);
            node.submit(reading);
            rig.until(reading::ended);
            return reading;
        }
    }
}
