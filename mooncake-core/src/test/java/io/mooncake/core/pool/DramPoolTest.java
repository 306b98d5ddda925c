package io.mooncake.core.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.Tier;
import io.mooncake.testing.BlockPoolContract;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class DramPoolTest extends BlockPoolContract {
    @TempDir
    Path directory = Path.of("");

    @Override
    protected BlockPool open() {
        return new DramPool("test", List.of(new SizeClass(4096, 2), new SizeClass(100, 4)), MemorySource.anonymous());
    }

    @Test
    void shouldUnmapOnlyWhenClosed() {
        DramPool pool = new DramPool("test", List.of(new SizeClass(64, 1)), MemorySource.anonymous());
        MemorySegment bytes = ((HostMemory) pool.memory()).segment();
        assertEquals(0, bytes.address() % 4096);
        assertEquals(Tier.DRAM, pool.tier());
        assertEquals(-1, pool.device());
        assertTrue(bytes.scope().isAlive());
        pool.close();
        assertFalse(bytes.scope().isAlive());
    }

    @Test
    void shouldRefuseSumsThatOverflow() {
        for (List<SizeClass> bad : List.of(List.<SizeClass>of(), List.of(new SizeClass(1L << 62, 2)),
                List.of(new SizeClass(Long.MAX_VALUE, 1)),
                List.of(new SizeClass(1L << 62, 1), new SizeClass(1L << 62, 1)),
                List.of(new SizeClass(1, Integer.MAX_VALUE), new SizeClass(2, 1)))) {
            MooncakeException e = assertThrows(MooncakeException.class,
                    () -> new DramPool("test", bad, MemorySource.anonymous()));
            assertEquals(Kind.CONFIG_ERROR, e.kind(), e::getMessage);
        }
        assertEquals(Kind.CONFIG_ERROR, assertThrows(MooncakeException.class, () -> new SizeClass(0, 1)).kind());
        assertEquals(Kind.CONFIG_ERROR, assertThrows(MooncakeException.class, () -> new SizeClass(1, 0)).kind());
    }

    @Test
    void shouldGiveBackTheFirstReservationWhenTheSecondFails() {
        List<MemorySegment> reserved = new ArrayList<>();
        MemorySource once = (bytes, alignment, arena) -> {
            if (!reserved.isEmpty()) {
                throw new MooncakeException(Kind.OUT_OF_MEMORY, "no more");
            }
            reserved.add(arena.allocate(bytes, alignment));
            return reserved.getFirst();
        };
        assertThrows(MooncakeException.class, () -> new DramPool("test", List.of(new SizeClass(64, 1)), once));
        assertFalse(reserved.getFirst().scope().isAlive());
    }

    @Test
    void shouldReachBeyondTwoGiBByLongOffsets() throws IOException {
        Path file = Files.createTempFile(directory, "sparse", ".bin");
        MemorySource sparse = (bytes, alignment, arena) -> bytes > 1 << 20
                ? map(file, bytes, arena)
                : arena.allocate(bytes, alignment);
        try (DramPool pool = new DramPool("test", List.of(new SizeClass((3L << 30) + 1, 3)), sparse)) {
            assertEquals(2 * ((3L << 30) + 64), pool.offset(2));
            assertEquals((3L << 30) + 1, pool.slotBytes(2));
            assertEquals(3 * ((3L << 30) + 64), pool.memory().length());
            pool.release(pool.reserve((3L << 30) + 1));
        }
    }

    private static MemorySegment map(Path file, long bytes, Arena arena) {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes, arena);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void shouldSayHowMuchItCouldNotReserve() {
        MooncakeException e = assertThrows(MooncakeException.class,
                () -> new DramPool("test", List.of(new SizeClass(1L << 55, 1)), MemorySource.anonymous()));
        assertEquals(Kind.OUT_OF_MEMORY, e.kind());
        assertTrue(String.valueOf(e.getMessage()).contains(String.valueOf(1L << 55)), e::getMessage);
    }
}
