package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.rdma.verbs.PeerEnd;
import java.util.List;

/**
 * What two nodes say to each other about lanes, over the control channel. The side that reads made the lane and numbers it; the other one is
 * the owner of what is read. See {@link LaneMessages} for the bytes.
 */
sealed interface LaneMessage {
    /**
     * Which lane.
     *
     * @return the reader's number of it, never used again in its process life
     */
    long lane();

    /** What a lane is for. */
    enum Purpose {
        /** The reader READs the owner's regions. */
        READS,
        /** The reader, who is no reader then, sends control messages. */
        MESSAGES
    }

    /**
     * The reader wants a lane to one process life of the owner.
     *
     * @param purpose what for
     * @param incarnation the owner's, as the reader knows it
     * @param reads READs that it would have outstanding
     * @param end its end
     */
    record Request(long lane, Purpose purpose, long incarnation, int reads, PeerEnd end) implements LaneMessage {}

    /**
     * The owner's queue pair stands.
     *
     * @param keyEpoch of all keys that are told for this lane
     * @param reads READs that may be outstanding
     * @param end its end
     */
    record Reply(long lane, long keyEpoch, int reads, PeerEnd end) implements LaneMessage {}

    /** The owner makes no lane. */
    record Refused(long lane, Kind kind, String text) implements LaneMessage {}

    /** The sender's end is gone. */
    record Closed(long lane, boolean byOwner) implements LaneMessage {}

    /** The reader asks for a region. */
    record Query(long lane, int region) implements LaneMessage {}

    /**
     * The owner's region. Each key but the last is for {@code stride} bytes and those of one request more, so that no request needs two.
     *
     * @param region its number
     * @param keyEpoch of the registration; another one than the lane's breaks the lane
     * @param address of its first byte, in the owner's process
     * @param length its bytes
     * @param stride from one key's first byte to the next one's
     * @param keys what its bytes are read with
     * @param guards the table of its guards
     * @param checksums the table of its blocks' checksums, an entry for each guard
     */
    record Keys(long lane, int region, long keyEpoch, long address, long length, long stride, List<Integer> keys,
            TableKey guards, TableKey checksums) implements LaneMessage {
        /** Copies the keys. */
        public Keys {
            keys = List.copyOf(keys);
        }
    }

    /**
     * A table beside a region.
     *
     * @param address of its first byte, in the owner's process
     * @param length its bytes; 0 for none
     * @param key what it is read with
     */
    record TableKey(long address, long length, int key) {
        static final TableKey NONE = new TableKey(0, 0, 0);
    }

    /** The owner has no such region, or none that may be read so. */
    record NoRegion(long lane, int region, Kind kind, String text) implements LaneMessage {}
}
