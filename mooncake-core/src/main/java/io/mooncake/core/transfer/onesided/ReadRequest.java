package io.mooncake.core.transfer.onesided;

import io.mooncake.core.transfer.Region;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One READ to be posted. Mutable and used for one post after the other: a fabric takes what it needs and keeps no reference. The poller's. */
public final class ReadRequest {
    private long cookie;
    private @Nullable RemoteRegion source;
    private RemoteRegion.Part part = RemoteRegion.Part.BYTES;
    private long sourceOffset;
    private @Nullable Region destination;
    private long destinationOffset;
    private long bytes;
    private boolean fenced;

    /** An empty request. */
    public ReadRequest() {}

    /**
     * Says what comes back with the completion, and how much is read.
     *
     * @param newCookie reported as it is
     * @param newBytes 1 and up
     * @return this
     */
    public ReadRequest of(long newCookie, long newBytes) {
        cookie = newCookie;
        bytes = newBytes;
        fenced = false;
        return this;
    }

    /**
     * Has it begin only when every request before it on its lane has completed.
     *
     * @return this
     */
    public ReadRequest fence() {
        fenced = true;
        return this;
    }

    /**
     * Says what to read.
     *
     * @param region the peer's
     * @param what of it
     * @param offset first byte there
     * @return this
     */
    public ReadRequest from(RemoteRegion region, RemoteRegion.Part what, long offset) {
        source = region;
        part = what;
        sourceOffset = offset;
        return this;
    }

    /**
     * Says where the bytes go.
     *
     * @param region of this node
     * @param offset first byte there
     * @return this
     */
    public ReadRequest into(Region region, long offset) {
        destination = region;
        destinationOffset = offset;
        return this;
    }

    /**
     * What comes back with the completion.
     *
     * @return 64 bits
     */
    public long cookie() {
        return cookie;
    }

    /**
     * The peer's region.
     *
     * @return of the lane it is posted to
     */
    public RemoteRegion source() {
        return Objects.requireNonNull(source);
    }

    /**
     * What of the region is read.
     *
     * @return its bytes, or one of its tables
     */
    public RemoteRegion.Part part() {
        return part;
    }

    /**
     * First byte to be read.
     *
     * @return an offset in the region or its table
     */
    public long sourceOffset() {
        return sourceOffset;
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
     * First byte to be written.
     *
     * @return an offset in the destination
     */
    public long destinationOffset() {
        return destinationOffset;
    }

    /**
     * How much is read.
     *
     * @return bytes, 1 to {@link FabricLimits#requestBytes}
     */
    public long bytes() {
        return bytes;
    }

    /**
     * Whether it waits for those before it.
     *
     * @return false for one that may be carried out beside them
     */
    public boolean isFenced() {
        return fenced;
    }
}
