package io.mooncake.core.transfer.shm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;

/**
 * A file that lives as long as the process that made it: the data, and beside it a file whose lock says so. Any thread.
 *
 * <p>The lock is not on the data because a process loses its lock of a file when it closes <em>any</em> channel to that file, and nodes of one
 * process open each other's data. For the same reason nobody opens a lock file that this process itself holds; {@link #HELD} knows those.
 */
final class LockedFile implements AutoCloseable {
    private static final String LOCK = ".lock";
    private static final String[] DATA = {".pool", ".pins"};
    private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY = PosixFilePermissions
            .asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    private static final int TRIES = 200;
    private static final long PAUSE_NS = 1_000_000;
    private static final int STEP = 1 << 20;

    /** Lock files of this process. */
    private static final Set<Path> HELD = ConcurrentHashMap.newKeySet();

    private final Path data;
    private final Path lock;
    private final FileChannel locked;

    private LockedFile(Path data, Path lock, FileChannel locked) {
        this.data = data;
        this.lock = lock;
        this.locked = locked;
    }

    /** Makes both files and takes the lock; the data has {@code bytes} zeros, every one of them written. */
    static LockedFile create(Path directory, String name, String suffix, long bytes) throws IOException {
        Path lock = directory.resolve(name + LOCK);
        if (!HELD.add(lock)) {
            throw new FileAlreadyExistsException(lock.toString());
        }
        FileChannel locked = null;
        try {
            locked = take(lock);
            LockedFile file = new LockedFile(directory.resolve(name + suffix), lock, locked);
            try {
                file.writeThrough(bytes);
            } catch (Throwable e) {
                file.close();
                throw e;
            }
            return file;
        } finally {
            if (locked == null) {
                HELD.remove(lock);
            }
        }
    }

    /** Who sweeps may have come between making and locking: then once more. */
    private static FileChannel take(Path lock) throws IOException {
        for (int tries = 0; tries < TRIES; tries++) {
            FileChannel channel;
            try {
                channel = FileChannel.open(lock, options(StandardOpenOption.CREATE_NEW), OWNER_ONLY);
            } catch (FileAlreadyExistsException e) {
                LockSupport.parkNanos(PAUSE_NS);
                continue;
            }
            try {
                if (channel.tryLock() != null && Files.exists(lock, LinkOption.NOFOLLOW_LINKS)) {
                    return channel;
                }
            } catch (IOException | RuntimeException e) {
                channel.close();
                throw e;
            }
            channel.close();
        }
        throw new FileAlreadyExistsException(lock.toString());
    }

    private static Set<OpenOption> options(OpenOption more) {
        return Set.of(StandardOpenOption.READ, StandardOpenOption.WRITE, more);
    }

    /** Writing, unlike mapping, reports a file system that is full. */
    private void writeThrough(long bytes) throws IOException {
        ByteBuffer zeros = ByteBuffer.allocateDirect((int) Math.min(STEP, bytes));
        try (FileChannel channel = FileChannel.open(data, options(StandardOpenOption.CREATE_NEW), OWNER_ONLY)) {
            for (long at = 0; at < bytes;) {
                zeros.position(0).limit((int) Math.min(zeros.capacity(), bytes - at));
                at += channel.write(zeros, at);
            }
        }
    }

    Path data() {
        return data;
    }

    /** To map it; closing the channel does the lock no harm. */
    static FileChannel open(Path data, boolean writable) throws IOException {
        return FileChannel.open(data,
                writable
                        ? options(LinkOption.NOFOLLOW_LINKS)
                        : Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS));
    }

    /** Whether the process that made a file lives. When in doubt it does. */
    static boolean isAlive(Path directory, String name) {
        Path lock = directory.resolve(name + LOCK);
        if (HELD.contains(lock)) {
            return true;
        }
        try (FileChannel channel = open(lock, false);
                FileLock none = channel.tryLock(0, Long.MAX_VALUE, true)) {
            return none == null;
        } catch (NoSuchFileException e) {
            return false;
        } catch (IOException | OverlappingFileLockException e) {
            return true;
        }
    }

    /** Removes the files of processes that died; says how many. */
    static int sweep(Path directory) throws IOException {
        int swept = 0;
        try (DirectoryStream<Path> locks = Files.newDirectoryStream(directory, "*" + LOCK)) {
            for (Path lock : locks) {
                swept += !HELD.contains(lock) && sweepOne(directory, lock) ? 1 : 0;
            }
        }
        return swept;
    }

    private static boolean sweepOne(Path directory, Path lock) {
        try (FileChannel channel = open(lock, true); FileLock taken = channel.tryLock()) {
            if (taken == null) {
                return false;
            }
            String file = String.valueOf(lock.getFileName());
            String name = file.substring(0, file.length() - LOCK.length());
            for (String suffix : DATA) {
                Files.deleteIfExists(directory.resolve(name + suffix));
            }
            // Last, so that no data is left that nobody would find any more.
            return Files.deleteIfExists(lock);
        } catch (IOException | OverlappingFileLockException e) {
            // Another sweeper has it, or it is gone.
            return false;
        }
    }

    /** Closes it because of a failure, to which it adds what goes wrong with that. */
    <E extends Exception> E closeAfter(E failure) {
        try {
            close();
        } catch (IOException e) {
            failure.addSuppressed(e);
        }
        return failure;
    }

    /** Removes both files and gives the lock up. Mappings stay. */
    @Override
    public void close() throws IOException {
        try {
            Files.deleteIfExists(data);
            Files.deleteIfExists(lock);
        } finally {
            locked.close();
            HELD.remove(lock);
        }
    }
}
