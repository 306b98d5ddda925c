package io.mooncake.rdma.verbs;

import io.mooncake.rdma.verbs.ffi.Verbs;
import io.mooncake.rdma.verbs.ffi.VerbsCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The RDMA devices that this process can see, as of one call. Immutable.
 *
 * @param names the kernel's names ("mlx5_0", "rxe0"), in the library's order
 * @param errno 0, or why the library could not tell (then {@code names} is empty)
 */
public record DeviceList(List<String> names, int errno) {

    /** ENOSYS: the kernel has no RDMA support, or its module is not loaded. */
    public static final int NO_KERNEL_SUPPORT = 38;

    /** Copies the names. */
    public DeviceList {
        names = List.copyOf(names);
    }

    /**
     * Asks the library. Needs an open library: see {@link io.mooncake.rdma.verbs.ffi.VerbsLibrary#failure()}.
     *
     * @return the devices seen now
     */
    public static DeviceList read() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment errno = VerbsCalls.newErrno(arena);
            MemorySegment count = arena.allocate(Verbs.C_INT);
            MemorySegment list = VerbsCalls.getDeviceList(errno, count);
            if (list.equals(MemorySegment.NULL)) {
                return new DeviceList(List.of(), VerbsCalls.errno(errno));
            }
            try {
                List<String> names = new ArrayList<>();
                for (int i = 0; i < count.get(Verbs.C_INT, 0); i++) {
                    MemorySegment device = list.getAtIndex(Verbs.C_POINTER, i);
                    names.add(Verbs.ibv_get_device_name(device).getString(0));
                }
                return new DeviceList(names, 0);
            } finally {
                Verbs.ibv_free_device_list(list);
            }
        }
    }
}
