package io.mooncake.bench.availability;

import io.mooncake.cuda.Cuda;
import io.mooncake.rdma.Rdma;
import org.jspecify.annotations.Nullable;

/** Main class of a forked JVM: prints, one line each, what the modules say about themselves, and what it said at the second try. */
final class AvailabilityProbe {

    private AvailabilityProbe() {}

    public static void main(String[] args) {
        for (int i = 1; i <= 2; i++) {
            say("rdma " + i, Rdma.isAvailable(), Rdma.unavailabilityCause());
            say("cuda " + i, Cuda.isAvailable(), Cuda.unavailabilityCause());
        }
        if (args.length > 0) {
            // What code that did not ask first would meet; the class path hides no package.
            touch("raw verbs", io.mooncake.rdma.verbs.ffi.Verbs::ibv_fork_init$address);
            touch("raw cuda", io.mooncake.cuda.runtime.ffi.Cuda::cudaGetDeviceCount$address);
        }
    }

    private static void say(String what, boolean available, @Nullable Throwable cause) {
        System.out.println(what + ": " + (cause == null ? "available" : cause.getMessage()));
        if (available != (cause == null)) {
            throw new AssertionError(what + ": isAvailable() = " + available + ", cause = " + cause);
        }
    }

    private static void touch(String what, Runnable call) {
        try {
            call.run();
            System.out.println(what + ": works");
        } catch (LinkageError e) {
            System.out.println(what + ": " + e.getClass().getSimpleName() + " " + e.getMessage());
        }
    }
}
