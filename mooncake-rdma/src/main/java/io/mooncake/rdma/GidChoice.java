package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.util.List;

/**
 * Which of a port's GIDs a node uses, by rule. The index of one and the same address differs between machines and between boots, so it
 * is searched and never fixed, unless the configuration says so.
 */
final class GidChoice {
    /** What kind of packets a GID makes. */
    enum Type {
        /** InfiniBand, or RoCE v1: Ethernet frames that no router takes. */
        IB_OR_ROCE_V1,
        /** UDP. */
        ROCE_V2
    }

    /** One entry of the port's table. */
    record Entry(int index, Gid gid, Type type) {}

    private GidChoice() {}

    /**
     * Chooses.
     *
     * @param port names device and port
     * @param table the port's GIDs
     * @param asked index that the configuration names, or -1
     * @return RoCE v2 before others, routable before others, IPv4-mapped before others, the lowest index of equals
     * @throws MooncakeException CONFIG_ERROR when there is none, or not the one asked for
     */
    static Entry choose(String port, List<Entry> table, int asked) {
        Entry best = null;
        for (Entry entry : table) {
            if (entry.gid.isNone()) {
                continue;
            }
            if (asked >= 0 ? entry.index == asked : best == null || rank(entry) > rank(best)) {
                best = entry;
            }
        }
        if (best == null) {
            throw new MooncakeException(Kind.CONFIG_ERROR, port + " has no GID" + (asked >= 0
                    ? " at index " + asked + " among " + table + ": leave rdma.gidIndex out to have one chosen"
                    : ": give its network interface an address"));
        }
        return best;
    }

    private static int rank(Entry entry) {
        return (entry.type == Type.ROCE_V2 ? 4 : 0) + (entry.gid.isRoutable() ? 2 : 0) + (entry.gid.isIpv4() ? 1 : 0);
    }
}
