package io.mooncake.core.transfer.file;

import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ParkingSpot;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.Route.Locality;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.UnitFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;
import org.jspecify.annotations.Nullable;

/** Moves blocks of this node out of its file and into it. So many threads of its own, so many requests has the device at a time. */
public final class FileTransferEngine implements TransferEngine, Poller {
    private static final String NAME = "file";
    private static final Route HERE = new Route(Locality.NODE, true, Health.READY, "the block is in this node's file");
    private static final Route ELSEWHERE = new Route(Locality.NODE, false, Health.NONE,
            "the block is not in this node's file");
    private static final long SCAN_NS = 500_000;

    private final EngineContext context;
    private final Region region;
    private final FileQueue queue;
    private final Arena arena = Arena.ofShared();
    private final List<Thread> threads = new ArrayList<>();
    /** Where there are no threads the poller works with it. */
    private final @Nullable MemorySegment buffer;
    private volatile boolean closed;
    private volatile boolean look;
    private long lookedNs;
    private final ParkingSpot spot;

    /**
     * How the engine works.
     *
     * @param threads requests that the device has at a time; 0 = the poller does the work itself, one at a time
     * @param factory makes the threads
     * @param syncDelayNs how long a written block waits at most for others to become durable with
     */
    public record Settings(int threads, ThreadFactory factory, long syncDelayNs) {}

    /**
     * An engine for one file of a node.
     *
     * @param context what the node gives
     * @param region of the file, guarded
     * @param file the same file
     * @param settings how it works
     */
    public FileTransferEngine(EngineContext context, Region region, UnitFile file, Settings settings) {
        this.context = context;
        this.region = region;
        UnitMover mover = new UnitMover(context, region, file);
        queue = new FileQueue(mover, file, context.nanoClock(), settings.syncDelayNs());
        long alignment = Math.max(64, file.alignment());
        buffer = settings.threads() == 0 ? arena.allocate(mover.bufferBytes(), alignment) : null;
        spot = new ParkingSpot(() -> !look && (buffer == null || queue.isEmpty()), context.wakeup());
        for (int i = 0; i < settings.threads(); i++) {
            MemorySegment own = arena.allocate(mover.bufferBytes(), alignment);
            Thread thread = settings.factory().newThread(() -> queue.work(own));
            thread.setName("mooncake-" + context.self().name() + "-file-" + i);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Optional<String> advertised() {
        return Optional.empty();
    }

    @Override
    public Route route(Peer peer, int number) {
        return number == region.id() && peer.id().equals(context.self()) ? HERE : ELSEWHERE;
    }

    /** Out of the file into host memory, or out of host memory of this node into the file. */
    @Override
    public boolean submit(GuardedRead read) {
        if (!queue.add(read, read.destination().equals(region))) {
            return false;
        }
        if (buffer != null) {
            spot.wakeup();
        }
        return true;
    }

    @Override
    public void abort(GuardedRead read) {
        look = true;
        spot.wakeup();
    }

    // ---- the poller

    @Override
    public Poller poller() {
        return this;
    }

    @Override
    public String roleName() {
        return NAME;
    }

    @Override
    public int doWork() {
        int work = 0;
        if (buffer != null && queue.workOnce(buffer)) {
            work++;
        }
        long now = context.nanoClock().getAsLong();
        if (look || now - lookedNs >= SCAN_NS) {
            look = false;
            lookedNs = now;
            work += queue.endOver();
        }
        return work;
    }

    @Override
    public void park(long maxNs) {
        spot.park(maxNs);
    }

    @Override
    public void wakeup() {
        spot.wakeup();
    }

    /** What the device has is waited for: its memory is not to be touched after. */
    @Override
    public void onClose() {
        if (closed) {
            return;
        }
        closed = true;
        queue.close();
        boolean interrupted = false;
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        queue.endAll();
        arena.close();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
