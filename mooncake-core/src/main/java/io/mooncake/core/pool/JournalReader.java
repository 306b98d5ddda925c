package io.mooncake.core.pool;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.util.zip.CRC32C;

/**
 * Finds one record of a {@link SlotJournal} after the other, by heads that are whole, whatever stands between them. Only a part of the file
 * is in memory, however long it is. One thread.
 */
final class JournalReader {
    private final FileChannel channel;
    private final long size;
    private final int leastWindow;
    private ByteBuffer window = ByteBuffer.allocate(0);
    /** Where in the file the window begins. */
    private long windowAt;
    /** Of the record that was found last. */
    private long at;
    private long next;

    /** @param window bytes that are read at a time */
    JournalReader(FileChannel channel, int window) throws IOException {
        this.channel = channel;
        size = channel.size();
        leastWindow = window;
    }

    /** Goes to the next record; false when there is none. */
    boolean next() throws IOException {
        for (long head = next; head <= size - SlotJournal.HEAD_BYTES; head += 8) {
            if (isHead(head)) {
                at = head;
                next = head + SlotJournal.HEAD_BYTES + bodyBytes();
                return true;
            }
        }
        return false;
    }

    private boolean isHead(long position) throws IOException {
        ByteBuffer in = load(position, SlotJournal.HEAD_BYTES);
        int from = (int) (position - windowAt);
        int body = in.getInt(from + 12);
        return in.getInt(from) == SlotJournal.MAGIC && body >= 0 && body <= SlotJournal.MAX_BODY && body % 8 == 0
                && body <= size - position - SlotJournal.HEAD_BYTES
                && SlotJournal.crc(in.slice(from, SlotJournal.HEAD_BYTES - Integer.BYTES)) == in
                        .getInt(from + SlotJournal.HEAD_BYTES - Integer.BYTES);
    }

    /** A window that has so many bytes from a place of the file on. */
    private ByteBuffer load(long position, int bytes) throws IOException {
        if (position >= windowAt && position + bytes <= windowAt + window.limit()) {
            return window;
        }
        int wanted = (int) Math.min(Math.max(bytes, leastWindow), size - position);
        if (window.capacity() < wanted) {
            window = ByteBuffer.allocate(wanted).order(ByteOrder.LITTLE_ENDIAN);
        }
        window.clear().limit(wanted);
        windowAt = position;
        while (window.hasRemaining()) {
            if (channel.read(window, position + window.position()) < 0) {
                throw new EOFException("the journal was cut at " + (position + window.position())
                        + " while it was read: nobody else may write it");
            }
        }
        window.flip();
        return window;
    }

    // ---- the record that was found last

    boolean isFirstOfFile() {
        return at == 0;
    }

    byte kind() throws IOException {
        return load(at, SlotJournal.HEAD_BYTES).get(inWindow() + 4);
    }

    int slot() throws IOException {
        return load(at, SlotJournal.HEAD_BYTES).getInt(inWindow() + 8);
    }

    private int bodyBytes() throws IOException {
        return load(at, SlotJournal.HEAD_BYTES).getInt(inWindow() + 12);
    }

    long number() throws IOException {
        return load(at, SlotJournal.HEAD_BYTES).getLong(inWindow() + 16);
    }

    /** The number of the last record that was on the device when this one was made. */
    long durable() throws IOException {
        return load(at, SlotJournal.HEAD_BYTES).getLong(inWindow() + 24);
    }

    byte[] body() throws IOException {
        byte[] body = new byte[bodyBytes()];
        load(at, SlotJournal.HEAD_BYTES + body.length).get(inWindow() + SlotJournal.HEAD_BYTES, body);
        return body;
    }

    /** Whether a body is what its record says. */
    boolean isWhole(byte[] body) throws IOException {
        CRC32C crc = new CRC32C();
        crc.update(body);
        return (int) crc.getValue() == load(at, SlotJournal.HEAD_BYTES).getInt(inWindow() + 32);
    }

    private int inWindow() {
        return (int) (at - windowAt);
    }
}
