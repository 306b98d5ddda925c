package io.mooncake.bench.cli;

/** What of two runs is compared. */
enum Figure {
    RATE("GB/s", "gbPerS"), LATENCY("p50 us", "p50Us"),
    //
    CLIENT_CPU("client cpu s/GB", "clientCpuSecondsPerGb"), SERVER_CPU("server cpu s/GB", "serverCpuSecondsPerGb");

    private static final long LEAST_RATED_BYTES = 64 << 10;

    private final String title;
    private final String key;

    Figure(String title, String key) {
        this.title = title;
        this.key = key;
    }

    /** Its name for people. */
    String title() {
        return title;
    }

    /** Its name in JSON. */
    String key() {
        return key;
    }

    double of(PullFigure figure) {
        return switch (this) {
            case RATE -> figure.gbPerS();
            case LATENCY -> figure.p50Us();
            case CLIENT_CPU -> figure.clientCpuSPerGb();
            case SERVER_CPU -> figure.serverCpuSPerGb();
        };
    }

    /** The rate of a small pull is its latency told again, and latency among many is the rate told again. */
    boolean isTold(long size, int outstanding) {
        return this == LATENCY ? outstanding == 1 : size >= LEAST_RATED_BYTES;
    }
}
