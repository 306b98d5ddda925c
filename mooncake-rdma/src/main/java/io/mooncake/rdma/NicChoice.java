package io.mooncake.rdma;

import java.util.List;

/** Which card a lane uses: one on the peer's wire before others, then one beside the pools' memory, then the one with the fewest lanes. Pure. */
final class NicChoice {
    /** What a subnet's addresses have in common, as long as nobody says more: an IPv4 /24, an IPv6 /64. */
    private static final int IPV4_SUBNET_BITS = 96 + 24;
    private static final int IPV6_SUBNET_BITS = 64;

    /**
     * A card.
     *
     * @param gid its address, 16 bytes
     * @param besideMemory whether the node's pools lie on its NUMA node
     * @param lanes that it has
     */
    @SuppressWarnings("ArrayRecordComponent") // Never compared.
    record Candidate(byte[] gid, boolean besideMemory, int lanes) {}

    private NicChoice() {}

    /**
     * Chooses.
     *
     * @param candidates the usable cards, in the order of preference
     * @param peer the peer's addresses, 16 bytes each
     * @return an index of the candidates; -1 when there is none
     */
    static int choose(List<Candidate> candidates, List<byte[]> peer) {
        int best = -1;
        int bestRank = -1;
        for (int i = 0; i < candidates.size(); i++) {
            Candidate candidate = candidates.get(i);
            boolean near = peer.stream().anyMatch(gid -> isNear(candidate.gid, gid));
            int rank = (near ? 2 : 0) + (candidate.besideMemory ? 1 : 0);
            if (rank > bestRank || (rank == bestRank && candidate.lanes < candidates.get(best).lanes)) {
                best = i;
                bestRank = rank;
            }
        }
        return best;
    }

    private static boolean isNear(byte[] one, byte[] other) {
        int common = 0;
        while (common < 8 * one.length && bit(one, common) == bit(other, common)) {
            common++;
        }
        boolean ipv4 = one[10] == -1 && one[11] == -1 && one[0] == 0;
        return common >= (ipv4 ? IPV4_SUBNET_BITS : IPV6_SUBNET_BITS);
    }

    private static int bit(byte[] bytes, int number) {
        return bytes[number / 8] >> (7 - number % 8) & 1;
    }
}
