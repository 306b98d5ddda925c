package io.mooncake.bench.engine;

/**
 * What it took until the first token of a request was known. Of the prompt's blocks those count that need not be computed where they are to be had:
 * all full ones but the one that has the last token, whose computation says what follows.
 *
 * @param here blocks that were on this node, or seen on this host where they are
 * @param pulled blocks that came from another node, or up from a file
 * @param computed blocks that nobody had, or that did not come
 * @param pulledBytes of the pulled ones
 * @param storeNs spent in the store: looking up, pulling, publishing
 * @param totalNs of everything
 */
public record FirstToken(int here, int pulled, int computed, long pulledBytes, long storeNs, long totalNs) {
    /**
     * The blocks that count.
     *
     * @return here + pulled + computed
     */
    public int blocks() {
        return here + pulled + computed;
    }

    /** Counts while a request begins. One thread. */
    static final class Tally {
        private final long startNs = System.nanoTime();
        private int here;
        private int pulled;
        private int computed;
        private long pulledBytes;
        private long storeNs;

        void here() {
            here++;
        }

        void pulled(long bytes) {
            pulled++;
            pulledBytes += bytes;
        }

        void computed() {
            computed++;
        }

        /** What was counted came to nothing. */
        void again() {
            here = 0;
            pulled = 0;
            computed = 0;
            pulledBytes = 0;
        }

        /** The store was asked since then. */
        void storeSince(long beganNs) {
            storeNs += System.nanoTime() - beganNs;
        }

        FirstToken end() {
            return new FirstToken(here, pulled, computed, pulledBytes, storeNs, System.nanoTime() - startNs);
        }
    }
}
