package io.mooncake.core.transfer.onesided;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.HostMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.UnitChecksums;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A region of the peer as one lane knows it. */
final class SimRegion implements RemoteRegion {
    private final int number;
    private boolean answered;
    private @Nullable MooncakeException refusal;
    private long length;
    private long guardBytes;
    private long checksumBytes;

    SimRegion(int number) {
        this.number = number;
    }

    int number() {
        return number;
    }

    /** The owner's answer. */
    void answer(SimFabric owner) {
        answered = true;
        Region region = owner.context().regions().readable(number);
        Memory guards = region == null ? null : owner.context().guards().table(number);
        if (region == null || !(region.memory() instanceof HostMemory)
                || (region.access() == Access.GUARDED) != (guards != null)) {
            refusal = new MooncakeException(Kind.UNAUTHORIZED,
                    "node " + owner.self() + " has no region r" + number + " that peers may read");
        } else {
            length = region.length();
            guardBytes = guards == null ? 0 : guards.length();
            UnitChecksums checksums = guards == null ? null : owner.context().guards().checksums(number);
            checksumBytes = checksums == null ? 0 : checksums.memory().length();
        }
    }

    /** The owner's memory, or null when it is not registered any more. */
    static @Nullable MemorySegment memory(SimFabric owner, SimRequest request) {
        Region region = owner.context().regions().readable(request.source.number);
        if (region == null || region.isClosed()) {
            return null;
        }
        Memory memory = switch (request.part) {
            case BYTES -> region.memory();
            case GUARDS -> owner.context().guards().table(region.id());
            case CHECKSUMS -> Objects.requireNonNull(owner.context().guards().checksums(region.id())).memory();
        };
        return memory instanceof HostMemory host
                && request.sourceOffset + request.bytes.length <= host.length() ? host.segment() : null;
    }

    @Override
    public boolean isAnswered() {
        return answered;
    }

    @Override
    public @Nullable MooncakeException refusal() {
        return refusal;
    }

    @Override
    public long length() {
        return length;
    }

    @Override
    public long guardBytes() {
        return guardBytes;
    }

    @Override
    public long checksumBytes() {
        return checksumBytes;
    }
}
