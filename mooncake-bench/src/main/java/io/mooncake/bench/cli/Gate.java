package io.mooncake.bench.cli;

/**
 * What a ratio of ours to a reference must be.
 *
 * @param size bytes a pull
 * @param outstanding pulls outstanding at a time
 * @param what is compared
 * @param lanes by how many connections
 * @param limit the least ratio of a rate, the greatest of anything else
 */
record Gate(long size, int outstanding, Figure what, Lanes lanes, double limit) {
    /** Of which lanes a limit is. */
    enum Lanes {
        /** One, or the nodes' own number. */
        ONE,
        /** The best of those tried. */
        BEST,
        /** The same, where several were tried. */
        BEST_OF_SEVERAL
    }

    boolean isFor(long ofSize, int ofOutstanding, Figure ofWhat) {
        return size == ofSize && outstanding == ofOutstanding && what == ofWhat;
    }

    boolean isMet(double ratio) {
        return what == Figure.RATE ? ratio >= limit : ratio <= limit;
    }

    String text() {
        return (what == Figure.RATE ? ">= " : "<= ") + limit;
    }
}
