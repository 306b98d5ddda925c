package io.mooncake.bench.engine;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.tcp.TcpConfig;
import io.mooncake.core.transfer.tcp.TcpEnvironment;
import io.mooncake.core.transfer.tcp.TcpTransferEngine;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.function.LongSupplier;

/** TCP, whose reads begin one by one, in their order, as a test lets them pass; those before are on the wire for as long as it likes. Any thread. */
final class GatedTcp implements TransferEngine, Poller {
    private final TransferEngine tcp;
    private final LongSupplier nanoClock;
    private final Queue<GuardedRead> held = new ArrayDeque<>();
    private int free;

    /** Lets nothing pass. */
    GatedTcp(EngineContext context) {
        tcp = new TcpTransferEngine(context, TcpConfig.defaults(),
                TcpEnvironment.system(Thread.ofPlatform().daemon().factory()));
        nanoClock = context.nanoClock();
    }

    /** Reads that wait for the test. */
    synchronized int held() {
        return held.size();
    }

    /** So many more may begin, those that will be submitted included. */
    synchronized void pass(int reads) {
        free += reads;
        while (free > 0 && !held.isEmpty()) {
            GuardedRead read = held.remove();
            if (!submit(read)) {
                read.end(ReadStatus.CANCELED, null);
            }
        }
    }

    @Override
    public synchronized boolean submit(GuardedRead read) {
        if (free == 0) {
            return held.add(read);
        }
        free--;
        return tcp.submit(read);
    }

    /** Those that it holds end as an engine's do: by their deadline, or when nobody wants them any more. */
    @Override
    public int doWork() {
        int work = tcp.poller().doWork();
        for (GuardedRead read : takeLate()) {
            read.end(read.isGivenUp() ? ReadStatus.CANCELED : ReadStatus.TIMED_OUT, null);
            work++;
        }
        return work;
    }

    private synchronized List<GuardedRead> takeLate() {
        List<GuardedRead> late = new ArrayList<>();
        for (Iterator<GuardedRead> each = held.iterator(); each.hasNext();) {
            GuardedRead read = each.next();
            if (read.isGivenUp() || nanoClock.getAsLong() - read.deadlineNs() >= 0) {
                each.remove();
                late.add(read);
            }
        }
        return late;
    }

    @Override
    public void onClose() {
        synchronized (this) {
            held.forEach(read -> read.end(ReadStatus.CANCELED, null));
            held.clear();
        }
        tcp.poller().onClose();
    }

    @Override
    public void abort(GuardedRead read) {
        // Where it is held, the poller sees that.
        tcp.abort(read);
    }

    @Override
    public String name() {
        return tcp.name();
    }

    @Override
    public String roleName() {
        return tcp.poller().roleName();
    }

    @Override
    public Optional<String> advertised() {
        return tcp.advertised();
    }

    @Override
    public Route route(Peer peer, int region) {
        return tcp.route(peer, region);
    }

    @Override
    public boolean send(Peer peer, Topic topic, ByteBuffer message) {
        return tcp.send(peer, topic, message);
    }

    @Override
    public void onPeerDead(NodeId life, String reason) {
        tcp.onPeerDead(life, reason);
    }

    @Override
    public Poller poller() {
        return this;
    }

    @Override
    public void park(long maxNs) {
        tcp.poller().park(maxNs);
    }

    @Override
    public void wakeup() {
        tcp.poller().wakeup();
    }
}
