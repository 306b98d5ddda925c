package io.mooncake.bench.cli;

import java.util.List;

/** Another program that ours is compared with, run in fresh processes each time. Used by one thread. */
interface Reference {
    /** For people. */
    String name();

    /**
     * Runs it once.
     *
     * @param sizes that are of interest; it may measure others
     * @return a figure a size, with one pull outstanding as far as latency goes; NaN where it does not say
     */
    List<PullFigure> run(List<Long> sizes);

    /** What ours must come to beside it. */
    List<Gate> gates();
}
