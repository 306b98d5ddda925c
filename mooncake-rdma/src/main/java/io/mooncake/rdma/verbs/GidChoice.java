package io.mooncake.rdma.verbs;

import java.net.InetAddress;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Which GID of a port its queue pairs use, and why. A pure rule over the table as it is now; asked again when the port says that the table
 * changed. Immutable.
 *
 * <p>On Ethernet: RoCE version 2 before version 1, routable before link-local, IPv4 before IPv6, then the lowest index. On InfiniBand: the
 * lowest index that is not link-local, else the lowest.
 *
 * @param gid the choice
 * @param reason for readers
 */
public record GidChoice(Gid gid, String reason) {

    private static final Comparator<Gid> BEST_FIRST = Comparator.comparing((Gid g) -> g.type() != Gid.Type.ROCE_V2)
            .thenComparing(Gid::isLinkLocal)
            .thenComparing(g -> !g.isIpv4())
            .thenComparingInt(Gid::index);

    /**
     * Applies the rule.
     *
     * @param gids the port's table without its empty entries
     * @param wanted an index or an address, in any of its forms, that is to be taken, or null for the rule
     * @return empty when the table is empty, or holds nothing of what is wanted
     */
    public static Optional<GidChoice> of(List<Gid> gids, @Nullable String wanted) {
        if (wanted != null) {
            String address = canonical(wanted);
            return gids.stream()
                    .filter(gid -> gid.address().equals(address) || Integer.toString(gid.index()).equals(wanted))
                    .min(BEST_FIRST)
                    .map(gid -> new GidChoice(gid, "asked for by " + wanted));
        }
        return gids.stream().min(BEST_FIRST).map(gid -> new GidChoice(gid, reason(gid)));
    }

    /** An address in the form of {@link Gid#address}; what is none as it is. */
    private static String canonical(String text) {
        try {
            return InetAddress.ofLiteral(text).getHostAddress();
        } catch (IllegalArgumentException none) {
            return text;
        }
    }

    private static String reason(Gid gid) {
        String family = gid.isIpv4() ? "IPv4" : "IPv6";
        String scope = gid.isLinkLocal() ? ", link-local only: peers behind a router cannot reach it" : "";
        return switch (gid.type()) {
            case ROCE_V2 -> "RoCE version 2, " + family + scope;
            case ROCE_V1 -> "RoCE version 1, for want of a version 2: not routable";
            case INFINIBAND -> "InfiniBand" + (gid.isLinkLocal() ? ", this subnet only" : "");
        };
    }
}
