package io.mooncake.rdma.verbs;

import java.util.List;

/**
 * An RDMA device as the kernel names it, not opened. Immutable; any thread.
 *
 * @param provider whose device
 * @param name the kernel's name ("mlx5_0", "rxe0")
 */
public record Device(Provider provider, String name) {

    /** What the kernel writes for a device that belongs to no NUMA node, as in virtual machines. */
    public static final int NO_NUMA_NODE = -1;

    /**
     * The devices seen now.
     *
     * @param provider whose
     * @return in the library's order; empty when there is none
     * @throws VerbsException when the library cannot tell
     */
    public static List<Device> list(Provider provider) {
        DeviceList list = provider.devices();
        if (list.errno() != 0) {
            throw new VerbsException("ibv_get_device_list", "", list.errno());
        }
        return list.names().stream().map(name -> new Device(provider, name)).toList();
    }

    /**
     * The NUMA node that its slot belongs to.
     *
     * @return {@link #NO_NUMA_NODE} where the kernel does not say
     */
    public int numaNode() {
        String text = provider.attribute(name, "device/numa_node");
        try {
            return text.isEmpty() ? NO_NUMA_NODE : Math.max(NO_NUMA_NODE, Integer.parseInt(text));
        } catch (NumberFormatException notANumber) {
            return NO_NUMA_NODE;
        }
    }

    /**
     * Its place on the bus.
     *
     * @return for example {@code 0000:3b:00.0}; empty for a device without one (Soft-RoCE)
     */
    public String pciAddress() {
        return provider.attribute(name, "device");
    }

    /**
     * Opens it.
     *
     * @return the open device, to be closed
     * @throws VerbsException ENODEV when it is gone, EACCES without the rights
     */
    public Context open() {
        return new Context(this);
    }

    @Override
    public String toString() {
        return "device " + name;
    }
}
