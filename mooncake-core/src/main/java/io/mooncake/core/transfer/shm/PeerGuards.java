package io.mooncake.core.transfer.shm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.transfer.GuardSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@link SharedGuards} of another process, mapped read-only, and the mark that says that this one reads there. Any thread; after
 * {@link #close} nothing may be called but that.
 */
public final class PeerGuards implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PeerGuards.class);

    private final Path path;
    private final Path directory;
    private final String name;
    private final LockedFile mark;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment page;
    private final MemorySegment guards;
    private boolean closed;

    private PeerGuards(Path path, Path directory, String name, LockedFile mark) throws IOException {
        this.path = path;
        this.directory = directory;
        this.name = name;
        this.mark = mark;
        boolean whole = false;
        try (FileChannel file = LockedFile.open(path, false)) {
            long bytes = file.size() - SharedGuards.PAGE;
            if (bytes < GuardSource.GUARD_STRIDE) {
                throw new IOException(path + ": is too short to hold guards");
            }
            page = file.map(MapMode.READ_ONLY, 0, SharedGuards.PAGE, arena);
            if ((long) SharedGuards.WORD.getAcquire(page, 0L) != SharedGuards.MAGIC) {
                throw new IOException(path + ": holds no guards of this version");
            }
            // After the mark was made: an owner that retires it later sees that.
            if (!isOpen()) {
                throw new IOException(path + ": its owner is closing");
            }
            guards = file.map(MapMode.READ_ONLY, SharedGuards.PAGE, bytes, arena);
            whole = true;
        } finally {
            if (!whole) {
                arena.close();
            }
        }
    }

    /**
     * Maps them. From now on their owner keeps what they guard until this is closed, or the process ends.
     *
     * @param path where
     * @param reader a name that no other reader of these has
     * @return guards of an owner that lives
     * @throws IOException with the reason
     */
    public static PeerGuards open(Path path, String reader) throws IOException {
        String file = String.valueOf(path.getFileName());
        Path directory = path.getParent();
        if (directory == null || !file.endsWith(SharedGuards.SUFFIX)
                || !Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
            throw new IOException(path + " holds no guards, or no more");
        }
        String name = file.substring(0, file.length() - SharedGuards.SUFFIX.length());
        if (!LockedFile.isAlive(directory, name)) {
            throw new IOException(path + ": is what a process left that has ended");
        }
        LockedFile mark = LockedFile.create(directory, name + SharedGuards.READER_MARK + reader,
                SharedGuards.READER_SUFFIX, 1);
        try {
            return new PeerGuards(path, directory, name, mark);
        } catch (IOException | RuntimeException e) {
            mark.close();
            throw e;
        }
    }

    /**
     * What the owner says of how the bytes are reached.
     *
     * @return a copy
     * @throws IOException when it is no note
     */
    public byte[] note() throws IOException {
        long length = page.get(JAVA_LONG, SharedGuards.NOTE_LENGTH_AT);
        if (!Bounds.contains(SharedGuards.NOTE_AT, length, SharedGuards.PAGE)) {
            throw new IOException(path + ": its note has " + length + " bytes");
        }
        return page.asSlice(SharedGuards.NOTE_AT, length).toArray(JAVA_BYTE);
    }

    /**
     * Whether a guard stands at an offset.
     *
     * @param offset of any value
     * @return whether {@link #read} may be asked
     */
    public boolean isGuard(long offset) {
        return offset % GuardSource.GUARD_STRIDE == 0
                && Bounds.contains(offset, GuardSource.GUARD_STRIDE, guards.byteSize());
    }

    /**
     * Reads a guard. What was loaded before this call, or copied, is not loaded after it.
     *
     * @param offset of a guard
     * @return its value
     */
    public long read(long offset) {
        VarHandle.loadLoadFence();
        return (long) SharedGuards.WORD.getAcquire(guards, offset);
    }

    /**
     * Whether the owner has not said that it closes.
     *
     * @return one look into memory
     */
    public boolean isOpen() {
        return (long) SharedGuards.WORD.getVolatile(page, SharedGuards.STATE_AT) == SharedGuards.OPEN;
    }

    /**
     * Whether the owner's process lives.
     *
     * @return some system calls
     */
    public boolean isOwnerAlive() {
        return LockedFile.isAlive(directory, name);
    }

    /** The owner may free what they guard. The second time does nothing. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        arena.close();
        try {
            mark.close();
        } catch (IOException e) {
            LOG.warn("{} was not removed; the next start in that directory does it", mark.data(), e);
        }
    }

    @Override
    public String toString() {
        return "guards " + path;
    }
}
