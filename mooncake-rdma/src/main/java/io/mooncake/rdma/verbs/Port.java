package io.mooncake.rdma.verbs;

/**
 * A port of a device as of one call. Immutable.
 *
 * @param number from 1
 * @param state where its link is
 * @param mtu what it uses now
 * @param ethernet RoCE when true, else InfiniBand
 * @param lid its InfiniBand address; 0 on Ethernet
 * @param gids length of its GID table
 * @param maxMessageBytes of one message, unsigned int as long
 * @param mbitsPerSecond of the link, from width and speed; 0 where they say nothing
 */
public record Port(int number, PortState state, PathMtu mtu, boolean ethernet, int lid, int gids, long maxMessageBytes,
        long mbitsPerSecond) {

    /** {@code enum ibv_port_state}, by its numbers. */
    public enum PortState {
        /** Reserved. */
        NOP,
        /** No link. */
        DOWN,
        /** Link, but no subnet manager yet. */
        INIT,
        /** Ready but for the subnet manager's word. */
        ARMED,
        /** Usable. */
        ACTIVE,
        /** Usable, with link errors just seen. */
        ACTIVE_DEFER;

        static PortState of(int number) {
            return number >= 0 && number < values().length ? values()[number] : NOP;
        }
    }

    /**
     * Whether queue pairs can use it.
     *
     * @return true for an active port
     */
    public boolean isActive() {
        return state == PortState.ACTIVE || state == PortState.ACTIVE_DEFER;
    }

    /** Megabits a second and lane, per {@code active_speed} (SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR), by the bit that is set. */
    private static final int[] MBITS_PER_LANE = {2_500, 5_000, 10_000, 10_000, 14_000, 25_000, 50_000, 100_000};

    /** The link's rate from {@code active_width} and {@code active_speed}, both bit masks. */
    static long mbits(int width, int speed) {
        int lanes = switch (width) {
            case 1 -> 1;
            case 2 -> 4;
            case 4 -> 8;
            case 8 -> 12;
            case 16 -> 2;
            default -> 0;
        };
        int bit = Integer.numberOfTrailingZeros(speed);
        return bit < MBITS_PER_LANE.length ? (long) lanes * MBITS_PER_LANE[bit] : 0;
    }
}
