package io.mooncake.core.transfer.file;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.transfer.GuardSource;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.ReadStatus;
import org.jspecify.annotations.Nullable;

/** One read on its way, unit by unit. Under the queue's lock, but for what never changes. */
final class FileMove {
    final GuardedRead read;
    /** Into the file, else out of it. */
    final boolean intoFile;
    private final long lastUnit;

    private long nextUnit;
    private int busy;
    private boolean begun;
    boolean expired;
    ReadStatus status = ReadStatus.OK;
    @Nullable
    MooncakeException cause;
    long waitsSinceNs;

    FileMove(GuardedRead read, boolean intoFile) {
        this.read = read;
        this.intoFile = intoFile;
        nextUnit = read.blockOffset() / GuardSource.UNIT_BYTES;
        lastUnit = (read.blockOffset() + Math.max(1, read.length()) - 1) / GuardSource.UNIT_BYTES;
    }

    /** Whether a unit can be begun: of what goes into the file the first one goes alone, since it prepares the slot. */
    boolean hasUnit() {
        return status == ReadStatus.OK && nextUnit <= lastUnit && (!intoFile || nextUnit == 0 || begun);
    }

    long takeUnit() {
        busy++;
        return nextUnit++;
    }

    void unitEnded() {
        busy--;
        begun = true;
    }

    void fail(ReadStatus why, @Nullable MooncakeException more) {
        if (status == ReadStatus.OK) {
            status = why;
            cause = more;
        }
    }

    boolean isBusy() {
        return busy > 0;
    }

    /** Nothing is outstanding, and nothing more will be begun. */
    boolean isOver() {
        return busy == 0 && (status != ReadStatus.OK || nextUnit > lastUnit);
    }
}
