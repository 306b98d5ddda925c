package io.mooncake.bench.cli;

/** What is done to processes of a cluster. */
enum Fault {
    /** kill -9; seen by broken connections, then by membership; started again on the same ports. */
    KILL,
    /** Stopped until membership has seen it, then going on: the same life. */
    FREEZE,
    /** Closed in good order, and started again on the same ports at once. */
    RESTART,
    /** Some of them cut off from the others, until both sides have seen it. */
    PARTITION,
    /** Everything to one of them comes 20 ms later, for a while: nothing may happen. */
    DELAY,
    /** One of 50 packets to one of them is lost, for a while: nothing may happen. */
    LOSS;

    boolean canBeDoneAt(Hosts hosts) {
        return switch (this) {
            case KILL, FREEZE, RESTART -> true;
            case PARTITION -> hosts.canCut();
            case DELAY, LOSS -> hosts.canDisturb();
        };
    }
}
