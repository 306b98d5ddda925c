package io.mooncake.core.transfer;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.Memory.FileMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.base.Waiter;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** One node's registered memory. Any thread. */
public final class RegionTable {
    private static final int FIRST_REGION = 1;
    private static final long FIRST_KEY_EPOCH = 1;

    private final NodeId owner;
    private final Waiter waiter;
    private final LongSupplier nanoClock;
    private final long closeTimeoutNs;
    private final ConcurrentHashMap<Integer, AtomicInteger> nextIds = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Integer, Region> regions = new ConcurrentHashMap<>();

    /**
     * An empty table.
     *
     * @param owner the node
     * @param waiter how closing a region waits
     * @param nanoClock the node's clock
     * @param closeTimeoutNs how long closing a region waits, nanoseconds
     */
    public RegionTable(NodeId owner, Waiter waiter, LongSupplier nanoClock, long closeTimeoutNs) {
        this.owner = owner;
        this.waiter = waiter;
        this.nanoClock = nanoClock;
        this.closeTimeoutNs = closeTimeoutNs;
    }

    /**
     * Registers memory.
     *
     * @param memory stays valid until the region is closed
     * @param access what others may do
     * @return the region
     */
    public Region register(Memory memory, Access access) {
        return register(memory, access, memory instanceof FileMemory ? FileMemory.FIRST_REGION : FIRST_REGION);
    }

    /**
     * Registers memory of a class of its own, which its number says to whoever has a reference to it.
     *
     * @param memory stays valid until the region is closed
     * @param access what others may do
     * @param first lowest number of that class: {@link DeviceMemory#FIRST_REGION}, say
     * @return the region
     */
    public Region register(Memory memory, Access access, int first) {
        int id = nextIds.computeIfAbsent(first, number -> new AtomicInteger(number)).getAndIncrement();
        Region region = new Region(this, id, memory, access, FIRST_KEY_EPOCH);
        regions.put(id, region);
        return region;
    }

    /**
     * Finds a region that peers may know.
     *
     * @param id from a peer
     * @return null when it is unknown, closed or local only: a peer learns nothing about those
     */
    public @Nullable Region readable(int id) {
        Region region = regions.get(id);
        return region == null || region.access() == Access.LOCAL_ONLY ? null : region;
    }

    /**
     * Finds a region for this node itself.
     *
     * @param id its number
     * @return null when it is unknown or closed
     */
    public @Nullable Region find(int id) {
        return regions.get(id);
    }

    /**
     * Why a read of one of these regions can't be served, as far as its owner sees; for engines that read inside the node.
     *
     * @param read what and where from
     * @return null when it can
     */
    public @Nullable MooncakeException refusal(GuardedRead read) {
        Region source = readable(read.region());
        if (source == null) {
            return new MooncakeException(Kind.OUT_OF_BOUNDS,
                    read + ": no such readable region; it was closed or was never registered");
        }
        if (!Bounds.contains(read.offset(), read.length(), source.length())) {
            return new MooncakeException(Kind.OUT_OF_BOUNDS,
                    source + ": offset " + read.offset() + " + " + read.length()
                            + " > length " + source.length() + " (or negative)");
        }
        if ((source.access() == Access.GUARDED) != (read.guardOffset() != GuardedRead.NO_GUARD)) {
            return new MooncakeException(Kind.UNAUTHORIZED, source + " is "
                    + (source.access() == Access.GUARDED
                            ? "read only together with a guard"
                            : "a region without guards"));
        }
        return null;
    }

    /**
     * Regions that are not closed.
     *
     * @return a copy
     */
    public List<Region> open() {
        return List.copyOf(regions.values());
    }

    void remove(Region region) {
        regions.remove(region.id(), region);
    }

    Waiter waiter() {
        return waiter;
    }

    long closeDeadlineNs() {
        return nanoClock.getAsLong() + closeTimeoutNs;
    }

    NodeId owner() {
        return owner;
    }
}
