package io.mooncake.core.transfer.shm;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HexFormat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The guards of a pool whose bytes are not in host memory, for this host's other processes: a file that its owner writes and they map
 * read-only, with a note on how they reach the bytes. Any thread.
 *
 * <pre>
 *   guards-6f..e1.pool        page: magic 8 | state 8 | note length 8 | note      then the guards
 *   guards-6f..e1.lock        locked by the owner as long as it lives
 *   guards-6f..e1@b#2.pins    of a reader: there, and locked beside it, as long as it may use the bytes
 * </pre>
 *
 * <p>Unlike slots in shared memory, which stay mapped whatever their owner does, a device's bytes go when their owner frees them: so it
 * {@linkplain #retire retires} the file, and asks whether it {@linkplain #isRead is read} still, before it does.
 */
public final class SharedGuards implements AutoCloseable {
    static final String SUFFIX = ".pool";
    static final String READER_SUFFIX = ".pins";
    static final char READER_MARK = '@';
    static final long PAGE = 4096;
    static final long STATE_AT = 8;
    static final long NOTE_LENGTH_AT = 16;
    static final long NOTE_AT = 24;
    static final long MAGIC = 0x4d4b475541524453L;
    static final long OPEN = 1;
    static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

    private static final long RETIRED = 2;
    private static final int NAME_BYTES = 8;
    private static final Logger LOG = LoggerFactory.getLogger(SharedGuards.class);

    private final LockedFile file;
    private final Path directory;
    private final String name;
    private final long bytes;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment page;
    private boolean closed;

    private SharedGuards(LockedFile file, Path directory, String name, long bytes, byte[] note) throws IOException {
        this.file = file;
        this.directory = directory;
        this.name = name;
        this.bytes = bytes;
        try (FileChannel channel = LockedFile.open(file.data(), true)) {
            page = channel.map(MapMode.READ_WRITE, 0, PAGE, arena);
        }
        page.set(ValueLayout.JAVA_LONG, STATE_AT, OPEN);
        page.set(ValueLayout.JAVA_LONG, NOTE_LENGTH_AT, note.length);
        MemorySegment.copy(note, 0, page, ValueLayout.JAVA_BYTE, NOTE_AT, note.length);
        WORD.setRelease(page, 0L, MAGIC);
    }

    /**
     * Makes the file.
     *
     * @param parent an existing directory; the user's own one is made in it
     * @param bytes of the guards
     * @param note for readers, at most 4,000 bytes
     * @return guards that are all zero
     * @throws MooncakeException CONFIG_ERROR when there is no room, or the directory cannot be used
     */
    public static SharedGuards create(Path parent, long bytes, byte[] note) {
        SharedDirectory directory = SharedDirectory.open(parent);
        byte[] random = new byte[NAME_BYTES];
        new SecureRandom().nextBytes(random);
        String name = "guards-" + HexFormat.of().formatHex(random);
        LockedFile file = directory.create(name, SUFFIX, Math.addExact(PAGE, bytes));
        file.data().toFile().deleteOnExit();
        try {
            return new SharedGuards(file, directory.path(), name, bytes, note);
        } catch (IOException e) {
            throw file.closeAfter(cannotMap(file.data(), e));
        }
    }

    private static MooncakeException cannotMap(Path path, IOException e) {
        return new MooncakeException(Kind.CONFIG_ERROR,
                path + " cannot be mapped: " + SharedDirectory.reason(e) + ": share no guards", e);
    }

    /**
     * Maps the guards.
     *
     * @param scope how long
     * @return zeros, until somebody writes there
     * @throws MooncakeException CONFIG_ERROR
     */
    public MemorySegment map(Arena scope) {
        try (FileChannel channel = LockedFile.open(file.data(), true)) {
            MemorySegment guards = channel.map(MapMode.READ_WRITE, PAGE, bytes, scope);
            guards.load();
            return guards;
        } catch (IOException e) {
            throw cannotMap(file.data(), e);
        }
    }

    /**
     * Where readers find it.
     *
     * @return for {@link PeerGuards#open}
     */
    public Path path() {
        return file.data();
    }

    /** No reader begins from now on; those there are see it, and end. */
    public void retire() {
        WORD.setVolatile(page, STATE_AT, RETIRED);
    }

    /**
     * Whether a reader that lives may use the bytes. Some system calls.
     *
     * @return true also when the system does not say
     */
    public boolean isRead() {
        try (DirectoryStream<Path> marks = Files.newDirectoryStream(directory,
                name + READER_MARK + "*" + READER_SUFFIX)) {
            for (Path mark : marks) {
                String base = String.valueOf(mark.getFileName());
                if (LockedFile.isAlive(directory, base.substring(0, base.length() - READER_SUFFIX.length()))) {
                    return true;
                }
            }
            return false;
        } catch (IOException e) {
            LOG.warn("cannot look for readers of {}", file.data(), e);
            return true;
        }
    }

    /** Removes the file; what is mapped stays. The second time does nothing. */
    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        retire();
        try {
            file.close();
        } catch (IOException e) {
            LOG.warn("{} was not removed; the next start in that directory does it", file.data(), e);
        }
        arena.close();
    }

    @Override
    public String toString() {
        return "shared guards " + file.data();
    }
}
