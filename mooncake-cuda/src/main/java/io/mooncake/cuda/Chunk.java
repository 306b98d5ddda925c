package io.mooncake.cuda;

import io.mooncake.cuda.runtime.Event;
import org.jspecify.annotations.Nullable;

/** A piece of a read that a device is copying. The agent's; used again and again. */
final class Chunk {
    /** {@link #place}: it goes straight. */
    static final int NO_PLACE = -1;
    /** {@link #pin}: none is held. */
    static final long NO_PIN = -1;

    /** Whose; null while nobody's. */
    @Nullable
    DeviceRead read;
    /** In the read. */
    long position;
    long length;
    /** What keeps its source as it is. */
    long pin = NO_PIN;
    /** Which pinned buffer it goes by. */
    int place = NO_PLACE;
    /** Whether it has to go on to another device from the buffer, which it is on the way to. */
    boolean goesOn;
    /** Passes when it has been copied. */
    @Nullable
    Event event;
}
