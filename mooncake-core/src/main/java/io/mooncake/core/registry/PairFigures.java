package io.mooncake.core.registry;

import io.mooncake.core.base.Hop;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * What reads of one node from another took, as the reading one measured it: a pair of the cluster's matrix. Immutable.
 *
 * @param reader who reads and says so
 * @param holder who is read from
 * @param hop how far apart they are
 * @param figures by engine and size; none withdraws what was said before
 */
public record PairFigures(NodeId reader, NodeId holder, Hop hop, List<Figure> figures) {
    /** Figures at most. */
    public static final int MAX_FIGURES = 64;

    /**
     * Copies the list.
     *
     * @throws MooncakeException INVALID_ARGUMENT for too many
     */
    public PairFigures {
        figures = List.copyOf(figures);
        if (figures.size() > MAX_FIGURES) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT, figures.size() + " figures of node " + reader
                    + " and node " + holder + ": at most " + MAX_FIGURES + " can be announced");
        }
    }

    /**
     * Reads of about one size by one engine.
     *
     * @param path the engine's name, or that of a way inside the holder where that is the reader itself; 1 to 255 bytes
     * @param upToBytes the class of sizes: reads of up to so many bytes, and of more than the next smaller class
     * @param readNs what one takes, nanoseconds, without what it waited for others
     * @param readBytes how large they were, on average
     */
    public record Figure(String path, long upToBytes, long readNs, long readBytes) {
        /**
         * Checks the name.
         *
         * @throws MooncakeException INVALID_ARGUMENT when it is empty or too long
         */
        public Figure {
            int bytes = path.getBytes(StandardCharsets.UTF_8).length;
            if (bytes == 0 || bytes > Delta.NodeFacts.MAX_TEXT_BYTES) {
                throw new MooncakeException(Kind.INVALID_ARGUMENT, "'" + path + "' has " + bytes
                        + " bytes: an engine's name has 1 to " + Delta.NodeFacts.MAX_TEXT_BYTES);
            }
        }
    }
}
