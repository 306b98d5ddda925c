package io.mooncake.bench.engine;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.Piece;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Layout;
import io.mooncake.core.base.Memory;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Blocks on their way straight into an engine's own pages, layer by layer: a layer may be computed when it is there, while the next ones still
 * come. They leave no replica in the node's pool. One thread.
 */
final class LayeredPull implements AutoCloseable {
    /** What an engine of the library takes of one peer at a time, less room for others. */
    private static final int MOST_PIECES = 1_500;
    private static final Duration LONGEST = Duration.ofMinutes(5);

    private final Map<Long, Region> regions = new HashMap<>();
    private final Transfer transfer;

    /** Whether these are more pieces than are asked for at a time. */
    static boolean isTooMuch(Layout layout, int blocks) {
        return (long) layout.layers() * layout.planes() * blocks > MOST_PIECES;
    }

    /** A layer of a block did not come. */
    static final class MissingException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        MissingException(String message) {
            super(message);
        }
    }

    /**
     * Begins to read.
     *
     * @param node reads
     * @param context whose next tokens they are the keys and values of
     * @param layout of the blocks
     * @param ids the blocks, on other nodes
     */
    LayeredPull(Node node, Engine.LayeredContext context, Layout layout, List<BlockId> ids) {
        List<Piece> pieces = new ArrayList<>();
        try {
            for (int layer = 0; layer < layout.layers(); layer++) {
                for (int plane = 0; plane < layout.planes(); plane++) {
                    for (int block = 0; block < ids.size(); block++) {
                        add(pieces, node, context, new Plane(ids.get(block), layer, plane,
                                context.length() + block * layout.tokens()), layout);
                    }
                }
            }
            transfer = node.store().prepare(pieces, TransferOptions.DEFAULT).submit();
        } catch (RuntimeException | Error e) {
            closeRegions();
            throw e;
        }
    }

    /** One plane of one layer of a block, whose first token has that place in the request. */
    private record Plane(BlockId id, int layer, int plane, int firstToken) {}

    private void add(List<Piece> pieces, Node node, Engine.LayeredContext context, Plane plane, Layout layout) {
        for (int done = 0; done < layout.tokens();) {
            Engine.Rows rows = context.rows(plane.layer, plane.plane, plane.firstToken + done);
            int run = Math.min(rows.count(), layout.tokens() - done);
            MemorySegment memory = rows.page();
            Region region = regions.computeIfAbsent(memory.address(),
                    _ -> node.register(Memory.of(memory), Access.LOCAL_ONLY));
            pieces.add(Piece.of(plane.id, layout.offset(plane.layer, plane.plane) + done * layout.rowBytes(),
                    run * layout.rowBytes(), Destination.at(region, rows.offset())).withStage(plane.layer));
            done += run;
        }
    }

    /**
     * Until a layer of all blocks is there.
     *
     * @throws MissingException when it will not be
     */
    void awaitLayer(int layer) {
        if (!transfer.awaitStage(layer, LONGEST)) {
            throw new MissingException("layer " + layer + " of " + transfer + " did not come");
        }
    }

    /** Nothing writes into the engine's pages any more when this returns. */
    @Override
    public void close() {
        transfer.cancel();
        transfer.joinOrCancel();
        closeRegions();
    }

    private void closeRegions() {
        regions.values().forEach(Region::close);
    }
}
