package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.manager.Relocator;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Priority;
import io.mooncake.core.transfer.ReadListener;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.TransferWork;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Copies blocks to other places of their pool by transfers as any caller's: behind the loads, by the engine that reads the pool. */
record Relocations(NodeParts node, NodeStore store) implements Relocator {
    private static final Logger LOG = LoggerFactory.getLogger(Relocations.class);
    private static final TransferOptions BACKGROUND = TransferOptions.DEFAULT.withPriority(Priority.BACKGROUND);

    @Override
    public @Nullable Copy copy(BlockRef from, Region into, long offset) {
        Peer self = node.sources().registry().peer(node.life().id);
        TransferEngine engine = self == null
                ? null
                : node.sources().engineTo(self, from.region(), from.length(), into.memory());
        if (self == null || engine == null) {
            return null;
        }
        One one = new One(node, engine);
        one.read.from(self, from.region(), from.offset(), from.length())
                .guardedBy(from.guardOffset(), from.guard())
                .withPriority(Priority.BACKGROUND)
                .into(into, offset);
        try {
            store.transfer(one, 1, true, BACKGROUND).submit();
            return one;
        } catch (MooncakeException e) {
            // The node is closing.
            return null;
        }
    }

    /** One block on its way. */
    private static final class One implements TransferWork, ReadListener, Copy {
        private final NodeParts node;
        private final TransferEngine engine;
        final GuardedRead read = new GuardedRead(this, 0);
        private @Nullable Transfer transfer;
        private volatile @Nullable ReadStatus status;

        One(NodeParts node, TransferEngine engine) {
            this.node = node;
            this.engine = engine;
        }

        private Transfer transfer() {
            return Objects.requireNonNull(transfer);
        }

        @Override
        public void start(Transfer transfer, long deadlineNs) {
            this.transfer = transfer;
            transfer.posted();
            boolean accepted;
            try {
                accepted = engine.submit(read.by(deadlineNs));
            } catch (RuntimeException e) {
                LOG.error("node {}: engine {} threw at {}", node.life().id, engine.name(), read, e);
                accepted = false;
            }
            if (!accepted) {
                onReadEnded(read, ReadStatus.REFUSED);
            }
        }

        @Override
        public void abort() {
            engine.abort(read);
        }

        @Override
        public int stage(int piece) {
            return 0;
        }

        @Override
        public boolean isGivenUp(GuardedRead read) {
            return transfer().isGivenUp();
        }

        @Override
        public void onReadExpired(GuardedRead read) {
            transfer().timeOut();
        }

        @Override
        public void onReadEnded(GuardedRead read, ReadStatus status) {
            this.status = status;
            transfer().end(0, outcome(status), read.cause());
            node.conductor().wakeup();
        }

        private static Outcome outcome(ReadStatus status) {
            return switch (status) {
                case OK -> Outcome.OK;
                case STALE -> Outcome.STALE;
                case CHECKSUM -> Outcome.CHECKSUM;
                case TIMED_OUT -> Outcome.TIMED_OUT;
                case CANCELED -> Outcome.CANCELED;
                case UNREACHABLE -> Outcome.UNREACHABLE;
                case REFUSED -> Outcome.REFUSED;
            };
        }

        @Override
        public boolean isOver() {
            return status != null;
        }

        @Override
        public boolean isWhole() {
            return status == ReadStatus.OK;
        }
    }
}
