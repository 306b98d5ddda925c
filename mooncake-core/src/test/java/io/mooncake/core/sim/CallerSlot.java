package io.mooncake.core.sim;

import io.mooncake.core.Destination;
import io.mooncake.core.Piece;
import io.mooncake.core.base.PageMap;
import io.mooncake.core.transfer.Region;
import java.lang.foreign.MemorySegment;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Memory of the caller's for one piece at a time. While nobody has it, it is filled with a byte that no block is full of: whatever lands
 * there then, is seen.
 */
final class CallerSlot {
    static final int BYTES = 8 << 10;
    private static final int PAGE_BYTES = 1 << 10;
    private static final byte CANARY = (byte) 0xA5;
    private static final MemorySegment CANARIES = MemorySegment.ofArray(new byte[BYTES]).fill(CANARY);

    private final MemorySegment memory;
    private final long offset;
    private @Nullable SimTransfer user;
    private long uses;

    CallerSlot(MemorySegment all, int index) {
        offset = (long) index * BYTES;
        memory = all.asSlice(offset, BYTES).fill(CANARY);
    }

    /** A destination in it, scattered or not. */
    Destination destination(Region region, SplittableRandom random) {
        if (random.nextInt(4) != 0) {
            return Destination.at(region, offset);
        }
        int[] numbers = new int[BYTES / PAGE_BYTES];
        for (int i = 0; i < numbers.length; i++) {
            int other = random.nextInt(i + 1);
            numbers[i] = numbers[other];
            numbers[other] = i;
        }
        return Destination.pages(region, new PageMap(offset, PAGE_BYTES, PAGE_BYTES, numbers));
    }

    boolean isFree() {
        return user == null;
    }

    /** Changes whenever it is handed on; 0 while no transfer may write it. */
    long owner() {
        SimTransfer now = user;
        return now == null || now.isDone() ? 0 : uses;
    }

    void handTo(SimTransfer transfer) {
        checkUntouched();
        user = transfer;
        uses++;
    }

    /** The caller may do with it what it likes, and does. */
    void handBack() {
        user = null;
        memory.fill(CANARY);
    }

    void checkUntouched() {
        if (user == null && MemorySegment.mismatch(memory, 0, BYTES, CANARIES, 0, BYTES) >= 0) {
            throw new Violation(2, "bytes landed in " + this + " after its transfer was done");
        }
    }

    /** Whether a piece's bytes are there, and none besides. */
    boolean holds(Piece piece, Content.Write write) {
        long length = piece.length() == Piece.WHOLE ? write.length() - piece.offset() : piece.length();
        if (length < 0 || piece.offset() + length > write.length()) {
            return false;
        }
        if (!(piece.destination() instanceof Destination.Pages scattered)) {
            return Content.matches(memory, 0, write, piece.offset(), length)
                    // Another attempt may have had another length.
                    && (piece.length() == Piece.WHOLE || length == BYTES
                            || MemorySegment.mismatch(memory, length, BYTES, CANARIES, 0, BYTES - length) < 0);
        }
        PageMap map = scattered.pages();
        for (long at = 0; at < length;) {
            long run = map.runAt(at, length - at);
            if (!Content.matches(memory, map.offsetAt(at) - offset, write, piece.offset() + at, run)) {
                return false;
            }
            at += run;
        }
        return true;
    }

    @Override
    public String toString() {
        return "the caller's slot at " + offset + (user == null ? "" : " of " + user);
    }
}
