package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ReadStatus;
import java.io.IOException;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.Objects;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Where a CHUNK's payload goes: from the socket into the destination where it is long, through the lane's buffer where it is short, to
 * nowhere when its read has ended. Then its trailer proves it, or not. The poller's.
 */
final class Landing {
    /** A piece at least so long is worth a read of its own; shorter ones come together with what follows them. */
    private static final int DIRECT_BYTES = 16 * 1024;
    /** Between two long payloads stand a trailer and a head: reading no more keeps the next payload out of the buffer. */
    private static final int BETWEEN_BYTES = Frames.TRAILER_BYTES + Frames.HEADER_BYTES + Frames.CHUNK_POSITION_BYTES;

    private final ClientLane lane;
    private final InFlight inFlight;
    private final CRC32C crc = new CRC32C();

    private boolean active;
    private InFlight.@Nullable Slot slot;
    private int chunkBytes;
    private int left;
    /** The chunk before was long, so the next one may be. */
    private boolean streaming;

    Landing(ClientLane lane, InFlight inFlight) {
        this.lane = lane;
        this.inFlight = inFlight;
    }

    /** A CHUNK's head was consumed. */
    void begin(long cookie, long position, int bytes) throws ProtocolException {
        InFlight.Slot found = inFlight.find(cookie);
        if (found != null
                && (found.query != null || position != found.position || bytes > found.length - found.position)) {
            throw new ProtocolException(
                    "a chunk of " + bytes + " bytes at " + position + " of a read that has " + found.position
                            + " of " + found.length);
        }
        active = true;
        slot = found;
        chunkBytes = bytes;
        left = bytes;
        streaming = bytes >= DIRECT_BYTES;
        GuardedRead read = wanted();
        if (found != null && read != null && read.isGivenUp()) {
            lane.owner().end(Objects.requireNonNull(found.ranges), ReadStatus.CANCELED, null);
            read = null;
        }
        if (read == null) {
            lane.poller.context().counters().increment(Counter.STALE_COMPLETIONS);
        }
    }

    /** Whether a CHUNK's payload or trailer is still to come. */
    boolean isActive() {
        return active;
    }

    private @Nullable GuardedRead wanted() {
        InFlight.Slot found = slot;
        return found == null ? null : found.read;
    }

    /** How many bytes to ask the socket for when they go to the buffer. */
    int readAhead(int most) {
        return streaming && left == 0 ? BETWEEN_BYTES : most;
    }

    /** Whether what comes next belongs to the destination directly. */
    boolean wantsDirect() {
        return left >= DIRECT_BYTES && lane.head == lane.tail && wanted() != null && run(wanted()) >= DIRECT_BYTES;
    }

    private int run(@Nullable GuardedRead read) {
        return read == null ? 0 : (int) read.runAt(at(), left);
    }

    private long at() {
        InFlight.Slot found = slot;
        return found == null ? 0 : found.start + found.position + chunkBytes - left;
    }

    int readDirect(SocketChannel channel, int most) throws IOException {
        GuardedRead read = wanted();
        int asked = Math.min(run(read), most);
        if (read == null || asked == 0) {
            throw new IllegalStateException("nothing to read for");
        }
        int got;
        try {
            got = channel.read(window(read, asked));
        } catch (IllegalStateException e) {
            refuse(slot, read, e);
            return 0;
        }
        lane.drained = got < asked;
        if (got > 0) {
            read.received += got;
            took(got);
        }
        return got;
    }

    /** The destination was freed before its region was closed: this read ends, what comes of it yet is dropped. */
    private void refuse(InFlight.@Nullable Slot found, GuardedRead read, IllegalStateException why) {
        Ranges ranges = found == null ? null : found.ranges;
        if (ranges == null) {
            throw new IllegalStateException(read + " has no request", why);
        }
        lane.owner()
                .end(ranges, ReadStatus.REFUSED, new MooncakeException(Kind.CLOSED, read.destination()
                        + ": its memory cannot be written any more (" + why.getMessage()
                        + "): close a region before its memory is freed",
                        why));
    }

    private void took(int bytes) {
        left -= bytes;
        if (slot != null) {
            lane.onArrived(slot, bytes);
        }
    }

    private ByteBuffer window(GuardedRead read, int bytes) {
        return lane.poller.destination(read).at(read.destinationAt(at()), bytes);
    }

    /** Takes what the buffer has of payload and trailer; false when it has too little. */
    boolean consume() {
        while (left > 0 && lane.head < lane.tail) {
            int bytes = Math.min(left, lane.tail - lane.head);
            GuardedRead read = wanted();
            if (read != null) {
                bytes = Math.min(bytes, run(read));
                try {
                    ByteBuffer window = window(read, bytes);
                    window.put(window.position(), lane.in, lane.head, bytes);
                    read.received += bytes;
                } catch (IllegalStateException e) {
                    refuse(slot, read, e);
                }
            }
            lane.head += bytes;
            took(bytes);
        }
        if (left > 0 || lane.tail - lane.head < Frames.TRAILER_BYTES) {
            return false;
        }
        long guard = lane.in.getLong(lane.head);
        long checksum = lane.in.getLong(lane.head + Long.BYTES);
        lane.head += Frames.TRAILER_BYTES;
        active = false;
        prove(guard, checksum);
        return true;
    }

    private void prove(long guard, long checksum) {
        InFlight.Slot found = slot;
        slot = null;
        if (found == null) {
            return;
        }
        GuardedRead read = found.read;
        boolean proven = guard == found.expected;
        boolean whole = !proven || checksum == GuardSource.NO_CHECKSUM || read == null
                || isUndamaged(found, read, checksum);
        if (proven) {
            lane.onChunk(found, chunkBytes);
        }
        long bytes = found.length;
        boolean last = !proven || found.position == bytes;
        Ranges ranges = found.ranges;
        if (last) {
            lane.settle(found);
        }
        if (ranges == null) {
            return;
        }
        if (!proven || !whole) {
            ranges.outstanding -= last ? 1 : 0;
            lane.owner().end(ranges, proven ? ReadStatus.CHECKSUM : ReadStatus.STALE, null);
        } else if (last) {
            lane.owner().onProven(ranges, bytes);
        }
    }

    /** Sums up what has landed of a chunk that is a whole unit of its block. */
    private boolean isUndamaged(InFlight.Slot found, GuardedRead read, long checksum) {
        crc.reset();
        try {
            for (int done = 0; done < chunkBytes;) {
                long at = found.start + found.position + done;
                int bytes = (int) read.runAt(at, chunkBytes - done);
                crc.update(lane.poller.destination(read).at(read.destinationAt(at), bytes));
                done += bytes;
            }
        } catch (IllegalStateException e) {
            refuse(found, read, e);
            return true;
        }
        read.verified += chunkBytes;
        return crc.getValue() == checksum;
    }
}
