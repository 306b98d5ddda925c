package io.mooncake.core.transfer.file;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.UnitFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads that wait for the device, and who of them is next. Any thread; a lock, for what takes as long as a device does. Reads are ended
 * outside of it.
 */
final class FileQueue {
    private static final Logger LOG = LoggerFactory.getLogger(FileQueue.class);
    /** Reads that are accepted at a time; of those that nobody waits for, half as many. */
    private static final int CAPACITY = 1024;
    /** One unit in so many is of the background even where loads wait: some of them may wait for the room that a demotion makes. */
    private static final int BACKGROUND_SHARE = 8;
    /** More of them that only what goes into the file may be: a demotion is not refused because many read. */
    private static final int RESERVED = 64;

    private final UnitMover mover;
    private final UnitFile file;
    private final LongSupplier nanoClock;
    private final long syncDelayNs;
    /** Every read that has not ended. */
    private final List<FileMove> live = new ArrayList<>();
    private final ArrayDeque<FileMove> loads = new ArrayDeque<>();
    /** Of the background: what goes into the file, and what is fetched ahead. */
    private final ArrayDeque<FileMove> demotions = new ArrayDeque<>();
    private final ArrayDeque<FileMove> prefetches = new ArrayDeque<>();
    private boolean prefetchIsNext;
    /** Written, and not durable yet. */
    private final List<FileMove> unsynced = new ArrayList<>();
    /** Reads into the file that are not written yet. */
    private int writing;
    private boolean syncing;
    private long turns;
    private long behindSinceNs;
    private boolean behind;
    private boolean closed;

    FileQueue(UnitMover mover, UnitFile file, LongSupplier nanoClock, long syncDelayNs) {
        this.mover = mover;
        this.file = file;
        this.nanoClock = nanoClock;
        this.syncDelayNs = syncDelayNs;
    }

    /** What a file thread does next: a unit of a read, or, of none, making durable what was written. */
    private record Job(@Nullable FileMove move, long unit, List<FileMove> written) {}

    synchronized boolean add(GuardedRead read, boolean intoFile) {
        int room = intoFile ? CAPACITY + RESERVED : read.priority() == Priority.LOAD ? CAPACITY : CAPACITY / 2;
        if (closed || live.size() >= room) {
            return false;
        }
        FileMove move = new FileMove(read, intoFile);
        live.add(move);
        (read.priority() == Priority.LOAD ? loads : intoFile ? demotions : prefetches).add(move);
        writing += intoFile ? 1 : 0;
        notifyAll();
        return true;
    }

    synchronized boolean isEmpty() {
        return live.isEmpty() && !file.isBehind();
    }

    // ---- the file threads

    /** Works until the queue is closed. */
    void work(MemorySegment buffer) {
        Job job = await();
        while (job != null) {
            run(job, buffer);
            job = await();
        }
    }

    /** Does one thing if there is any; for who has no file threads. */
    boolean workOnce(MemorySegment buffer) {
        Job job;
        synchronized (this) {
            job = closed ? null : next();
        }
        if (job == null) {
            return false;
        }
        // A set flag would close the file under everybody.
        boolean interrupted = Thread.interrupted();
        run(job, buffer);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return true;
    }

    private synchronized @Nullable Job await() {
        boolean interrupted = false;
        Job job = null;
        while (!closed && (job = next()) == null) {
            try {
                // In time for what waits to be made durable together with more.
                TimeUnit.NANOSECONDS.timedWait(this, Math.max(1_000_000, syncDelayNs));
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            // Whoever did that did not mean this thread, whose flag would close the file.
            LOG.warn("{} was interrupted; it goes on", Thread.currentThread().getName());
        }
        return job;
    }

    private @Nullable Job next() {
        long now = nanoClock.getAsLong();
        if (!syncing && isSyncDue(now)) {
            syncing = true;
            List<FileMove> written = List.copyOf(unsynced);
            unsynced.clear();
            return new Job(null, 0, written);
        }
        boolean backgroundFirst = ++turns % BACKGROUND_SHARE == 0;
        Job job = backgroundFirst ? ofBackground() : unitOf(loads);
        return job != null ? job : backgroundFirst ? unitOf(loads) : ofBackground();
    }

    /** In turn, so that neither waits for all of the other: a demotion makes room that somebody waits for. */
    private @Nullable Job ofBackground() {
        Job job = unitOf(prefetchIsNext ? prefetches : demotions);
        if (job == null) {
            return unitOf(prefetchIsNext ? demotions : prefetches);
        }
        prefetchIsNext = !prefetchIsNext;
        return job;
    }

    private boolean isSyncDue(long nowNs) {
        if (!unsynced.isEmpty()) {
            return writing == 0 || nowNs - unsynced.getFirst().waitsSinceNs >= syncDelayNs;
        }
        boolean isBehind = file.isBehind();
        if (isBehind && !behind) {
            behindSinceNs = nowNs;
        }
        behind = isBehind;
        return isBehind && nowNs - behindSinceNs >= syncDelayNs;
    }

    /** A unit of the first read that can begin one; those that are begun whole leave the queue. */
    private @Nullable Job unitOf(ArrayDeque<FileMove> queue) {
        for (int left = queue.size(); left > 0; left--) {
            FileMove move = queue.remove();
            if (move.status == ReadStatus.OK && move.hasUnit()) {
                long unit = move.takeUnit();
                if (move.hasUnit() || (!move.isOver() && move.intoFile && unit == 0)) {
                    queue.addFirst(move);
                }
                return new Job(move, unit, List.of());
            }
            if (!move.isOver() && move.status == ReadStatus.OK) {
                queue.add(move);
            }
        }
        return null;
    }

    private void run(Job job, MemorySegment buffer) {
        if (job.move == null) {
            sync(job.written);
            return;
        }
        FileMove move = job.move;
        ReadStatus status;
        MooncakeException cause = null;
        try {
            status = move.intoFile
                    ? mover.write(move.read, job.unit, buffer)
                    : mover.read(move.read, job.unit, buffer);
        } catch (ClosedChannelException e) {
            // Says nothing of the bytes.
            status = ReadStatus.REFUSED;
            cause = failed(move.read, e);
        } catch (IOException e) {
            LOG.warn("{}: {}", move.read, e.toString());
            status = move.intoFile ? ReadStatus.REFUSED : ReadStatus.CHECKSUM;
            cause = failed(move.read, e);
        } catch (OutOfMemoryError e) {
            status = ReadStatus.REFUSED;
            cause = failed(move.read, e);
        } catch (RuntimeException e) {
            status = ReadStatus.REFUSED;
            cause = new MooncakeException(Kind.ILLEGAL_STATE, move.read + " into " + move.read.destination()
                    + ": memory is read-only, or was freed before its region was closed", e);
        }
        unitEnded(move, status, cause);
    }

    private static MooncakeException failed(GuardedRead read, Throwable e) {
        return new MooncakeException(Kind.IO_ERROR,
                read + ": " + e.getMessage() + "; look after the device or make room", e);
    }

    private void unitEnded(FileMove move, ReadStatus status, @Nullable MooncakeException cause) {
        boolean ends;
        synchronized (this) {
            move.unitEnded();
            if (status == ReadStatus.OK) {
                move.read.received = Math.min(move.read.length(), move.read.received + GuardSource.UNIT_BYTES);
            } else {
                move.fail(status, cause);
            }
            ends = move.isOver() && leaves(move);
            notifyAll();
        }
        if (ends) {
            end(move);
        }
    }

    /** What is over ends, unless it is to be made durable first. */
    private boolean leaves(FileMove move) {
        if (move.intoFile) {
            writing--;
            if (move.status == ReadStatus.OK) {
                move.waitsSinceNs = nanoClock.getAsLong();
                unsynced.add(move);
                return false;
            }
        }
        return live.remove(move);
    }

    private void sync(List<FileMove> written) {
        MooncakeException cause = null;
        try {
            file.makeDurable(written.stream().mapToLong(move -> move.read.destinationAt(0)).toArray());
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            LOG.warn("{} blocks could not be made durable: {}", written.size(), e.toString());
            cause = written.isEmpty() ? null : failed(written.getFirst().read, e);
        }
        synchronized (this) {
            syncing = false;
            behind = false;
            for (FileMove move : written) {
                if (cause != null) {
                    move.fail(ReadStatus.REFUSED, cause);
                }
                live.remove(move);
            }
            notifyAll();
        }
        written.forEach(this::end);
    }

    private void end(FileMove move) {
        GuardedRead read = move.read;
        if (move.status == ReadStatus.OK) {
            read.received = read.length();
            read.verified = read.length();
        }
        read.end(move.status, move.cause);
    }

    // ---- the poller

    /** Ends what was given up or is late; what the device has then ends with that. */
    int endOver() {
        List<FileMove> over = new ArrayList<>();
        List<FileMove> late = new ArrayList<>();
        synchronized (this) {
            if (live.isEmpty()) {
                return 0;
            }
            long now = nanoClock.getAsLong();
            for (FileMove move : List.copyOf(live)) {
                boolean wasWaiting = !move.isOver();
                if (move.status == ReadStatus.OK && move.read.isGivenUp()) {
                    move.fail(ReadStatus.CANCELED, null);
                } else if (move.status == ReadStatus.OK && now - move.read.deadlineNs() >= 0) {
                    move.fail(ReadStatus.TIMED_OUT, null);
                    if (move.isBusy() || !wasWaiting) {
                        late.add(move);
                    }
                }
                if (wasWaiting && move.isOver()) {
                    loads.remove(move);
                    demotions.remove(move);
                    prefetches.remove(move);
                    writing -= move.intoFile ? 1 : 0;
                    live.remove(move);
                    over.add(move);
                }
            }
        }
        late.forEach(move -> move.read.expire());
        over.forEach(this::end);
        return over.size();
    }

    /** No file thread begins anything from now on. */
    synchronized void close() {
        closed = true;
        notifyAll();
    }

    /** After the file threads have ended. */
    void endAll() {
        List<FileMove> left;
        synchronized (this) {
            left = List.copyOf(live);
            live.clear();
        }
        for (FileMove move : left) {
            move.fail(ReadStatus.CANCELED, null);
            end(move);
        }
    }
}
