package io.mooncake.cuda;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Region;
import org.jspecify.annotations.Nullable;

/** Where the bytes of a read are, and what proves them. The agent's. */
interface ReadSource {
    /** What offsets are offsets in, as this process reaches it. */
    Memory memory();

    /** What a chunk of a read needs while it is copied, not negative; else {@link GuardSource#STALE} or {@link GuardSource#REFUSED}. */
    long pin(GuardedRead read, long position, long length);

    /** Whether what was copied under a pin are the bytes that were asked for. */
    boolean proves(GuardedRead read, long pin);

    void unpin(long pin);

    /** Why nothing more comes from there; null while it is as it was. */
    @Nullable
    MooncakeException loss();

    /**
     * A region of this node: blocks are pinned, other memory is kept.
     *
     * @param guards of the node
     * @param region which
     */
    record Here(GuardSource guards, Region region) implements ReadSource {
        @Override
        public Memory memory() {
            return region.memory();
        }

        private boolean isGuarded() {
            return region.access() == Access.GUARDED;
        }

        @Override
        public long pin(GuardedRead read, long position, long length) {
            return isGuarded()
                    ? guards.pin(region.id(), read.guardOffset(), read.expected(), read.offset() + position, length)
                    : region.retain() ? 0 : GuardSource.STALE;
        }

        @Override
        public boolean proves(GuardedRead read, long pin) {
            return !isGuarded() || guards.guard(pin) == read.expected();
        }

        @Override
        public void unpin(long pin) {
            if (isGuarded()) {
                guards.unpin(pin);
            } else {
                region.release();
            }
        }

        @Override
        public @Nullable MooncakeException loss() {
            return null;
        }
    }
}
