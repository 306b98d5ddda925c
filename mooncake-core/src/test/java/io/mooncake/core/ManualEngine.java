package io.mooncake.core;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An engine under the test's control: it reaches every other node, and a read stays with it until the test ends it. */
final class ManualEngine implements TransferEngine, Poller {
    /** What it has, oldest first. */
    final List<GuardedRead> reads = new CopyOnWriteArrayList<>();
    final List<GuardedRead> aborted = new CopyOnWriteArrayList<>();
    /** Who is said to be dead. */
    final List<NodeId> dead = new CopyOnWriteArrayList<>();
    /** Runs at the end of each submit. */
    Consumer<GuardedRead> onSubmit = read -> {};
    volatile boolean full;
    /** Runs in each duty cycle. */
    volatile Runnable onWork = () -> {};

    private final EngineContext context;
    private final String name;
    private boolean closed;

    ManualEngine(EngineContext context) {
        this(context, "manual");
    }

    ManualEngine(EngineContext context, String name) {
        this.context = context;
        this.name = name;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public String roleName() {
        return name();
    }

    @Override
    public Optional<String> advertised() {
        return Optional.empty();
    }

    @Override
    public Route route(Peer peer, int region) {
        return Route.byAddress(!peer.id().equals(context.self()));
    }

    @Override
    public synchronized boolean submit(GuardedRead read) {
        if (full || closed) {
            return false;
        }
        reads.add(read);
        onSubmit.accept(read);
        return true;
    }

    /** To its own node at once; others it does not reach. */
    @Override
    public boolean send(Peer peer, Topic topic, ByteBuffer message) {
        boolean toSelf = peer.id().equals(context.self());
        if (toSelf) {
            context.control().deliver(topic.number(), context.self(), ControlChannel.copy(peer, message));
        }
        return toSelf;
    }

    @Override
    public void abort(GuardedRead read) {
        aborted.add(read);
    }

    @Override
    public void onPeerDead(NodeId life, String reason) {
        dead.add(life);
    }

    @Override
    public Poller poller() {
        return this;
    }

    /** Writes every byte of a read's destination. */
    static void land(GuardedRead read, int fill) {
        HostMemory memory = (HostMemory) read.destination().memory();
        for (long at = 0; at < read.length();) {
            long run = read.runAt(at, read.length() - at);
            memory.segment().asSlice(read.destinationAt(at), run).fill((byte) fill);
            at += run;
        }
    }

    void end(GuardedRead read, ReadStatus status) {
        end(read, status, null);
    }

    void end(GuardedRead read, ReadStatus status, @Nullable MooncakeException cause) {
        if (!reads.remove(read)) {
            throw new AssertionError(read + " is not here");
        }
        read.end(status, cause);
    }

    /** The oldest read, with its bytes. */
    void arrive(int fill) {
        GuardedRead read = reads.getFirst();
        land(read, fill);
        end(read, ReadStatus.OK);
    }

    @Override
    public int doWork() {
        onWork.run();
        return 0;
    }

    @Override
    public void park(long maxNs) {
        Thread.onSpinWait();
    }

    @Override
    public void wakeup() {}

    @Override
    public synchronized void onClose() {
        closed = true;
        reads.forEach(read -> end(read, ReadStatus.CANCELED));
    }
}
