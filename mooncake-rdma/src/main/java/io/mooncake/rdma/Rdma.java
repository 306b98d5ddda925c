package io.mooncake.rdma;

import io.mooncake.rdma.verbs.DeviceList;
import io.mooncake.rdma.verbs.NativeProvider;
import io.mooncake.rdma.verbs.ffi.VerbsLibrary;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Whether this process can use RDMA: libibverbs is found and complete, native access is granted, and the kernel shows at
 * least one device. Found out once, at the first question; safe from any thread.
 *
 * <p>The library is {@code libibverbs.so.1}, or the file that the system property {@code io.mooncake.rdma.library} names.
 * The JVM flag {@code --enable-native-access=io.mooncake.rdma} ({@code ALL-UNNAMED} on the class path) grants native access.
 */
public final class Rdma {

    @SuppressWarnings("StaticAssignmentOfThrowable") // A value to be asked for, never thrown.
    private static final @Nullable Throwable UNAVAILABILITY_CAUSE = probe();

    private Rdma() {}

    /**
     * Whether RDMA can be used here.
     *
     * @return true when {@link #unavailabilityCause()} is null
     */
    public static boolean isAvailable() {
        return UNAVAILABILITY_CAUSE == null;
    }

    /**
     * Why RDMA can't be used here.
     *
     * @return its message is one sentence with the remedy, the same at every call; null when RDMA is available
     */
    public static @Nullable Throwable unavailabilityCause() {
        return UNAVAILABILITY_CAUSE;
    }

    /**
     * Looks at every device, without using it: what there is, what a node would use of it and why, and what is wrong.
     *
     * @param devices the setting of a node
     * @return as of now; without libibverbs it says that alone
     */
    public static RdmaSurvey survey(RdmaConfig.Devices devices) {
        MemoryLock lock = MemoryLock.read();
        UnsatisfiedLinkError failure = VerbsLibrary.failure();
        return failure == null
                ? RdmaSurvey.of(new NativeProvider(), devices, lock)
                : new RdmaSurvey(List.of(), lock.limitBytes(), List.of(String.valueOf(failure.getMessage())));
    }

    private static @Nullable Throwable probe() {
        UnsatisfiedLinkError failure = VerbsLibrary.failure();
        if (failure != null) {
            return failure;
        }
        String missing = missing(DeviceList.read());
        return missing == null ? null : new UnsupportedOperationException(missing);
    }

    /** Why there is no device, with the remedy; null when there is one. */
    static @Nullable String missing(DeviceList devices) {
        if (!devices.names().isEmpty()) {
            return null;
        }
        return switch (devices.errno()) {
            case 0 -> "libibverbs shows no RDMA device: install the adapter and its driver, or give the container its "
                    + "devices (/dev/infiniband)";
            case DeviceList.NO_KERNEL_SUPPORT ->
                "the kernel has no RDMA support (ibv_get_device_list: errno 38): load its "
                        + "module with 'modprobe ib_uverbs'";
            default -> "ibv_get_device_list failed with errno " + devices.errno()
                    + ": see man ibv_get_device_list, and check the rights on /dev/infiniband";
        };
    }
}
