package io.mooncake.core.transfer.local;

import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ControlChannel;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Poller;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Route;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.Route.Locality;
import io.mooncake.core.transfer.Topic;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.UnitChecksums;
import io.mooncake.core.transfer.copy.ChunkSource;
import io.mooncake.core.transfer.copy.CopyPoller;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Copies from this node's readable regions, chunk by chunk under a pin; see {@link CopyPoller} for who copies when. */
public final class LocalTransferEngine implements TransferEngine, ChunkSource {
    private static final String NAME = "local";
    private static final Route HERE = new Route(Locality.NODE, true, Health.READY, "the block is on this node");
    private static final Route NOT_IN_HOST_MEMORY = new Route(Locality.NODE, false, Health.NONE,
            "the block is not in host memory");
    private static final Route ELSEWHERE = new Route(Locality.NODE, false, Health.NONE, "the block is on another node");

    private final EngineContext context;
    private final CopyPoller poller;

    /**
     * An engine for one node.
     *
     * @param context what the node gives
     */
    public LocalTransferEngine(EngineContext context) {
        this.context = context;
        poller = new CopyPoller(NAME, this, context.nanoClock(), context.wakeup());
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
    public Route route(Peer peer, int region) {
        if (!isHere(peer)) {
            return ELSEWHERE;
        }
        Region source = context.regions().readable(region);
        return source == null || source.memory() instanceof HostMemory ? HERE : NOT_IN_HOST_MEMORY;
    }

    private boolean isHere(Peer peer) {
        return peer.id().equals(context.self());
    }

    @Override
    public Poller poller() {
        return poller;
    }

    @Override
    public boolean send(Peer peer, Topic topic, ByteBuffer message) {
        byte[] copy = ControlChannel.copy(peer, message);
        if (poller.isClosed() || !isHere(peer)) {
            return false;
        }
        context.control().deliver(topic.number(), context.self(), copy);
        return true;
    }

    @Override
    public boolean submit(GuardedRead read) {
        return poller.submit(read);
    }

    /** Every chunk of a read looks by itself: the poller is only to be awake. */
    @Override
    public void abort(GuardedRead read) {
        poller.wakeup();
    }

    @Override
    public @Nullable MooncakeException refusal(GuardedRead read) {
        MooncakeException refusal = context.regions().refusal(read);
        if (refusal != null) {
            return refusal;
        }
        Region source = context.regions().readable(read.region());
        return source == null || source.memory() instanceof HostMemory
                ? null // Closed just now: copy() says so.
                : new MooncakeException(Kind.UNSUPPORTED, "the local engine copies host memory only; " + read);
    }

    @Override
    public ReadStatus copy(GuardedRead read, long length) {
        Region source = context.regions().readable(read.region());
        if (source == null || !(source.memory() instanceof HostMemory memory)) {
            // Closed just now.
            return ReadStatus.STALE;
        }
        return source.access() == Access.GUARDED
                ? copyPinned(read, source, memory, length)
                : copyRetained(read, source, memory, length);
    }

    private ReadStatus copyPinned(GuardedRead read, Region source, HostMemory memory, long length) {
        GuardSource guards = context.guards();
        long pin = guards.pin(source.id(), read.guardOffset(), read.expected(), read.offset() + read.received, length);
        if (pin < 0) {
            return pin == GuardSource.STALE ? ReadStatus.STALE : ReadStatus.REFUSED;
        }
        try {
            CopyPoller.copy(read, memory.segment(), length);
            if (guards.guard(pin) != read.expected()) {
                return ReadStatus.STALE;
            }
            UnitChecksums checksums = guards.checksums(source.id());
            return checksums == null || CopyPoller.isUndamaged(read, length, checksums)
                    ? ReadStatus.OK
                    : ReadStatus.CHECKSUM;
        } finally {
            guards.unpin(pin);
        }
    }

    private static ReadStatus copyRetained(GuardedRead read, Region source, HostMemory memory, long length) {
        if (!source.retain()) {
            return ReadStatus.STALE;
        }
        try {
            CopyPoller.copy(read, memory.segment(), length);
            return ReadStatus.OK;
        } finally {
            source.release();
        }
    }
}
