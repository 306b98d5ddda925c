package io.mooncake.cuda;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ParkingSpot;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.Device;
import java.util.ArrayDeque;
import java.util.Iterator;
import org.jctools.queues.varhandle.MpscVarHandleArrayQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The agent of a device: takes reads in, queues their chunks in the device's streams, asks which have passed, and proves them.
 *
 * <pre>
 *   submit ──▶ queue ──▶ reads ──pin, copy──▶ Lane (stream, events) ──passed──▶ guard, unpin ──▶ proven
 *                                   │                                               │
 *                                   └── by a pinned buffer where host memory is not pinned, or devices don't reach each other ──▶ on
 * </pre>
 */
final class CopyAgent implements Poller {
    private static final Logger LOG = LoggerFactory.getLogger(CopyAgent.class);
    /** With the device's number, the engine's. */
    static final String NAME = "cuda";
    private static final int QUEUE_CAPACITY = 4096;
    /** One chunk in so many is of the background even where loads wait: some of them may wait for the room that a demotion makes. */
    private static final int BACKGROUND_SHARE = 8;
    /** How long the agent's thread sleeps at most while copies run: their end wakes nobody. */
    private static final long POLL_NS = 20_000;

    private final EngineContext context;
    private final CudaDevices devices;
    private final Device device;
    private final MpscVarHandleArrayQueue<GuardedRead> queue = new MpscVarHandleArrayQueue<>(QUEUE_CAPACITY);
    private final ArrayDeque<DeviceRead> loads = new ArrayDeque<>();
    private final ArrayDeque<DeviceRead> background = new ArrayDeque<>();
    private final Copies copies;
    private final PeerVrams peers;
    /** Chunks of loads since one of the background had its turn. */
    private int ahead;
    private boolean endingFirst;
    private boolean released;
    private volatile boolean closed;
    private final ParkingSpot spot;

    CopyAgent(EngineContext context, CudaDevices devices, Device device) {
        this.context = context;
        this.devices = devices;
        this.device = device;
        spot = new ParkingSpot(queue::isEmpty, context.wakeup());
        copies = new Copies(context, devices, device);
        peers = new PeerVrams(context, device, spot::wakeup);
    }

    boolean submit(GuardedRead read) {
        if (closed || !queue.relaxedOffer(read)) {
            return false;
        }
        if (closed) {
            // The agent may have looked for the last time before the offer.
            cancelQueued();
        }
        spot.wakeup();
        return true;
    }

    PeerVrams peers() {
        return peers;
    }

    @Override
    public String roleName() {
        return NAME + device.number();
    }

    /** While copies run this never says that there was nothing to do: only asking tells that they have ended. */
    @Override
    public int doWork() {
        if (closed) {
            return 0;
        }
        int work = peers.doWork() + takeIn();
        if (loads.isEmpty() && background.isEmpty()) {
            return work;
        }
        if (device.loss() == null) {
            work += copy();
        }
        if (device.loss() != null) {
            work += loseAll();
        }
        return work + (copies.areIdle() ? 0 : 1);
    }

    private int copy() {
        int before;
        try {
            before = device.enter();
        } catch (CudaException e) {
            LOG.warn("{} is asked again: {}", device, e.getMessage());
            return 1;
        }
        try {
            int work = copies.end();
            if (ahead >= BACKGROUND_SHARE) {
                // Before the loads, which take all buffers that there are where both go by those.
                work += step(background, 1);
            }
            work += step(loads, Integer.MAX_VALUE);
            boolean alone = loads.stream().noneMatch(DeviceRead::hasMore);
            return work + step(background, alone ? Integer.MAX_VALUE : 0);
        } catch (CudaException e) {
            // Lost: whoever threw has seen to that.
            LOG.error("{} is lost: {}", device, e.getMessage());
            return 1;
        } finally {
            device.leave(before);
        }
    }

    // ---- taking in

    private int takeIn() {
        int taken = 0;
        for (GuardedRead read; loads.size() + background.size() < QUEUE_CAPACITY
                && (read = queue.relaxedPoll()) != null; taken++) {
            take(read);
        }
        return taken;
    }

    private void take(GuardedRead read) {
        if (read.isGivenUp()) {
            read.end(ReadStatus.CANCELED, null);
            return;
        }
        if (context.nanoClock().getAsLong() - read.deadlineNs() >= 0) {
            read.end(ReadStatus.TIMED_OUT, null);
            return;
        }
        ReadSource source;
        try {
            source = source(read);
            checkDestination(read, source);
        } catch (MooncakeException e) {
            boolean lost = e.kind() == Kind.DEVICE_LOST || e.kind() == Kind.PEER_UNREACHABLE;
            read.end(lost ? ReadStatus.UNREACHABLE : ReadStatus.REFUSED, e);
            return;
        }
        DeviceRead taken = new DeviceRead(read, source);
        if (read.length() == 0) {
            copies.proveNothing(taken);
            end(taken);
        } else {
            (read.priority() == Priority.LOAD ? loads : background).add(taken);
        }
    }

    private ReadSource source(GuardedRead read) {
        MooncakeException refusal;
        @Nullable
        ReadSource source;
        if (read.owner().id().equals(context.self())) {
            refusal = context.regions().refusal(read);
            Region region = context.regions().readable(read.region());
            source = region == null ? null : new ReadSource.Here(context.guards(), region);
        } else {
            // Regions have numbers on every node: those of another one, or of another life, are not this one's.
            PeerVram memory = peers.find(read.owner(), read.region());
            refusal = memory == null ? null : memory.objection(read);
            source = memory;
        }
        if (refusal != null) {
            throw refusal;
        }
        if (source == null) {
            throw new MooncakeException(Kind.PEER_UNREACHABLE, read + " by " + roleName() + ": "
                    + peers.route(read.owner(), read.region()).reason());
        }
        return source;
    }

    private void checkDestination(GuardedRead read, ReadSource source) {
        if (!read.fitsDestination()) {
            throw new MooncakeException(Kind.OUT_OF_BOUNDS,
                    read.destination() + " of " + read.destination().length() + " bytes is too small for the " + read);
        }
        int from = DeviceRead.deviceOf(source.memory());
        int to = DeviceRead.deviceOf(read.destination().memory());
        if (!DeviceRead.isOf(device.number(), from, to)) {
            throw new MooncakeException(Kind.UNSUPPORTED, "engine " + roleName() + " copies from " + device
                    + ", and to it from host memory; " + read + " into " + read.destination());
        }
        if (read.destination().memory() instanceof HostMemory host && host.segment().isReadOnly()) {
            throw new MooncakeException(Kind.ILLEGAL_STATE,
                    read.destination() + " is read-only memory: register memory that can be written");
        }
        if (to >= devices.count()) {
            throw new MooncakeException(Kind.CONFIG_ERROR,
                    read.destination() + " is on device " + to + " of " + devices.count());
        }
        if (device.loss() != null) {
            throw device.lossForUsers();
        }
        if (to >= 0 && devices.device(to).loss() != null) {
            throw devices.device(to).lossForUsers();
        }
    }

    // ---- a read's turn

    /** Each read is looked at, some go on, and what is over ends. So many chunks are queued at most. */
    private int step(ArrayDeque<DeviceRead> reads, int most) {
        long nowNs = context.nanoClock().getAsLong();
        for (DeviceRead read : reads) {
            read.look(nowNs);
        }
        int posted = 0;
        if (most > 0) {
            // Every other time a read goes first that ends with its next chunk, so that it does not wait for all that is longer.
            posted = endingFirst ? post(reads, 1, devices.config().chunkBytes()) : 0;
            posted += post(reads, most - posted, Long.MAX_VALUE);
            endingFirst ^= posted > 0;
        }
        // It counts no further: after 2^31 chunks the background would have no turn for as many.
        ahead = reads.equals(loads) ? Math.min(BACKGROUND_SHARE, ahead + posted) : posted > 0 ? 0 : ahead;
        return posted + endOver(reads);
    }

    /** The oldest first: so a block is whole, and perhaps on its way by the network, while the next one is copied. */
    private int post(ArrayDeque<DeviceRead> reads, int most, long longest) {
        int posted = 0;
        for (DeviceRead read : reads) {
            for (int done = 1; done > 0 && posted < most && read.hasMore() && read.left() <= longest; posted += done) {
                done = copies.post(read);
            }
        }
        return posted;
    }

    private static int endOver(ArrayDeque<DeviceRead> reads) {
        int ended = 0;
        for (Iterator<DeviceRead> all = reads.iterator(); all.hasNext();) {
            DeviceRead read = all.next();
            if (isOver(read)) {
                all.remove();
                end(read);
                ended++;
            }
        }
        return ended;
    }

    private static boolean isOver(DeviceRead read) {
        return read.outstanding == 0 && !read.hasMore();
    }

    private static void end(DeviceRead read) {
        read.read.end(read.failure == null ? ReadStatus.OK : read.failure, read.cause);
    }

    // ---- when a device is lost, and at the end

    private int loseAll() {
        MooncakeException cause = device.lossForUsers();
        copies.dropAll(device);
        return endAll(loads, ReadStatus.UNREACHABLE, cause) + endAll(background, ReadStatus.UNREACHABLE, cause);
    }

    private static int endAll(ArrayDeque<DeviceRead> reads, ReadStatus status, @Nullable MooncakeException cause) {
        int ended = 0;
        for (DeviceRead read; (read = reads.poll()) != null; ended++) {
            read.fail(status, cause);
            end(read);
        }
        return ended;
    }

    @Override
    public void park(long maxNs) {
        spot.park(peers.hasWork() ? 0 : loads.isEmpty() && background.isEmpty() ? maxNs : Math.min(maxNs, POLL_NS));
    }

    @Override
    public void wakeup() {
        spot.wakeup();
    }

    @Override
    public void onClose() {
        closed = true;
        cancelQueued();
        if (released) {
            return;
        }
        released = true;
        copies.dropAll(null);
        endAll(loads, ReadStatus.CANCELED, null);
        endAll(background, ReadStatus.CANCELED, null);
        peers.close();
        copies.close();
    }

    private synchronized void cancelQueued() {
        for (GuardedRead read; (read = queue.poll()) != null;) {
            read.end(ReadStatus.CANCELED, null);
        }
    }
}
