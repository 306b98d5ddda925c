package io.mooncake.core.registry;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.Site;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Version;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** One change of one owner's facts. Immutable. A snapshot is the same, beginning with nothing. */
public sealed interface Delta {
    /**
     * The node itself: replaces what it said of itself before.
     *
     * @param addresses where its engines are reached, by the engine's name
     * @param regions what peers may read
     * @param site where it runs
     */
    record NodeFacts(Map<String, String> addresses, List<RegionFact> regions, Site site) implements Delta {
        /** Names and addresses have this many bytes at most, in UTF-8. */
        public static final int MAX_TEXT_BYTES = 255;
        /** Addresses at most. */
        public static final int MAX_ADDRESSES = 16;
        /** Regions at most. */
        public static final int MAX_REGIONS = 1024;

        /**
         * Copies.
         *
         * @throws MooncakeException INVALID_ARGUMENT for too many of them, or a name or an address that is empty or too long
         */
        public NodeFacts {
            addresses = Map.copyOf(addresses);
            regions = List.copyOf(regions);
            if (addresses.size() > MAX_ADDRESSES || regions.size() > MAX_REGIONS) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT,
                        addresses.size() + " addresses and " + regions.size() + " regions: at most " + MAX_ADDRESSES
                                + " and " + MAX_REGIONS + " can be announced");
            }
            addresses.forEach((engine, address) -> {
                checkText(engine);
                checkText(address);
            });
        }

        private static void checkText(String text) {
            int bytes = text.getBytes(StandardCharsets.UTF_8).length;
            if (bytes == 0 || bytes > MAX_TEXT_BYTES) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT, "'" + text + "' has " + bytes
                        + " bytes: an engine's name and its address have 1 to " + MAX_TEXT_BYTES);
            }
        }
    }

    /**
     * A region that peers may read.
     *
     * @param id the owner's number of it
     * @param length bytes
     * @param keyEpoch which registration of it is current
     */
    record RegionFact(int id, long length, long keyEpoch) {}

    /**
     * A block is there.
     *
     * @param ref where
     */
    record Written(BlockRef ref) implements Delta {}

    /**
     * A block is gone. Names the slot and its guard, too: the same version may be in another slot already.
     *
     * @param id the block
     * @param version which
     * @param region where it was
     * @param guardIndex where it was
     * @param guard what proved it
     */
    record Evicted(BlockId id, Version version, int region, int guardIndex, long guard) implements Delta {
        static Evicted of(BlockRef ref) {
            return new Evicted(ref.id(), ref.version(), ref.region(), ref.guardIndex(), ref.guard());
        }

        boolean names(BlockRef ref) {
            return equals(of(ref));
        }
    }

    /**
     * What the node measured between itself and another one, in place of what it said of that pair before.
     *
     * @param pair without figures where nothing is said any more
     */
    record Measured(PairFigures pair) implements Delta {}

    /**
     * What room the node has, in place of what it said before.
     *
     * @param space of its pools
     */
    record Room(NodeSpace space) implements Delta {}

    /**
     * A record that this node cannot read: of a later kind, malformed, or about another node than the sender. It has a number like every
     * other, is counted, and changes nothing.
     *
     * @param type as sent
     */
    record Unread(int type) implements Delta {}
}
