package io.mooncake.core.transfer;

import io.mooncake.core.base.Backoff;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The threads that wait for one thing: one of them is woken by name, further ones look again every so often. Allocates nothing. */
final class Waiting {
    /** How often whoever is not woken by name looks. */
    private static final long LOOK_NS = 100_000;

    private static final Duration LONGEST = Duration.ofDays(365);
    private static final VarHandle NAMED;

    static {
        try {
            NAMED = MethodHandles.lookup().findVarHandle(Waiting.class, "named", Thread.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final TransferHost host;
    private volatile @Nullable Thread named;

    Waiting(TransferHost host) {
        this.host = host;
    }

    /** When a wait that begins now ends at the latest. */
    static long untilNs(TransferHost host, Duration timeout) {
        return host.nowNs() + (timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout).toNanos();
    }

    /** What was reached answers last: false when the time is over first, or the thread is interrupted. */
    boolean await(BooleanSupplier reached, long untilNs) {
        return await(reached, untilNs, true);
    }

    /** The same for what nobody wakes for. */
    boolean look(BooleanSupplier reached, long untilNs) {
        return await(reached, untilNs, false);
    }

    private boolean await(BooleanSupplier reached, long untilNs, boolean woken) {
        if (reached.getAsBoolean() || host.pump(reached, untilNs)) {
            return reached.getAsBoolean();
        }
        for (int round = 0; Backoff.pause(round); round++) {
            if (reached.getAsBoolean()) {
                return true;
            }
        }
        Thread self = Thread.currentThread();
        boolean mine = woken && NAMED.compareAndSet(this, null, self);
        try {
            for (long left; !reached.getAsBoolean() && (left = untilNs - host.nowNs()) > 0 && !self.isInterrupted();) {
                LockSupport.parkNanos(this, mine ? left : Math.min(left, LOOK_NS));
            }
        } finally {
            if (mine) {
                named = null;
            }
        }
        return reached.getAsBoolean();
    }

    /** Has whoever waits look now. */
    void wake() {
        Thread waiting = named;
        if (waiting != null) {
            LockSupport.unpark(waiting);
        }
    }
}
