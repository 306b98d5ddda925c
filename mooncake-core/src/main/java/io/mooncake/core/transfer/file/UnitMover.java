package io.mooncake.core.transfer.file;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.UnitFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.zip.CRC32C;

/**
 * Moves one unit of a block, with the device: whole units always, so that nothing leaves the file unverified. Any thread, each with a
 * buffer of its own.
 *
 * <p>Bytes go straight between the device and the block's memory where both are aligned, else by way of the buffer.
 */
final class UnitMover {
    private final EngineContext context;
    private final Region region;
    private final UnitFile file;

    UnitMover(EngineContext context, Region region, UnitFile file) {
        this.context = context;
        this.region = region;
        this.file = file;
    }

    /** Bytes of a thread's buffer, aligned as the file wants it. */
    long bufferBytes() {
        return Math.max(GuardSource.UNIT_BYTES, file.alignment());
    }

    // ---- out of the file

    /** Reads a unit under its guard. */
    ReadStatus read(GuardedRead read, long unit, MemorySegment buffer) throws IOException {
        GuardSource guards = context.guards();
        long from = Math.max(read.blockOffset(), unit * GuardSource.UNIT_BYTES);
        long until = Math.min(read.blockOffset() + read.length(), (unit + 1) * GuardSource.UNIT_BYTES);
        long position = from - read.blockOffset();
        long pin = guards.pin(region.id(), read.guardOffset(), read.expected(), read.offset() + position, until - from);
        if (pin < 0) {
            return pin == GuardSource.STALE ? ReadStatus.STALE : ReadStatus.REFUSED;
        }
        try {
            if (until <= from) {
                return guards.guard(pin) == read.expected() ? ReadStatus.OK : ReadStatus.STALE;
            }
            long start = read.offset() - read.blockOffset() + unit * GuardSource.UNIT_BYTES;
            int slot = file.slotAt(start);
            long bytes = file.checksums().unitBytes(slot, start);
            MemorySegment target = target(read, position, until - from, bytes, buffer);
            file.read(start, target);
            long sum = file.checksums().sum(slot, start, bytes);
            if (sum == GuardSource.NO_CHECKSUM || sum != crc(target, bytes)) {
                return ReadStatus.CHECKSUM;
            }
            if (target.address() == buffer.address()) {
                copy(read, position, until - from, buffer, from - unit * GuardSource.UNIT_BYTES);
            }
            return guards.guard(pin) == read.expected() ? ReadStatus.OK : ReadStatus.STALE;
        } finally {
            guards.unpin(pin);
        }
    }

    /** The destination itself, where a whole unit fits into it as the device wants it; else the buffer. */
    private MemorySegment target(GuardedRead read, long position, long wanted, long bytes, MemorySegment buffer) {
        if (wanted == bytes && isAligned(bytes) && read.runAt(position, bytes) == bytes) {
            MemorySegment straight = host(read.destination()).asSlice(read.destinationAt(position), bytes);
            if (isAligned(straight.address())) {
                return straight;
            }
        }
        return buffer.asSlice(0, aligned(bytes));
    }

    private static void copy(GuardedRead read, long position, long length, MemorySegment from, long offset) {
        MemorySegment destination = host(read.destination());
        for (long done = 0; done < length;) {
            long run = read.runAt(position + done, length - done);
            MemorySegment.copy(from, offset + done, destination, read.destinationAt(position + done), run);
            done += run;
        }
    }

    // ---- into the file

    /** Writes a unit of a block in host memory, under its guard. */
    ReadStatus write(GuardedRead read, long unit, MemorySegment buffer) throws IOException {
        GuardSource guards = context.guards();
        Region source = context.regions().readable(read.region());
        if (source == null) {
            return ReadStatus.STALE;
        }
        long from = unit * GuardSource.UNIT_BYTES;
        long bytes = Math.min(GuardSource.UNIT_BYTES, read.length() - from);
        long pin = guards.pin(source.id(), read.guardOffset(), read.expected(), read.offset() + from, bytes);
        if (pin < 0) {
            return pin == GuardSource.STALE ? ReadStatus.STALE : ReadStatus.REFUSED;
        }
        try {
            long start = read.destinationAt(0);
            if (unit == 0) {
                file.beginWrite(start);
            }
            MemorySegment block = host(source).asSlice(read.offset() + from, bytes);
            MemorySegment out = block;
            if (!isAligned(block.address()) || !isAligned(bytes)) {
                out = buffer.asSlice(0, aligned(bytes));
                out.asSlice(bytes).fill((byte) 0);
                MemorySegment.copy(block, 0, out, 0, bytes);
            }
            file.write(start + from, out);
            file.checksums().put(file.slotAt(start), unit, crc(out, bytes));
            return guards.guard(pin) == read.expected() ? ReadStatus.OK : ReadStatus.STALE;
        } finally {
            guards.unpin(pin);
        }
    }

    private static MemorySegment host(Region of) {
        return ((HostMemory) of.memory()).segment();
    }

    private boolean isAligned(long value) {
        return (value & file.alignment() - 1) == 0;
    }

    private long aligned(long bytes) {
        return bytes + file.alignment() - 1 & -file.alignment();
    }

    private static long crc(MemorySegment bytes, long length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.asSlice(0, length).asByteBuffer());
        return crc.getValue();
    }
}
