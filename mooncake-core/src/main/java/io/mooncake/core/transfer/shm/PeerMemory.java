package io.mooncake.core.transfer.shm;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.SharedBlock;
import io.mooncake.core.transfer.UnitChecksums;
import io.mooncake.core.transfer.copy.CopyPoller;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One peer's pool, mapped read-only, and this process's table of pins there. Reads and views retain it; it is unmapped when it was
 * closed and the last of them has ended, by whoever ends it.
 */
final class PeerMemory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PeerMemory.class);
    private static final VarHandle GUARD = ValueLayout.JAVA_LONG.varHandle();
    private static final VarHandle BLOCKS = MethodHandles.arrayElementVarHandle(Block[].class);
    private static final long CLOSED = 1L << 62;
    private static final VarHandle USES;

    static {
        try {
            USES = MethodHandles.lookup().findVarHandle(PeerMemory.class, "uses", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final NodeId owner;
    private final Path directory;
    private final Header header;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment page;
    private final MemorySegment data;
    private final MemorySegment guards;
    private final @Nullable UnitChecksums checksums;
    private final @Nullable Block[] blocks;

    private @Nullable LockedFile pinsFile;
    private volatile @Nullable PinTable pins;

    @SuppressWarnings("unused") // by USES
    private volatile long uses;

    private PeerMemory(NodeId owner, Path directory, FileChannel file, String nonce) throws IOException {
        this.owner = owner;
        this.directory = directory;
        boolean mapped = false;
        try {
            page = file.map(MapMode.READ_ONLY, 0, Header.BYTES, arena);
            header = checked(page, file.size(), owner, nonce);
            data = file.map(MapMode.READ_ONLY, header.dataOffset(), header.dataLength(), arena);
            guards = file.map(MapMode.READ_ONLY, header.guardOffset(), header.guardLength(), arena);
            checksums = header.sumsLength() == 0
                    ? null
                    : new UnitChecksums(file.map(MapMode.READ_ONLY, header.sumsOffset(), header.sumsLength(), arena),
                            header.slots());
            mapped = true;
        } finally {
            if (!mapped) {
                arena.close();
            }
        }
        blocks = new @Nullable Block[header.slots()];
    }

    /**
     * Maps a peer's pool.
     *
     * @param address what it advertises
     * @throws IOException with the reason, when this process cannot open it or it is not that peer's, in that life
     */
    static PeerMemory open(NodeId owner, String address) throws IOException {
        int mark = address.lastIndexOf('#');
        if (mark < 0) {
            throw new IOException("address '" + address + "' is not directory#nonce");
        }
        Path directory = Path.of(address.substring(0, mark));
        Path path = directory.resolve(SharedDirectory.poolName(owner) + ".pool");
        if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
            // Opening says why, without waiting as it would for a pipe.
            Files.readAttributes(path, "size", LinkOption.NOFOLLOW_LINKS);
            throw new IOException(path + " is no regular file");
        }
        try (FileChannel file = LockedFile.open(path, false)) {
            if (file.size() < Header.BYTES) {
                throw new IOException(path + ": is too short to be a pool");
            }
            if (!LockedFile.isAlive(directory, SharedDirectory.poolName(owner))) {
                throw new IOException(path + ": is what a process left that has ended");
            }
            return new PeerMemory(owner, directory, file, address.substring(mark + 1));
        } catch (NotThatPool e) {
            throw new IOException(path + ": " + e.getMessage(), e);
        }
    }

    private static Header checked(MemorySegment page, long fileBytes, NodeId owner, String nonce) throws NotThatPool {
        Header header = Header.read(page);
        if (header == null) {
            throw new NotThatPool("is no pool of this version");
        }
        if (header.incarnation() != owner.incarnation() || !header.nonce().equals(nonce)) {
            throw new NotThatPool("is not the one that node " + owner
                    + " advertises: another incarnation or nonce is in it");
        }
        if (!header.fits(fileBytes)) {
            throw new NotThatPool("is shorter than its header says, or its header names no slots and guards");
        }
        return header;
    }

    /** What is wrong with a file, without its name. */
    private static final class NotThatPool extends IOException {
        private static final long serialVersionUID = 1L;

        NotThatPool(String message) {
            super(message);
        }
    }

    int region() {
        return header.region();
    }

    /** Null when the range and the guard are inside. */
    @Nullable
    String objection(GuardedRead read) {
        if (!Bounds.contains(read.offset(), read.length(), header.dataLength())) {
            return "offset " + read.offset() + " + " + read.length() + " > length " + header.dataLength()
                    + " (or negative)";
        }
        return isGuard(read.guardOffset())
                ? null
                : "guard offset " + read.guardOffset() + " is none of the " + header.slots()
                        + " guards; the region is read only together with a guard";
    }

    private boolean isGuard(long guardOffset) {
        return guardOffset % Header.GUARD_STRIDE == 0
                && Bounds.contains(guardOffset, Header.GUARD_STRIDE, header.guardLength());
    }

    /** Copies a chunk of a checked read, compares its sums, then looks at the guard, which covers both. The caller retains this. */
    ReadStatus copy(GuardedRead read, long length) {
        CopyPoller.copy(read, data, length);
        UnitChecksums sums = checksums;
        boolean undamaged = sums == null || CopyPoller.isUndamaged(read, length, sums);
        VarHandle.loadLoadFence();
        if ((long) GUARD.getAcquire(guards, read.guardOffset()) != read.expected()) {
            return ReadStatus.STALE;
        }
        return undamaged ? ReadStatus.OK : ReadStatus.CHECKSUM;
    }

    // ---- views

    boolean hasPinTable() {
        return pins != null;
    }

    /** The poller: makes the table, which the owner then acknowledges. */
    void beginPins(NodeId reader) throws IOException {
        String name = SharedDirectory.pinsName(owner, reader);
        LockedFile made = LockedFile.create(directory, name, ".pins", PinTable.bytes(blocks.length));
        try (FileChannel file = LockedFile.open(made.data(), true)) {
            PinTable table = PinTable.begin(file, blocks.length, owner.incarnation(), reader.incarnation(), arena);
            pinsFile = made;
            pins = table;
        } catch (IOException | RuntimeException e) {
            made.close();
            throw e;
        }
    }

    /** Pins what a guard guards; null when it has another value, or views cannot be taken (yet). */
    @Nullable
    SharedBlock pin(long guardOffset, long expected, long offset, long length) {
        PinTable table = pins;
        if (table == null || !isGuard(guardOffset) || !Bounds.contains(offset, length, header.dataLength())
                || !retain()) {
            return null;
        }
        // Retained before the first look into what may be unmapped.
        if (!table.isAcknowledged()) {
            release();
            return null;
        }
        int slot = (int) (guardOffset / Header.GUARD_STRIDE);
        table.pin(slot);
        if ((long) GUARD.getVolatile(guards, guardOffset) != expected || !Header.isOpen(page)) {
            table.unpin(slot);
            release();
            return null;
        }
        Block block = (Block) BLOCKS.getAcquire(blocks, slot);
        if (block == null || block.guard != expected || block.offset != offset || block.length != length) {
            block = new Block(this, table, slot, expected, offset, length);
            BLOCKS.setRelease(blocks, slot, block);
        }
        return block;
    }

    /** A block that can be pinned again and again while it is in its slot. */
    private static final class Block implements SharedBlock {
        private final PeerMemory memory;
        private final PinTable table;
        private final int slot;
        private final long guard;
        private final long offset;
        private final long length;
        private final MemorySegment bytes;

        Block(PeerMemory memory, PinTable table, int slot, long guard, long offset, long length) {
            this.memory = memory;
            this.table = table;
            this.slot = slot;
            this.guard = guard;
            this.offset = offset;
            this.length = length;
            bytes = memory.data.asSlice(offset, length);
        }

        @Override
        public MemorySegment segment() {
            return bytes;
        }

        @Override
        public void unpin() {
            table.unpin(slot);
            memory.release();
        }
    }

    // ---- life

    /** Whether the owner lives and has not closed; a system call. */
    boolean isOwnerAlive() {
        return isOpen() && LockedFile.isAlive(directory, SharedDirectory.poolName(owner));
    }

    /** Whether the owner has not said that it closes. */
    boolean isOpen() {
        return Header.isOpen(page);
    }

    /** False when it was closed. */
    boolean retain() {
        long now;
        do {
            now = (long) USES.getVolatile(this);
            if ((now & CLOSED) != 0) {
                return false;
            }
        } while (!USES.compareAndSet(this, now, now + 1));
        return true;
    }

    void release() {
        if ((long) USES.getAndAdd(this, -1L) == CLOSED + 1) {
            unmap();
        }
    }

    /** No new use begins; with the last one it is unmapped. The second time does nothing. */
    @Override
    public void close() {
        if ((long) USES.getAndBitwiseOr(this, CLOSED) == 0) {
            unmap();
        }
    }

    private void unmap() {
        arena.close();
        LockedFile made = pinsFile;
        if (made != null) {
            try {
                made.close();
            } catch (IOException e) {
                LOG.warn("{} was not removed; the next start in that directory does it", made.data(), e);
            }
        }
    }

    @Override
    public String toString() {
        return "shared memory of node " + owner;
    }
}
