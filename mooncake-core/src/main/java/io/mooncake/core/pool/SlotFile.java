package io.mooncake.core.pool;

import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One file of a fixed length, all of it there from the start, past the page cache where its file system lets it: then offsets, lengths and
 * addresses are multiples of {@link #alignment()}. Any thread; blocks while the device works. Not for threads that somebody interrupts: that
 * would close the file.
 */
final class SlotFile implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SlotFile.class);
    private static final int FILL_BYTES = 4 << 20;
    private static final int LEAST_ALIGNMENT = 4096;
    private static final @Nullable OpenOption DIRECT = DirectIo.option();

    private final Path path;
    private final FileChannel channel;
    private final boolean direct;
    private final int alignment;

    private SlotFile(Path path, FileChannel channel, boolean direct, int alignment) {
        this.path = path;
        this.channel = channel;
        this.direct = direct;
        this.alignment = alignment;
    }

    /**
     * Opens or makes a file, and gives it its length.
     *
     * @param path the file
     * @param length bytes, a multiple of 4096
     * @param wantDirect whether to go past the page cache if that can be
     * @throws MooncakeException CONFIG_ERROR with path and reason
     */
    static SlotFile open(Path path, long length, boolean wantDirect) {
        SlotFile file = null;
        try {
            long missing = length - (Files.exists(path) ? Files.size(path) : 0);
            long usable = Files.getFileStore(path.toAbsolutePath().getParent()).getUsableSpace();
            if (missing > usable) {
                throw new IOException("no space left, " + ByteSize.rounded((double) usable) + " are free");
            }
            // Slots and units begin at multiples of the least alignment, so where the device wants more it goes by the page cache.
            int alignment = Math.max(LEAST_ALIGNMENT,
                    Math.toIntExact(Files.getFileStore(path.toAbsolutePath().getParent()).getBlockSize()));
            file = wantDirect && DIRECT != null && alignment == LEAST_ALIGNMENT ? openDirect(path, alignment) : null;
            if (file == null) {
                file = new SlotFile(path, FileChannel.open(path, options(false)), false, 1);
            }
            file.giveLength(length);
            return file;
        } catch (IOException e) {
            if (file != null) {
                file.close();
            }
            throw new MooncakeException(Kind.CONFIG_ERROR, "cannot make " + path + " of "
                    + ByteSize.rounded((double) length) + ": " + e.getMessage()
                    + "; make room or the tier smaller, or name another directory", e);
        }
    }

    /** Null where the file system has no direct I/O, which some say only when it is tried. */
    private static @Nullable SlotFile openDirect(Path path, int alignment) {
        FileChannel channel = null;
        try (Arena arena = Arena.ofConfined()) {
            channel = FileChannel.open(path, options(true));
            ByteBuffer probe = arena.allocate(alignment, alignment).asByteBuffer();
            if (channel.read(probe, 0) < 0) {
                probe.clear();
                channel.write(probe, 0);
            }
            return new SlotFile(path, channel, true, alignment);
        } catch (IOException | UnsupportedOperationException e) {
            LOG.warn("{} goes through the page cache, its file system has no direct I/O: {}", path, e.getMessage());
            closeQuietly(channel);
            return null;
        }
    }

    private static Set<OpenOption> options(boolean direct) {
        Set<OpenOption> options = new HashSet<>(
                Set.of(StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE));
        if (direct && DIRECT != null) {
            options.add(DIRECT);
        }
        return options;
    }

    /** Cut where it is longer; filled with zeros where it is shorter, so that the room is really there. */
    private void giveLength(long length) throws IOException {
        long size = channel.size();
        if (size > length) {
            channel.truncate(length);
        }
        long from = Math.min(size, length) / alignment * alignment;
        if (from < length) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment zeros = arena.allocate(Math.min(FILL_BYTES, length - from), LEAST_ALIGNMENT);
                if (from < size) {
                    // The last piece of what was cut off in the middle: keeps what is left of it.
                    readSome(from, zeros.asSlice(0, Math.min(alignment, zeros.byteSize())));
                    write(from, zeros.asSlice(0, Math.min(alignment, zeros.byteSize())));
                    from += alignment;
                    zeros.fill((byte) 0);
                }
                for (long at = from; at < length;) {
                    long bytes = Math.min(zeros.byteSize(), length - at);
                    write(at, zeros.asSlice(0, bytes));
                    at += bytes;
                }
            }
            sync();
        }
    }

    private void readSome(long offset, MemorySegment into) throws IOException {
        ByteBuffer buffer = into.asByteBuffer();
        channel.read(buffer, offset);
    }

    Path path() {
        return path;
    }

    boolean isDirect() {
        return direct;
    }

    int alignment() {
        return alignment;
    }

    void read(long offset, MemorySegment into) throws IOException {
        ByteBuffer buffer = into.asByteBuffer();
        while (buffer.hasRemaining()) {
            int read = channel.read(buffer, offset + buffer.position());
            if (read < 0) {
                throw new EOFException(path + " ends at " + (offset + buffer.position()) + ": it was cut");
            }
        }
    }

    void write(long offset, MemorySegment from) throws IOException {
        ByteBuffer buffer = from.asByteBuffer();
        while (buffer.hasRemaining()) {
            channel.write(buffer, offset + buffer.position());
        }
    }

    /** What was written is on the device. */
    void sync() throws IOException {
        channel.force(false);
    }

    @Override
    public void close() {
        closeQuietly(channel);
    }

    private static void closeQuietly(@Nullable FileChannel channel) {
        if (channel != null) {
            try {
                channel.close();
            } catch (IOException e) {
                LOG.debug("closing a slot file", e);
            }
        }
    }

    @Override
    public String toString() {
        return path + (direct ? " by direct I/O" : " through the page cache");
    }
}
