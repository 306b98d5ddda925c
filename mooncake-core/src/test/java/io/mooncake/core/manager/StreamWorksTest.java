package io.mooncake.core.manager;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.Stream;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockState;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.pool.BlockPool;
import io.mooncake.core.pool.BlockPool.Usage;
import io.mooncake.core.pool.DramPool;
import io.mooncake.core.pool.GuardTable;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.core.pool.StreamOrder;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Blocks in a pool that is written and read in the order of streams: nobody else gets a slot while its stream has not come so far. */
final class StreamWorksTest {
    private static final Stream STREAM = new Stream(5);

    private final DramPool memory = new DramPool("vram", List.of(new SizeClass(64, 1)), MemorySource.anonymous());
    private final Device device = new Device();
    private final Fixture fixture = new Fixture(device.pool());

    /** A device that does nothing before it is told to. */
    private final class Device implements StreamOrder {
        private boolean ended;
        private boolean lost;
        private int marks;
        private Runnable beforeEnd = () -> {};

        /** The pool, with streams. */
        BlockPool pool() {
            return (BlockPool) Proxy.newProxyInstance(BlockPool.class.getClassLoader(), new Class<?>[]{BlockPool.class},
                    (proxy, method, arguments) -> method.getName().equals("streams")
                            ? this
                            : method.invoke(memory, arguments));
        }

        @Override
        public void write(long offset, Memory source) {
            MemorySegment.copy(((HostMemory) source).segment(), 0, ((HostMemory) memory.memory()).segment(), offset,
                    source.length());
        }

        @Override
        public Work write(long offset, Memory source, Stream stream) {
            assertEquals(STREAM, stream);
            write(offset, source);
            return new Until();
        }

        @Override
        public Work mark(Stream stream) {
            marks++;
            return new Until();
        }

        private final class Until implements Work {
            @Override
            public boolean hasEnded() {
                return ended;
            }

            @Override
            public void await() {
                beforeEnd.run();
                if (lost) {
                    throw new MooncakeException(Kind.DEVICE_LOST, "device 0 is lost");
                }
            }
        }
    }

    private BlockState state() {
        return GuardTable.state(memory.guards().read(0));
    }

    @Test
    void shouldWriteTheGuardOnlyWhenTheCopiesHaveEnded() {
        try (fixture) {
            BlockWriter writer = fixture.allocate("a", 64);
            writer.write(0, Fixture.filled(7, 64), STREAM);
            boolean[] asked = new boolean[1];
            device.beforeEnd = () -> {
                asked[0] = true;
                assertEquals(BlockState.ALLOCATED, state());
                assertNull(fixture.manager.find(BlockId.of("a")));
            };
            writer.commit();
            assertTrue(asked[0]);
            assertEquals(BlockState.WRITTEN, state());
            assertEquals(7, fixture.read("a"));
        }
    }

    @Test
    void shouldWriteWithoutAStreamAtOnce() {
        try (fixture) {
            fixture.put("a", 9, 64);
            assertEquals(9, fixture.read("a"));
        }
    }

    @Test
    void shouldQuarantineASlotThatWasGivenUpWhileItIsWritten() {
        try (fixture) {
            BlockWriter writer = fixture.allocate("a", 64);
            writer.write(0, Fixture.filled(7, 32), STREAM);
            writer.write(32, Fixture.filled(7, 32), STREAM);
            writer.abort();
            fixture.settle();
            assertEquals(new Usage(0, 1, 0), memory.usage());
            assertEquals(Kind.OUT_OF_MEMORY, Fixture.kindOf(() -> fixture.allocate("b", 64)));
            device.ended = true;
            fixture.settle();
            assertEquals(new Usage(0, 0, 1), memory.usage());
        }
    }

    @Test
    void shouldNotCommitWhatADeviceDidNotWrite() {
        try (fixture) {
            BlockWriter writer = fixture.allocate("a", 64);
            writer.write(0, Fixture.filled(7, 64), STREAM);
            device.lost = true;
            assertEquals(Kind.DEVICE_LOST, Fixture.kindOf(writer::commit));
            assertEquals(BlockWriter.Result.OPEN, writer.result());
            writer.close();
            assertEquals(BlockWriter.Result.ABORTED, writer.result());
            fixture.settle();
            assertEquals(new Usage(0, 0, 1), memory.usage());
        }
    }

    @Test
    void shouldUnpinWhenTheStreamHasComeSoFar() {
        try (fixture) {
            BlockRef ref = fixture.put("a", 7, 64);
            assertTrue(fixture.manager.acquire(ref, fixture.view));
            fixture.view.closeAfter(STREAM);
            assertEquals(1, device.marks);
            assertFalse(fixture.view.isOpen());
            fixture.manager.evict(ref.id());
            fixture.settle();
            assertEquals(new Usage(1, 0, 0), memory.usage(), "a kernel still reads it");
            device.ended = true;
            fixture.settle();
            assertEquals(new Usage(0, 0, 1), memory.usage());
        }
    }
}
