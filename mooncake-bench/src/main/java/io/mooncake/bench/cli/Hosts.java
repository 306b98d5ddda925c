package io.mooncake.bench.cli;

import io.mooncake.core.base.Endpoint;
import java.io.IOException;
import java.util.List;

/** Where the processes of a cluster run. One thread. */
interface Hosts extends AutoCloseable {
    /**
     * Where a process listens for other members, the same in every life.
     *
     * @param process its number
     */
    Endpoint cluster(int process);

    /**
     * Where its TCP engine listens, the same in every life.
     *
     * @param process its number
     */
    Endpoint tcp(int process);

    /**
     * What a command begins with that is to run on the host of a process.
     *
     * @param process its number
     * @return empty for this host
     */
    List<String> commandPrefix(int process);

    /** What they are, for the report. */
    String describe();

    /** Whether {@link #cut} works; {@link #disturb} may need more. */
    boolean canCut();

    /**
     * Loses every packet between the hosts of two processes, both ways, until {@link #mend}.
     *
     * @param one its number
     * @param other its number
     */
    void cut(int one, int other) throws IOException;

    /**
     * Ends {@link #cut}.
     *
     * @param one its number
     * @param other its number
     */
    void mend(int one, int other) throws IOException;

    /**
     * Whether the kernel can delay and lose packets.
     */
    boolean canDisturb();

    /**
     * Delays or loses packets on their way to a host, until the next call.
     *
     * @param process its number
     * @param how as {@code tc}'s netem knows it, such as {@code delay 20ms} or {@code loss 2%}; empty = not at all
     */
    void disturb(int process, List<String> how) throws IOException;

    @Override
    void close();
}
