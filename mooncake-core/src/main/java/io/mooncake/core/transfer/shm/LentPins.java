package io.mooncake.core.transfer.shm;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.ForeignPins;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The owner's side of its readers' pin tables: finds new ones in the directory, acknowledges them, asks them, and forgets those whose
 * reader died. The engine's poller scans; the conductor asks.
 *
 * <p>The lock keeps a table mapped while it is asked. It is taken only where there are readers, by agents.
 */
final class LentPins implements ForeignPins, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LentPins.class);
    private static final int MAX_READERS = 1024;
    private static final long LIFE_CHECK_NS = 100_000_000;
    private static final String SUFFIX = ".pins";
    /** Further looks after the directory's time has changed: a file that comes within the same tick of the file system's clock changes it no more. */
    private static final int LOOKS = 20;

    /** One reader that lives, or died a moment ago. */
    private static final class Reader implements AutoCloseable {
        final String name;
        final @Nullable PinTable table;
        private final Arena arena = Arena.ofShared();

        Reader(String name, FileChannel file, NodeId owner) throws IOException {
            this.name = name;
            PinTable joined = null;
            try {
                joined = PinTable.join(file, owner.incarnation(), arena);
            } finally {
                if (joined == null) {
                    arena.close();
                }
            }
            table = joined;
        }

        boolean isPinned(long slot) {
            return table != null && table.isPinned(slot);
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    private final NodeId owner;
    private final Path directory;
    private final File directoryFile;
    private final LongSupplier nanoClock;
    /** Replaced under the lock; read without it to see that there is none. */
    private volatile List<Reader> readers = List.of();
    private long checkedNs;
    private long changedMs = -1;
    private int looks;

    LentPins(NodeId owner, Path directory, LongSupplier nanoClock) {
        this.owner = owner;
        this.directory = directory;
        directoryFile = directory.toFile();
        this.nanoClock = nanoClock;
        checkedNs = nanoClock.getAsLong();
    }

    @Override
    public boolean isPinned(long guardOffset) {
        // After the manager's full fence: a table that was acknowledged before it is seen here.
        return !readers.isEmpty() && isPinnedBySome(guardOffset / Header.GUARD_STRIDE);
    }

    private synchronized boolean isPinnedBySome(long slot) {
        boolean pinned = isCounted(slot);
        if (pinned && nanoClock.getAsLong() - checkedNs >= LIFE_CHECK_NS) {
            dropDead();
            pinned = isCounted(slot);
        }
        return pinned;
    }

    private boolean isCounted(long slot) {
        List<Reader> all = readers;
        for (int i = 0; i < all.size(); i++) {
            if (all.get(i).isPinned(slot)) {
                return true;
            }
        }
        return false;
    }

    /** A pin ends with its reader's death, which is the loss of the lock; never by time. */
    private void dropDead() {
        checkedNs = nanoClock.getAsLong();
        List<Reader> alive = new ArrayList<>();
        for (Reader reader : readers) {
            if (LockedFile.isAlive(directory, reader.name)) {
                alive.add(reader);
            } else {
                LOG.info("node {}: reader {} has ended, and its views of blocks here with it", owner, reader.name);
                reader.close();
            }
        }
        readers = List.copyOf(alive);
    }

    /** The engine's slow tick: takes in the tables that are new. */
    synchronized int scan() {
        int found = 0;
        if (mayHaveNewFiles()) {
            found = takeInAll();
        }
        if (!readers.isEmpty() && nanoClock.getAsLong() - checkedNs >= LIFE_CHECK_NS) {
            dropDead();
        }
        return found;
    }

    /** A look at the directory's time instead of one at its files: this is asked on and on, and nearly always in vain. */
    private boolean mayHaveNewFiles() {
        long now = directoryFile.lastModified();
        if (now != changedMs) {
            changedMs = now;
            looks = LOOKS;
        }
        if (looks == 0) {
            return false;
        }
        looks--;
        return true;
    }

    private int takeInAll() {
        int found = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, owner + "@*" + SUFFIX)) {
            for (Path file : files) {
                found += takeIn(file) ? 1 : 0;
            }
        } catch (IOException e) {
            LOG.warn("node {}: cannot look for readers in {}", owner, directory, e);
        }
        return found;
    }

    private boolean takeIn(Path file) {
        String fileName = String.valueOf(file.getFileName());
        String name = fileName.substring(0, fileName.length() - SUFFIX.length());
        List<Reader> now = readers;
        if (now.size() >= MAX_READERS || now.stream().anyMatch(reader -> reader.name.equals(name))) {
            return false;
        }
        try (FileChannel channel = LockedFile.open(file, true)) {
            Reader reader = new Reader(name, channel, owner);
            PinTable table = reader.table;
            if (table == null) {
                return false;
            }
            List<Reader> more = new ArrayList<>(now);
            more.add(reader);
            readers = List.copyOf(more);
            // Only now: from here on the reader may rely on being asked.
            table.acknowledge();
            return true;
        } catch (IOException e) {
            LOG.debug("node {}: {} is no table of pins, or not yet", owner, file, e);
            return false;
        }
    }

    /** Nobody asks any more. */
    @Override
    public synchronized void close() {
        readers.forEach(Reader::close);
        readers = List.of();
    }
}
