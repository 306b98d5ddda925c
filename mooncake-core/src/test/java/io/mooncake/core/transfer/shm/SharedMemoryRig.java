package io.mooncake.core.transfer.shm;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Route.Health;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.copy.CopyPoller;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.Source;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Nodes of which the one named owner has a pool in shared memory. Sources are stretches of its slots, from the end on downwards. */
final class SharedMemoryRig extends EngineRig {
    private static final String OWNER = "owner";
    private static final long SLOTS_BYTES = 72L << 20;
    private static final long ALIGNMENT = 64;

    private final Path parent;
    private MemorySegment slots = MemorySegment.NULL;
    private @Nullable SharedMemory memory;
    private @Nullable Region region;
    private long free = SLOTS_BYTES;

    SharedMemoryRig(Path parent) {
        this.parent = parent;
    }

    @Override
    protected MemorySegment guardTable(NodeId owner, long bytes) {
        if (!owner.name().equals(OWNER)) {
            return super.guardTable(owner, bytes);
        }
        SharedMemory made = SharedMemory.create(parent, owner, SLOTS_BYTES + SharedMemory.PAGE, this::nowNs);
        memory = made;
        slots = made.reserve(SLOTS_BYTES, ALIGNMENT, arena());
        return made.reserve(bytes, ALIGNMENT, arena());
    }

    @Override
    protected TransferEngine engine(EngineContext context) {
        if (!context.self().name().equals(OWNER)) {
            return new SharedMemoryTransferEngine(context, null);
        }
        SharedMemory own = Objects.requireNonNull(memory);
        Region whole = context.regions().register(Memory.of(slots), Access.GUARDED);
        own.publish(whole.id());
        region = whole;
        return new SharedMemoryTransferEngine(context, own);
    }

    @Override
    public boolean canSend() {
        return false;
    }

    @Override
    public boolean hasPlainRegions() {
        return false;
    }

    @Override
    public boolean needsOwner() {
        return false;
    }

    /** It would be another file, which is not there. */
    @Override
    public Kind anotherLife() {
        return Kind.PEER_UNREACHABLE;
    }

    @Override
    public long queuedBytes() {
        return CopyPoller.INLINE_BYTES + 1;
    }

    @Override
    public Source source(Side owner, long bytes) {
        free = (free - bytes) / ALIGNMENT * ALIGNMENT;
        MemorySegment stretch = fillWithPattern(slots.asSlice(free, bytes));
        return new Source(owner, Objects.requireNonNull(region), free, stretch, 0);
    }

    @Override
    public Source guarded(Side owner, long bytes) {
        return source(owner, bytes);
    }

    @Override
    public void connect(Side reader, Side owner) {
        int shared = Objects.requireNonNull(region).id();
        until(() -> reader.engine.route(owner.peer(), shared).health() == Health.READY);
    }

    @Override
    public void stop(Side side) {
        super.stop(side);
        if (side.id.name().equals(OWNER)) {
            Objects.requireNonNull(memory).close();
        }
    }

    @Override
    public void close() {
        super.close();
        Objects.requireNonNull(memory).close();
    }
}
