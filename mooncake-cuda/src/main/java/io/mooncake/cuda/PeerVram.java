package io.mooncake.cuda;

import io.mooncake.core.base.Bounds;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.shm.PeerGuards;
import io.mooncake.cuda.runtime.Device;
import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A pool on a device of another process of this host, opened here: this process's device reads its bytes, and its guards stand in a file that
 * both map. The owner is asked nothing and pins nothing: bytes that were copied count if their guard, read afterwards, is the one expected.
 *
 * <p>The owner does not free the memory while this is open; so it is closed when the owner says that it closes, as soon as no copy runs. The agent's.
 */
final class PeerVram implements ReadSource {
    private static final Logger LOG = LoggerFactory.getLogger(PeerVram.class);

    private final NodeId owner;
    private final PeerGuards guards;
    private final ImportedVram imported;
    private int uses;
    private @Nullable MooncakeException loss;

    private PeerVram(NodeId owner, PeerGuards guards, ImportedVram imported) {
        this.owner = owner;
        this.guards = guards;
        this.imported = imported;
    }

    /**
     * Opens it.
     *
     * @throws IOException when its file is not there, or says nothing of use
     * @throws MooncakeException when the device can't reach the memory
     */
    static PeerVram open(Device device, NodeId self, NodeId owner, Path file) throws IOException {
        PeerGuards guards = PeerGuards.open(file, self + "-" + device.number());
        try {
            return new PeerVram(owner, guards, new ImportedVram(device, guards.note()));
        } catch (IOException | RuntimeException e) {
            guards.close();
            throw e;
        }
    }

    /** Null when the range and the guard are inside. */
    @Nullable
    MooncakeException objection(GuardedRead read) {
        if (!Bounds.contains(read.offset(), read.length(), imported.memory().length())) {
            return new MooncakeException(Kind.OUT_OF_BOUNDS, read + ": offset " + read.offset() + " + " + read.length()
                    + " > length " + imported.memory().length() + " (or negative)");
        }
        return guards.isGuard(read.guardOffset())
                ? null
                : new MooncakeException(Kind.OUT_OF_BOUNDS,
                        read + ": guard offset " + read.guardOffset() + " is no guard of that pool");
    }

    @Override
    public Memory memory() {
        return imported.memory();
    }

    @Override
    public long pin(GuardedRead read, long position, long length) {
        if (loss != null || !guards.isOpen() || guards.read(read.guardOffset()) != read.expected()) {
            return GuardSource.STALE;
        }
        uses++;
        return 0;
    }

    @Override
    public boolean proves(GuardedRead read, long pin) {
        return guards.read(read.guardOffset()) == read.expected();
    }

    @Override
    public void unpin(long pin) {
        uses--;
        closeIfUnused();
    }

    @Override
    public @Nullable MooncakeException loss() {
        return loss;
    }

    /** Why it can't be used any more, as its owner's state says; null while it can. Some system calls. */
    @Nullable
    String look() {
        return !guards.isOpen() ? "the node has closed" : guards.isOwnerAlive() ? null : "its process has ended";
    }

    /** No read begins or goes on; with the last copy that runs it is closed. The second time does nothing. */
    void lose(String why) {
        if (loss == null) {
            loss = new MooncakeException(Kind.PEER_UNREACHABLE, "the device memory of node " + owner
                    + " is not read any more: " + why);
            closeIfUnused();
        }
    }

    private void closeIfUnused() {
        if (loss == null || uses > 0) {
            return;
        }
        try {
            imported.close();
        } catch (MooncakeException e) {
            LOG.warn("the device memory of node {} was not given back", owner, e);
        }
        guards.close();
    }
}
