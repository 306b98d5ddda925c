package io.mooncake.core.registry;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import java.util.List;

/**
 * What registries say to each other. Immutable. Only owners say facts, each its own: nobody passes on what another said.
 *
 * <p>An owner numbers its deltas from 1, within its incarnation. Whoever has all of them up to a number has its facts.
 */
public sealed interface RegistryMessage {
    /** An encoded message's bytes at most. */
    int MAX_BYTES = 64 * 1024;

    /**
     * Whom it is about, with its incarnation: but for {@link LatestLife}, who sends it.
     *
     * @return the owner of the facts, or who asks
     */
    NodeId sender();

    /**
     * Encodes.
     *
     * @return at most {@value #MAX_BYTES} bytes
     * @throws MooncakeException OUT_OF_BOUNDS when it does not fit
     */
    default byte[] toBytes() {
        return DeltaCodec.encode(this);
    }

    /**
     * Decodes. Allocates in proportion to the bytes given, whatever they say. A record that cannot be read becomes {@link Delta.Unread};
     * bytes behind the known ones of a record are ignored.
     *
     * @param bytes from outside
     * @return the message
     * @throws MooncakeException PROTOCOL_ERROR when the bytes are no message of this version; nothing else
     */
    static RegistryMessage fromBytes(byte[] bytes) {
        return DeltaCodec.decode(bytes);
    }

    /**
     * Changes of the sender's facts, numbered one after the other. Without any it says only what its last number is.
     *
     * @param sender whose facts
     * @param first number of the first delta
     * @param deltas in order
     */
    record Deltas(NodeId sender, long first, List<Delta> deltas) implements RegistryMessage {
        /**
         * Copies.
         *
         * @throws MooncakeException INVALID_ARGUMENT when the number is not positive
         */
        public Deltas {
            if (first < 1 || first + deltas.size() < 1) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT,
                        "deltas of " + sender + ": number " + first + " must be positive and not overflow");
            }
            deltas = List.copyOf(deltas);
        }

        long last() {
            return first + deltas.size() - 1;
        }
    }

    /**
     * A part of all facts of the sender as of one number.
     *
     * @param sender whose facts
     * @param sequence number of the last delta that is in it
     * @param part which part, 0 first
     * @param parts of how many, 1 to 65,535
     * @param facts what it has
     */
    record Snapshot(NodeId sender, long sequence, int part, int parts, List<Delta> facts) implements RegistryMessage {
        /** Parts at most. */
        public static final int MAX_PARTS = 0xFFFF;

        /**
         * Copies.
         *
         * @throws MooncakeException INVALID_ARGUMENT for numbers that can't be
         */
        public Snapshot {
            if (sequence < 0 || parts < 1 || parts > MAX_PARTS || part < 0 || part >= parts) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT, "snapshot of " + sender + ": number " + sequence
                        + " must not be negative, part " + part + " must be below the " + parts + " parts");
            }
            facts = List.copyOf(facts);
        }
    }

    /**
     * Asks the receiver for a snapshot of its facts.
     *
     * @param sender who asks
     */
    record Ask(NodeId sender) implements RegistryMessage {}

    /**
     * Asks for the latest life that the receiver knows of a name, so that a new one can be later. The one who asks is nobody yet.
     *
     * @param sender the life that the asker would like to be
     */
    record WhichLife(NodeId sender) implements RegistryMessage {}

    /**
     * Answers {@link WhichLife}.
     *
     * @param sender not who answers, but the latest life known of the asker's name, the asker's own wish at least
     */
    record LatestLife(NodeId sender) implements RegistryMessage {}
}
