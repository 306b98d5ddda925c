package io.mooncake.core.base;

import io.mooncake.core.base.MooncakeException.Kind;
import java.nio.charset.StandardCharsets;

/**
 * Where a node runs, in names that are the same for whoever is at the same place. Immutable. An empty one is not known, and the same as no
 * other's.
 *
 * @param process of the node's process
 * @param host of its host
 * @param rack of the host's rack
 * @param zone of the rack's zone
 */
public record Site(String process, String host, String rack, String zone) {
    /** A name's bytes at most, in UTF-8. */
    public static final int MAX_NAME_BYTES = 255;
    /** Nothing is known. */
    public static final Site UNKNOWN = new Site("", "", "", "");

    /**
     * Checks the names.
     *
     * @throws MooncakeException INVALID_ARGUMENT for one that is too long
     */
    public Site {
        for (String name : new String[]{process, host, rack, zone}) {
            if (name.getBytes(StandardCharsets.UTF_8).length > MAX_NAME_BYTES) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT,
                        "'" + name + "' is too long for a place's name: at most " + MAX_NAME_BYTES + " bytes");
            }
        }
    }

    /**
     * How far another node is.
     *
     * @param other where it runs
     * @return the nearest that both are known to have in common; never NODE, since two nodes can run in one process
     */
    public Hop hopTo(Site other) {
        return same(process, other.process)
                ? Hop.PROCESS
                : same(host, other.host)
                        ? Hop.HOST
                        : same(rack, other.rack) ? Hop.RACK : same(zone, other.zone) ? Hop.ZONE : Hop.FAR;
    }

    private static boolean same(String name, String other) {
        return !name.isEmpty() && name.equals(other);
    }
}
