package io.mooncake.cuda;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.Device;
import io.mooncake.cuda.runtime.DeviceMemory;
import io.mooncake.cuda.runtime.ImportedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The memory of another process's {@link VramPool} on this host, as a device of this process reaches it. Any thread.
 *
 * <p>What it holds proves nothing by itself: a block read from here counts only if its guard, read after it from the owner's guard table, is the one
 * expected. The exporter must keep its pool open until this is closed.
 */
public final class ImportedVram implements AutoCloseable {
    private static final int LENGTH_AT = DeviceMemory.HANDLE_BYTES;
    /** Bytes of {@link VramPool#export}. */
    static final int EXPORT_BYTES = LENGTH_AT + Long.BYTES;

    private final ImportedMemory imported;
    private final Memory.DeviceMemory memory;

    ImportedVram(Device device, byte[] export) {
        if (export.length != EXPORT_BYTES) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, "an exported pool has " + EXPORT_BYTES + " bytes, not "
                    + export.length + ": take what VramPool.export() gave");
        }
        long length = ByteBuffer.wrap(export).order(ByteOrder.LITTLE_ENDIAN).getLong(LENGTH_AT);
        try (Arena arena = Arena.ofConfined()) {
            imported = new ImportedMemory(device,
                    arena.allocateFrom(ValueLayout.JAVA_BYTE, export).asSlice(0, DeviceMemory.HANDLE_BYTES));
        } catch (CudaException e) {
            throw e.asMooncake();
        }
        memory = new Memory.DeviceMemory(device.number(), imported.address(), length);
    }

    static byte[] export(DeviceMemory reservation, long length) {
        byte[] export = new byte[EXPORT_BYTES];
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(DeviceMemory.HANDLE_BYTES, Long.BYTES);
            reservation.exportTo(handle);
            MemorySegment.copy(handle, ValueLayout.JAVA_BYTE, 0, export, 0, DeviceMemory.HANDLE_BYTES);
        } catch (CudaException e) {
            throw e.asMooncake();
        }
        ByteBuffer.wrap(export).order(ByteOrder.LITTLE_ENDIAN).putLong(LENGTH_AT, length);
        return export;
    }

    /**
     * The whole pool: a block stands at the offset that its reference names.
     *
     * @return memory of this process's device, to be registered as a region or to be given to kernels
     */
    public Memory.DeviceMemory memory() {
        return memory;
    }

    /** Closes it; nothing may use its memory any more. The second time does nothing. */
    @Override
    public void close() {
        try {
            imported.close();
        } catch (CudaException e) {
            throw e.asMooncake();
        }
    }
}
