package io.mooncake.core.base;

/** How every thread of the library that waits for another backs off: it spins, then yields, then parks in its own way. */
public final class Backoff {
    /** Few: a duty cycle costs a system call, and on a shared core the peer that is waited for runs only when this thread yields. */
    private static final int SPINS = 10;
    /** Many: a yield to nobody costs little more than a spin, but to be woken from parking on a busy core costs milliseconds. */
    private static final int YIELDS = 500;

    private Backoff() {}

    /**
     * Spins or yields once, in the calling thread.
     *
     * @param round how often the caller has looked in vain, from 0 on
     * @return false when it is time to park instead, which for a virtual thread it is at once
     */
    public static boolean pause(int round) {
        if (round >= SPINS + YIELDS || Thread.currentThread().isVirtual()) {
            return false;
        }
        if (round < SPINS) {
            Thread.onSpinWait();
        } else {
            Thread.yield();
        }
        return true;
    }
}
