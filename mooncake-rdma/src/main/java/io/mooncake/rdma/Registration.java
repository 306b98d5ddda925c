package io.mooncake.rdma;

import io.mooncake.core.base.CardAccess.DmaBuf;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Region;
import io.mooncake.rdma.LaneMessage.Keys;
import io.mooncake.rdma.LaneMessage.TableKey;
import io.mooncake.rdma.verbs.Access;
import io.mooncake.rdma.verbs.MemoryRegion;
import io.mooncake.rdma.verbs.ProtectionDomain;
import io.mooncake.rdma.verbs.Provider;
import io.mooncake.rdma.verbs.VerbsException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One region as one card knows it: in parts, since a card has a limit. Peers may read it where the region's access says so, nobody but this
 * node's own READs writes it. The registrar's, but for what never changes.
 *
 * <pre>
 *   region  |........ stride ........|........ stride ........|.... rest ....|
 *   part 0  |==========================|                                           the most that one request has is registered twice,
 *   part 1                           |==========================|                  so that no request ever needs two keys
 *   part 2                                                    |==============|
 * </pre>
 */
final class Registration implements AutoCloseable {
    /** What parts overlap by: no request is longer. */
    static final long OVERLAP_BYTES = EngineContext.MAX_CHUNK_BYTES;

    private final Region region;
    private final long stride;
    private final int[] localKeys;
    private final @Nullable MemoryRegion[] parts;
    private final @Nullable MemoryRegion[] tables;
    private final List<Memory> besides;
    private boolean retained;

    /** READs outstanding into it, and when the last one was posted, in READs; the poller's. */
    int reads;
    long lastRead;

    /**
     * A region that is not registered yet.
     *
     * @param region host memory, or a device's that cards get at
     * @param besides the table of its guards, then that of its checksums, where there are any
     * @param mostBytes of one registration
     * @throws MooncakeException CONFIG_ERROR when it cannot be one, with the remedy
     */
    Registration(Region region, List<Memory> besides, long mostBytes) {
        this.region = region;
        this.besides = besides;
        long length = region.length();
        if (length > mostBytes && mostBytes <= OVERLAP_BYTES) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    region + " of " + length + " bytes needs registrations of more than "
                            + OVERLAP_BYTES + " bytes, and the card takes, or rdma.registrationBytes allows, "
                            + mostBytes);
        }
        stride = length <= mostBytes ? length : mostBytes - OVERLAP_BYTES;
        long count = (length - 1) / stride + 1;
        if (count > LaneMessages.MAX_KEYS) {
            throw new MooncakeException(Kind.CONFIG_ERROR, region + " of " + length + " bytes needs "
                    + count + " registrations of " + mostBytes + " bytes, more than "
                    + LaneMessages.MAX_KEYS + ": raise rdma.registrationBytes, or make it smaller");
        }
        localKeys = new int[(int) count];
        parts = new MemoryRegion[localKeys.length];
        tables = new MemoryRegion[besides.size()];
    }

    /**
     * Registers it.
     *
     * @param domain of the card
     * @throws MooncakeException what the card or the kernel said, with the remedy; then it is to be closed
     */
    void register(ProtectionDomain domain) {
        // As long as peers may read it, its memory stays: closing the region waits until the card has forgotten it.
        retained = isReadable(region) && region.retain();
        if (isReadable(region) && !retained) {
            throw new MooncakeException(Kind.CLOSED, region + " is closed");
        }
        try {
            registerParts(domain);
            for (int i = 0; i < tables.length; i++) {
                tables[i] = domain.register(besides.get(i).address(), besides.get(i).length(), Access.REMOTE_READ);
            }
        } catch (VerbsException e) {
            throw new MooncakeException(e.asMooncake().kind(), region + " of " + region.length() + " bytes: "
                    + e.getMessage() + (Reach.isHost(region) ? MemoryLock.hint() : ""), e);
        }
    }

    private void registerParts(ProtectionDomain domain) {
        // Needed until the last part is made of it, and no longer: a registration keeps the memory by itself.
        try (DmaBuf buffer = region.memory() instanceof DeviceMemory device && device.cards() != null
                ? device.cards().open()
                : null) {
            InParallel.run(parts.length, i -> {
                long from = i * stride;
                MemoryRegion part = register(domain, buffer, from,
                        Math.min(region.length() - from, stride + OVERLAP_BYTES));
                parts[i] = part;
                localKeys[i] = part.localKey();
            });
        }
    }

    private MemoryRegion register(ProtectionDomain domain, @Nullable DmaBuf buffer, long from, long bytes) {
        long address = region.memory().address() + from;
        return buffer == null
                ? domain.register(address, bytes, accessOf(region))
                : domain.register(new Provider.DmaBuf(buffer.fd(), address - buffer.start(), bytes, address),
                        accessOf(region));
    }

    private static boolean isReadable(Region region) {
        return region.access() != io.mooncake.core.transfer.Access.LOCAL_ONLY;
    }

    private static int accessOf(Region region) {
        int remote = isReadable(region) ? Access.REMOTE_READ : 0;
        return remote | (Reach.isWritable(region.memory()) ? Access.LOCAL_WRITE : 0);
    }

    Region region() {
        return region;
    }

    /** Whether it is of a region that only this node knows, and worth to be given up: it is made again when it is needed. */
    boolean isCached() {
        return region.access() == io.mooncake.core.transfer.Access.LOCAL_ONLY
                && region.length() > DestinationPath.MOST_BOUNCED_BYTES;
    }

    /** Whether it uses the region, so that the region stays as long as this does. */
    boolean isRetaining() {
        return retained;
    }

    /** Whether the region is closed, and nothing but so many registrations, one a card, uses it. */
    boolean isOver(int retaining) {
        return region.isClosed() && region.uses() <= retaining;
    }

    /** The key by which a request of this node may write from an offset on. */
    int localKey(long offset) {
        return localKeys[(int) (offset / stride)];
    }

    /** What a peer has to know. */
    Keys keys(long lane, long keyEpoch) {
        return new Keys(lane, region.id(), keyEpoch, region.memory().address(), region.length(), stride,
                Arrays.stream(parts).map(part -> Objects.requireNonNull(part).remoteKey()).toList(), table(0),
                table(1));
    }

    private TableKey table(int number) {
        MemoryRegion table = number < tables.length ? tables[number] : null;
        return table == null ? TableKey.NONE : new TableKey(table.address(), table.length(), table.remoteKey());
    }

    /**
     * Takes it from the card: READs of peers under way fail.
     *
     * @throws VerbsException when the card keeps some of it; again takes the rest
     */
    @Override
    public void close() {
        VerbsException kept = close(tables, close(parts, null));
        if (kept != null) {
            throw kept;
        }
    }

    private static @Nullable VerbsException close(@Nullable MemoryRegion[] registered,
            @Nullable VerbsException before) {
        VerbsException kept = before;
        for (int i = 0; i < registered.length; i++) {
            MemoryRegion one = registered[i];
            if (one != null) {
                try {
                    one.close();
                    registered[i] = null;
                } catch (VerbsException e) {
                    kept = e;
                }
            }
        }
        return kept;
    }

    /** The card reads and writes it no more: its memory is the owner's alone. */
    void release() {
        if (retained) {
            retained = false;
            region.release();
        }
    }
}
