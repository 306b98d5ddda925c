package io.mooncake.cuda;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.pool.SizeClass;
import io.mooncake.cuda.runtime.NativeRuntime;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.ForkedJvm;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Case C111: a block in the middle of a pool is found there by another process, not at the pool's beginning. */
class C111_ExportedPoolTest {
    private static final long BLOCK_BYTES = 1 << 20;
    private static final int BLOCKS = 64;
    private static final int EXPORTED = 10;

    @Test
    void shouldBeReadAtItsOffsetByAnotherProcess(@TempDir Path folder) throws IOException, InterruptedException {
        EmulatedCuda.reset(2);
        CudaDevices devices = new CudaDevices(NativeRuntime.INSTANCE, CudaConfig.defaults().withPeerProbe(false));
        try (VramPool pool = devices.pool(0, List.of(new SizeClass(BLOCK_BYTES, BLOCKS)))) {
            long base = pool.memory().address();
            EmulatedCuda.bytes(base, BLOCK_BYTES).fill((byte) 1);
            MemorySegment block = EmulatedCuda.bytes(base + pool.offset(EXPORTED), BLOCK_BYTES);
            EngineRig.fillWithPattern(block);
            CRC32C sum = new CRC32C();
            sum.update(block.asByteBuffer());

            assertEquals(Kind.INVALID_ARGUMENT,
                    assertThrows(MooncakeException.class, () -> devices.importPool(0, new byte[64])).kind());
            assertEquals(Kind.CONFIG_ERROR,
                    assertThrows(MooncakeException.class, () -> devices.importPool(0, pool.export())).kind(),
                    "the exporter itself can't open it");
            ForkedJvm.Result reader = EmulatedCuda.runProcess(folder, Reader.class,
                    HexFormat.of().formatHex(pool.export()), String.valueOf(pool.offset(EXPORTED)),
                    String.valueOf(BLOCK_BYTES));
            assertEquals("crc " + sum.getValue(), reader.out().strip(), reader::err);
        }
    }

    /** The other process: says the checksum of a part of an exported pool. */
    static final class Reader {
        private Reader() {}

        /**
         * Reads.
         *
         * @param arguments the export in hexadecimal, an offset, a length
         */
        public static void main(String[] arguments) {
            long offset = Long.parseLong(arguments[1]);
            long length = Long.parseLong(arguments[2]);
            CudaDevices devices = CudaDevices.open(CudaConfig.defaults().withPeerProbe(false));
            try (ImportedVram imported = devices.importPool(1, HexFormat.of().parseHex(arguments[0]))) {
                Memory.DeviceMemory block = imported.memory().part(offset, length);
                CRC32C sum = new CRC32C();
                sum.update(DeviceBytes.read(devices.device(1), block).asByteBuffer());
                System.out.println("crc " + sum.getValue());
            }
        }
    }
}
