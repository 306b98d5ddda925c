package io.mooncake.core.transfer;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.PageMap;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The one request that engines serve: fetch the bytes, then the guard, and succeed only if the guard has the expected value.
 *
 * <p>Mutable and reusable: its owner fills it, submits it, and from then until {@link ReadListener#onReadEnded} it is the engine's. The
 * destination region is retained by the owner for that time.
 */
public final class GuardedRead {
    /** {@link #guardOffset()} of a read of a region that has no guards. */
    public static final long NO_GUARD = -1;

    private static final VarHandle RECEIVED;

    static {
        try {
            RECEIVED = MethodHandles.lookup().findVarHandle(GuardedRead.class, "received", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final ReadListener listener;
    private final int index;

    private @Nullable Peer owner;
    private int region;
    private long offset;
    private long length;
    private long blockOffset;
    private long guardOffset;
    private long expected;
    private @Nullable Region destination;
    private @Nullable PageMap pages;
    private long destinationOffset;
    private long deadlineNs;
    private Priority priority = Priority.LOAD;
    private @Nullable MooncakeException cause;

    /** For the engine alone: bytes that arrived. */
    public long received;
    /** For the engine alone: bytes whose checksum it looked at. */
    public long verified;
    /** For the engine alone: its link or slot while it has the read. */
    public @Nullable Object engineState;

    /**
     * An empty request.
     *
     * @param listener who is told the end
     * @param index the listener's number for it
     */
    public GuardedRead(ReadListener listener, int index) {
        this.listener = listener;
        this.index = index;
    }

    /**
     * Says what to read; without more it is unguarded and a LOAD.
     *
     * @param owner who has the bytes
     * @param region the owner's number of the region
     * @param offset first byte in the region
     * @param length bytes; 0 only proves
     * @return this
     */
    public GuardedRead from(Peer owner, int region, long offset, long length) {
        this.owner = owner;
        this.region = region;
        this.offset = offset;
        this.length = length;
        blockOffset = 0;
        guardOffset = NO_GUARD;
        expected = 0;
        priority = Priority.LOAD;
        cause = null;
        forgetCounts();
        return this;
    }

    /** For its owner: what an earlier use counted is not said of the next one, which may need no read. */
    public void forgetCounts() {
        received = 0;
        verified = 0;
    }

    /**
     * Says what proves it.
     *
     * @param guardOffset offset in the region's guard table
     * @param expected what the guard must read
     * @return this
     */
    public GuardedRead guardedBy(long guardOffset, long expected) {
        this.guardOffset = guardOffset;
        this.expected = expected;
        return this;
    }

    /**
     * Says where in its block the read begins, so that engines cut it where the block's units end, which have checksums.
     *
     * @param offset in the block; 0 where nothing is said
     * @return this
     */
    public GuardedRead atBlockOffset(long offset) {
        blockOffset = offset;
        return this;
    }

    /**
     * Says where the bytes go, in one piece.
     *
     * @param destination a region of this node
     * @param destinationOffset first byte in it
     * @return this
     */
    public GuardedRead into(Region destination, long destinationOffset) {
        this.destination = destination;
        this.destinationOffset = destinationOffset;
        pages = null;
        return this;
    }

    /**
     * Says where the bytes go, scattered.
     *
     * @param destination a region of this node
     * @param pages whose length is at least the read's
     * @return this
     */
    public GuardedRead into(Region destination, PageMap pages) {
        this.destination = destination;
        this.pages = pages;
        destinationOffset = 0;
        return this;
    }

    /**
     * Says when it must have ended.
     *
     * @param deadlineNs on the node's nano clock
     * @return this
     */
    public GuardedRead by(long deadlineNs) {
        this.deadlineNs = deadlineNs;
        return this;
    }

    /**
     * Says which waiting reads it goes before.
     *
     * @param priority LOAD or BACKGROUND
     * @return this
     */
    public GuardedRead withPriority(Priority priority) {
        this.priority = priority;
        return this;
    }

    /**
     * Who has the bytes.
     *
     * @return the owner
     */
    public Peer owner() {
        return Objects.requireNonNull(owner);
    }

    /**
     * The owner's number of the region.
     *
     * @return a region number
     */
    public int region() {
        return region;
    }

    /**
     * First byte in the owner's region.
     *
     * @return an offset
     */
    public long offset() {
        return offset;
    }

    /**
     * Where in its block the read begins.
     *
     * @return 0 and up
     */
    public long blockOffset() {
        return blockOffset;
    }

    /**
     * Bytes to read.
     *
     * @return 0 and up
     */
    public long length() {
        return length;
    }

    /**
     * Where the guard stands in the region's guard table.
     *
     * @return an offset, or {@link #NO_GUARD}
     */
    public long guardOffset() {
        return guardOffset;
    }

    /**
     * What the guard must read.
     *
     * @return a guard value
     */
    public long expected() {
        return expected;
    }

    /**
     * Where the bytes go.
     *
     * @return a region of this node
     */
    public Region destination() {
        return Objects.requireNonNull(destination);
    }

    /**
     * Where a byte of the read goes.
     *
     * @param position 0 to length - 1
     * @return an offset in the destination
     */
    public long destinationAt(long position) {
        PageMap map = pages;
        return map == null ? destinationOffset + position : map.offsetAt(position);
    }

    /**
     * How many bytes from a position on go to one place.
     *
     * @param position 0 to length - 1
     * @param limit most bytes of interest, 1 to length - position
     * @return bytes, 1 to limit
     */
    public long runAt(long position, long limit) {
        PageMap map = pages;
        return map == null ? limit : map.runAt(position, limit);
    }

    /**
     * The destination's half of the bounds check.
     *
     * @return whether every byte has a place in the destination region
     */
    public boolean fitsDestination() {
        PageMap map = pages;
        long room = destination().length();
        return map == null
                ? Bounds.contains(destinationOffset, length, room)
                : length >= 0 && length <= map.length() && map.end() <= room;
    }

    /**
     * How many bytes have arrived, seen from any thread and perhaps a little late: a counter for people.
     *
     * @return 0 to length
     */
    public long receivedSoFar() {
        return (long) RECEIVED.getOpaque(this);
    }

    /**
     * When it must have ended.
     *
     * @return on the node's nano clock
     */
    public long deadlineNs() {
        return deadlineNs;
    }

    /**
     * Which waiting reads it goes before.
     *
     * @return LOAD unless said otherwise
     */
    public Priority priority() {
        return priority;
    }

    /**
     * The listener's number for it.
     *
     * @return as constructed
     */
    public int index() {
        return index;
    }

    /**
     * More about REFUSED and UNREACHABLE.
     *
     * @return null for other ends
     */
    public @Nullable MooncakeException cause() {
        return cause;
    }

    /**
     * Whether nobody wants the bytes any more.
     *
     * @return as the listener says
     */
    public boolean isGivenUp() {
        return listener.isGivenUp(this);
    }

    /**
     * For the engine: its deadline has passed while work of it is outstanding that can't be recalled. Whoever waits is told so now;
     * {@link #isGivenUp} is true from now on, and {@link #end} follows when nothing is outstanding any more.
     */
    public void expire() {
        listener.onReadExpired(this);
    }

    /**
     * For the engine: reports the end, exactly once a submission, as its last access to the read.
     *
     * @param status how
     * @param cause more about REFUSED and UNREACHABLE, else null
     */
    public void end(ReadStatus status, @Nullable MooncakeException cause) {
        this.cause = cause;
        engineState = null;
        listener.onReadEnded(this, status);
    }

    @Override
    public String toString() {
        return "read of region r" + region + " of node " + (owner == null ? "?" : owner.id()) + ": offset " + offset
                + ", length "
                + length;
    }
}
