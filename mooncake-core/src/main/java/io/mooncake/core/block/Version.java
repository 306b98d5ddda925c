package io.mooncake.core.block;

/**
 * Which writing of an id: totally ordered by counter, then by writer. Immutable. Replicas keep the version they copied.
 *
 * @param counter 1 + the highest that the writer knew; never given out twice in a process life
 * @param writer incarnation of the node that wrote
 */
public record Version(long counter, long writer) implements Comparable<Version> {
    @Override
    public int compareTo(Version other) {
        int byCounter = Long.compare(counter, other.counter);
        return byCounter != 0 ? byCounter : Long.compare(writer, other.writer);
    }

    /** {@code v17@18c3f...}: the counter, then the writer in hexadecimal. */
    @Override
    public String toString() {
        return "v" + counter + "@" + Long.toHexString(writer);
    }
}
