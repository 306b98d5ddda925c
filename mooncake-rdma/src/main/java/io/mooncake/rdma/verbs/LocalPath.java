package io.mooncake.rdma.verbs;

/**
 * This side's end of a connection. Immutable.
 *
 * @param port of the device, from 1
 * @param gidIndex of the port's GID table
 * @param mtu of the port
 * @param ethernet RoCE when true, else InfiniBand
 */
public record LocalPath(int port, int gidIndex, PathMtu mtu, boolean ethernet) {
    /**
     * A port with a GID of it.
     *
     * @param port the port
     * @param gid the choice
     * @return the path from there
     */
    public static LocalPath of(Port port, Gid gid) {
        return new LocalPath(port.number(), gid.index(), port.mtu(), port.ethernet());
    }
}
