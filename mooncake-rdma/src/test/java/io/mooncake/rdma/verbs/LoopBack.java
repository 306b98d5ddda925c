package io.mooncake.rdma.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.rdma.rig.RdmaDevices;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** Two queue pairs of one device that are connected to each other, with memory for both. Skips the test without a device. */
final class LoopBack implements AutoCloseable {
    static final long BYTES = 16L << 20;
    static final int DEPTH = 64;
    static final ConnectionSettings SETTINGS = new ConnectionSettings(ConnectionSettings.Timers.DEFAULT,
            ConnectionSettings.Route.DEFAULT, 16, 16);
    private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(30);

    private final Deque<NativeObject> made = new ArrayDeque<>();
    private final Arena arena = Arena.ofShared();
    final Context context;
    final ProtectionDomain domain;
    final CompletionChannel channel;
    final CompletionQueue queue;
    final WorkRequestRing ring = new WorkRequestRing(DEPTH);
    final MemorySegment source = arena.allocate(BYTES, 4096);
    final MemorySegment target = arena.allocate(BYTES, 4096);
    final MemoryRegion sourceRegion;
    final MemoryRegion targetRegion;
    final QueuePair reader;
    final QueuePair owner;

    LoopBack() {
        this(ConnectionSettings.Timers.DEFAULT);
    }

    LoopBack(ConnectionSettings.Timers timers) {
        RdmaDevices.assume();
        context = own(Device.list(new NativeProvider()).getFirst().open());
        domain = own(context.newProtectionDomain());
        channel = own(context.newCompletionChannel());
        queue = own(context.newCompletionQueue(4 * DEPTH, channel));
        for (long i = 0; i < BYTES; i += Long.BYTES) {
            source.set(ValueLayout.JAVA_LONG, i, pattern(i));
        }
        sourceRegion = own(domain.register(source.address(), BYTES, Access.REMOTE_READ));
        targetRegion = own(domain.register(target.address(), BYTES, Access.LOCAL_WRITE));
        reader = own(newQueuePair());
        owner = own(newQueuePair());
        connect(reader, owner, new ConnectionSettings(timers, ConnectionSettings.Route.DEFAULT, 16, 16));
    }

    static long pattern(long offset) {
        return offset * 0x9E37_79B9_7F4A_7C15L + 1;
    }

    private <T extends NativeObject> T own(T object) {
        made.push(object);
        return object;
    }

    private QueuePair newQueuePair() {
        return domain.newQueuePair(queue, new QueuePair.Capacity(DEPTH, DEPTH, 64));
    }

    /** Takes the port's best GID. */
    static Gid gid(Context context, Port port) {
        return GidChoice.of(context.gids(port), null).orElseThrow().gid();
    }

    private void connect(QueuePair one, QueuePair other, ConnectionSettings settings) {
        Port port = context.port(1);
        Gid gid = gid(context, port);
        int onePsn = ThreadLocalRandom.current().nextInt(1 << 24);
        int otherPsn = ThreadLocalRandom.current().nextInt(1 << 24);
        List<QueuePair> ends = List.of(one, other);
        ends.forEach(end -> end.toInit(1, Access.REMOTE_READ | Access.REMOTE_WRITE));
        LocalPath path = LocalPath.of(port, gid);
        one.toReadyToReceive(path, new PeerEnd(other.number(), otherPsn, port.mtu(), port.lid(), gid.raw()), settings);
        other.toReadyToReceive(path, new PeerEnd(one.number(), onePsn, port.mtu(), port.lid(), gid.raw()), settings);
        one.toReadyToSend(onePsn, settings);
        other.toReadyToSend(otherPsn, settings);
    }

    /** Fills a READ of the source at an offset into the target at the same. */
    void fillRead(long cookie, long offset, int bytes, boolean signaled) {
        ring.read(cookie, signaled)
                .remote(sourceRegion.address() + offset, sourceRegion.remoteKey())
                .local(targetRegion.address() + offset, bytes, targetRegion.localKey());
    }

    /** Posts what was filled; all of it must be taken. */
    void post() {
        int filled = ring.filled();
        assertEquals(filled, reader.post(ring), () -> "refused with errno " + ring.refusal());
    }

    /** What became of a request. */
    record Ended(long cookie, WorkStatus status, int queuePair, int bytes) {}

    /** Waits until so many completions have come. */
    List<Ended> await(int count) {
        List<Ended> ended = new ArrayList<>();
        long begunNs = System.nanoTime();
        while (ended.size() < count) {
            int taken = queue.poll(CompletionQueue.BATCH);
            for (int i = 0; i < taken; i++) {
                Completion completion = queue.completion(i);
                ended.add(new Ended(completion.cookie(), completion.status(), completion.queuePair(),
                        completion.isSuccess() ? completion.bytes() : 0));
            }
            if (System.nanoTime() - begunNs > LIMIT_NS) {
                throw new AssertionError("only " + ended + " of " + count + " completions came");
            }
        }
        assertEquals(count, ended.size(), ended::toString);
        return ended;
    }

    /** The first byte from an offset on that differs from the source; -1 when none does. */
    long firstDifference(long offset, long bytes) {
        return source.asSlice(offset, bytes).mismatch(target.asSlice(offset, bytes));
    }

    @Override
    public void close() {
        while (!made.isEmpty()) {
            made.pop().close();
        }
        ring.close();
        arena.close();
    }
}
