package io.mooncake.core.pool;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Objects;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is in the slots of a file: records that are only appended, each with its checksums, until they are written anew without those that
 * are out of date. Any thread; {@link #sync} blocks while the device works, nothing else does.
 *
 * <pre>
 *   0   magic       4
 *   4   kind        1   1 = LAYOUT, 2 = WRITTEN, 3 = EVICTED
 *   5   reserved    3   0
 *   8   slot        4   0 for LAYOUT
 *   12  body        4   its bytes, a multiple of 8
 *   16  sequence    8   one more than the record before, in one file
 *   24  durable     8   sequence of the last record that was on the device when this one was made
 *   32  body CRC    4
 *   36  head CRC    4   of the 36 bytes before
 *   40  body
 * </pre>
 *
 * <p>The head is believed by itself: a body that is damaged costs that slot's block and no other. Where the head of a durable record is
 * damaged, nobody knows whose it was, and it may have said EVICTED: then what was written before it is not believed either, but what
 * follows it is. One that was not durable yet when the next one was made, as happens where power fails, promised nothing.
 */
final class SlotJournal implements AutoCloseable {
    static final int HEAD_BYTES = 40;

    private static final Logger LOG = LoggerFactory.getLogger(SlotJournal.class);

    static final int MAGIC = 0x314A4B4D; // MKJ1
    private static final byte LAYOUT = 1;
    private static final byte WRITTEN = 2;
    private static final byte EVICTED = 3;
    static final int MAX_BODY = 1 << 24;
    /** Written anew when it is longer than this, and several times as long as it need be. */
    private static final long SMALL = 1 << 20;
    private static final int GROWTH = 4;
    /** What is read or written at a time, but for longer records. */
    private static final int AT_A_TIME = 1 << 20;

    private final Path path;
    private final byte[] layout;
    /**
     * Whoever has it writes to the device, which takes milliseconds: nobody who only appends waits for that. Taken before this. It also has
     * what only who writes needs.
     */
    private final Object device = new Object();
    private FileChannel channel;
    private boolean unsyncedName;
    private long anewFrom = SMALL;
    /** The last body of each slot that is WRITTEN. */
    private final byte[] @Nullable [] written;
    /** Slots whose EVICTED is not on the device yet: not to be overwritten. */
    private final long[] evictedAt;
    /** While it is read: the record that says what is in {@link #written}. */
    private final long[] writtenAt;
    private ByteBuffer pending = buffer(1 << 12);
    private long sequence;
    /** Records up to here are on the device. */
    private long synced;
    private long end;
    private long liveBytes;
    /** Records that were damaged, and blocks that are not believed for it. */
    private int damaged;

    private SlotJournal(Path path, int slots, byte[] layout, FileChannel channel) {
        this.path = path;
        this.layout = layout;
        this.channel = channel;
        written = new byte[slots][];
        evictedAt = new long[slots];
        writtenAt = new long[slots];
    }

    /**
     * Reads what there is; {@link #begin} goes on from there.
     *
     * @param path the file, made when it is not there
     * @param slots of the file that it is about
     * @param layout what must be equal for the records to mean the same
     * @return the journal; what its records say is in {@link #body}
     * @throws IOException when it cannot be read or written
     * @throws OtherLayoutException when it is of another layout
     */
    static SlotJournal open(Path path, int slots, byte[] layout) throws IOException {
        SlotJournal journal = new SlotJournal(path, slots, layout,
                FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ,
                        StandardOpenOption.WRITE));
        try {
            journal.replay(new JournalReader(journal.channel, AT_A_TIME));
            return journal;
        } catch (IOException | RuntimeException e) {
            journal.close();
            throw e;
        }
    }

    /** The directory has blocks that were cut otherwise. */
    static final class OtherLayoutException extends IOException {
        private static final long serialVersionUID = 1;

        OtherLayoutException(Path path) {
            super(path + " is of slots of another length");
        }
    }

    /** From now on it is of the file that is there now. */
    void begin() throws IOException {
        synchronized (device) {
            synchronized (this) {
                // So many records are about to have the numbers up to this one.
                sequence = Math.max(sequence, 1 + Arrays.stream(written).filter(Objects::nonNull).count());
            }
            writeAnew();
        }
    }

    // ---- what it says

    /** What was appended last for a slot; null when that is EVICTED, or nothing. */
    synchronized byte @Nullable [] body(int slot) {
        return written[slot];
    }

    synchronized int damaged() {
        return damaged;
    }

    synchronized long bytes() {
        return end;
    }

    // ---- appending

    synchronized void written(int slot, byte[] body) {
        append(WRITTEN, slot, body);
        liveBytes += HEAD_BYTES + padded(body.length);
        written[slot] = body;
        evictedAt[slot] = 0;
    }

    synchronized void evicted(int slot) {
        byte[] body = written[slot];
        if (body != null) {
            liveBytes -= HEAD_BYTES + padded(body.length);
            written[slot] = null;
            append(EVICTED, slot, new byte[0]);
            evictedAt[slot] = sequence;
        }
    }

    /** Whether the bytes of a slot may be overwritten. */
    synchronized boolean mayOverwrite(int slot) {
        return written[slot] == null && evictedAt[slot] <= synced;
    }

    synchronized boolean isSynced() {
        return synced == sequence;
    }

    private void append(byte kind, int slot, byte[] body) {
        int bytes = HEAD_BYTES + padded(body.length);
        if (pending.remaining() < bytes) {
            pending.flip();
            pending = buffer(2 * (pending.remaining() + bytes)).put(pending);
        }
        put(pending, kind, slot, body, ++sequence, synced);
    }

    private static void put(ByteBuffer to, byte kind, int slot, byte[] body, long number, long durable) {
        int at = to.position();
        byte[] whole = Arrays.copyOf(body, padded(body.length));
        to.putInt(MAGIC).put(kind).put((byte) 0).putShort((short) 0).putInt(slot).putInt(whole.length);
        to.putLong(number).putLong(durable);
        to.putInt(crc(ByteBuffer.wrap(whole)));
        to.putInt(crc(to.slice(at, HEAD_BYTES - Integer.BYTES)));
        to.put(whole);
    }

    /**
     * Everything that was appended before is on the device when it returns.
     *
     * @throws IOException when it is not; then it stays pending, and the next call tries again
     */
    void sync() throws IOException {
        synchronized (device) {
            if (isSynced() || isWrittenAnew()) {
                return;
            }
            ByteBuffer batch;
            long number;
            synchronized (this) {
                batch = takePending();
                number = sequence;
            }
            try {
                writeAll(channel, batch.duplicate(), end);
                channel.force(false);
                syncName();
            } catch (IOException | RuntimeException | OutOfMemoryError e) {
                takeBack(batch);
                throw e;
            }
            synchronized (this) {
                end += batch.limit();
                synced = number;
            }
        }
    }

    private ByteBuffer takePending() {
        ByteBuffer taken = pending.flip();
        pending = buffer(1 << 12);
        return taken;
    }

    /** What did not get to the device goes there the next time, before what was appended meanwhile. */
    private synchronized void takeBack(ByteBuffer batch) {
        ByteBuffer later = pending.flip();
        pending = buffer(2 * (batch.limit() + later.limit())).put(batch).put(later);
    }

    /** Where it has become too long. */
    private boolean isWrittenAnew() throws IOException {
        if (bytes() <= anewFrom || bytes() <= GROWTH * liveBytes()) {
            return false;
        }
        try {
            writeAnew();
            return true;
        } catch (IOException e) {
            // It may have room for one record more where there is none for a second file.
            LOG.warn("{} could not be written anew and grows: {}", path, e.toString());
            anewFrom = bytes() + SMALL;
            return false;
        }
    }

    private synchronized long liveBytes() {
        return liveBytes;
    }

    /**
     * Only what is still so: into a file of another name, which takes the place of this one when it is on the device. Its records have the
     * numbers up to the last one that was appended here, so that whatever is appended meanwhile may follow in either file.
     */
    private void writeAnew() throws IOException {
        Path next = path.resolveSibling(path.getFileName() + ".new");
        byte[] @Nullable [] bodies;
        ByteBuffer batch;
        long last;
        synchronized (this) {
            bodies = written.clone();
            batch = takePending();
            last = sequence;
        }
        FileChannel fresh = null;
        long bytes;
        try {
            fresh = FileChannel.open(next, StandardOpenOption.CREATE, StandardOpenOption.WRITE,
                    StandardOpenOption.TRUNCATE_EXISTING);
            bytes = writeRecords(fresh, bodies, last);
            fresh.force(true);
            Files.move(next, path, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            // What is pending goes on in the old file, whose numbers have no gap.
            takeBack(batch);
            if (fresh != null) {
                fresh.close();
            }
            throw e;
        }
        channel.close();
        channel = fresh;
        anewFrom = SMALL;
        unsyncedName = true;
        synchronized (this) {
            end = bytes;
        }
        syncName();
        synchronized (this) {
            synced = last;
        }
    }

    /** How many bytes they are. None of them says that another one was on the device: they are all there, or the file is not. */
    private long writeRecords(FileChannel to, byte[] @Nullable [] bodies, long last) throws IOException {
        long number = last - Arrays.stream(bodies).filter(Objects::nonNull).count();
        ByteBuffer some = buffer(Math.max(AT_A_TIME, HEAD_BYTES + padded(layout.length)));
        long bytes = 0;
        put(some, LAYOUT, 0, layout, number, 0);
        for (int slot = 0; slot < bodies.length; slot++) {
            byte[] body = bodies[slot];
            if (body == null) {
                continue;
            }
            int room = HEAD_BYTES + padded(body.length);
            if (some.remaining() < room) {
                bytes += writeAll(to, some.flip());
                some = room > some.capacity() ? buffer(room) : some.clear();
            }
            put(some, WRITTEN, slot, body, ++number, 0);
        }
        return bytes + writeAll(to, some.flip());
    }

    private static int writeAll(FileChannel to, ByteBuffer bytes) throws IOException {
        int length = bytes.remaining();
        while (bytes.hasRemaining()) {
            int _ = to.write(bytes);
        }
        return length;
    }

    /** The file's name is on the device, too. */
    private void syncName() throws IOException {
        if (unsyncedName) {
            try (FileChannel directory = FileChannel.open(path.toAbsolutePath().getParent(), StandardOpenOption.READ)) {
                directory.force(true);
            }
            unsyncedName = false;
        }
    }

    private static void writeAll(FileChannel to, ByteBuffer bytes, long at) throws IOException {
        long position = at;
        while (bytes.hasRemaining()) {
            position += to.write(bytes, position);
        }
    }

    // ---- reading

    /** What stands behind the last record was being written when the process ended: it was not durable. */
    private void replay(JournalReader in) throws IOException {
        long missing = 0;
        long missingUpTo = 0;
        while (in.next()) {
            long number = in.number();
            boolean isFirst = sequence == 0;
            if (isFirst ? !in.isFirstOfFile() : number != sequence + 1) {
                damaged++;
                missing = missing > 0 ? missing : sequence + 1;
                missingUpTo = number - 1;
            }
            // Records that were synced together say nothing of each other, the next ones do.
            if (missing > 0 && in.durable() >= missing) {
                forgetUpTo(missingUpTo);
                missing = 0;
            }
            sequence = number;
            take(in);
        }
    }

    /** A durable record is missing: it may have said EVICTED of any slot. */
    private void forgetUpTo(long number) {
        for (int slot = 0; slot < written.length; slot++) {
            byte[] body = written[slot];
            if (body != null && writtenAt[slot] <= number) {
                liveBytes -= HEAD_BYTES + padded(body.length);
                written[slot] = null;
            }
        }
    }

    private void take(JournalReader in) throws IOException {
        int slot = in.slot();
        byte[] body = in.body();
        boolean whole = in.isWhole(body);
        damaged += whole ? 0 : 1;
        byte kind = in.kind();
        if (kind == LAYOUT) {
            if (whole && !Arrays.equals(body, Arrays.copyOf(layout, padded(layout.length)))) {
                throw new OtherLayoutException(path);
            }
        } else if (slot >= 0 && slot < written.length) {
            byte[] old = written[slot];
            liveBytes -= old == null ? 0 : HEAD_BYTES + padded(old.length);
            written[slot] = kind == WRITTEN && whole ? body : null;
            writtenAt[slot] = sequence;
            liveBytes += written[slot] == null ? 0 : HEAD_BYTES + padded(body.length);
        }
    }

    private static int padded(int bytes) {
        return (bytes + 7) & -8;
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    static int crc(ByteBuffer bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return (int) crc.getValue();
    }

    @Override
    public void close() {
        synchronized (device) {
            try {
                channel.close();
            } catch (IOException e) {
                LOG.warn("closing {}, of which everything that counts is on the device: {}", path, e.toString());
            }
        }
    }
}
