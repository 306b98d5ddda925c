package io.mooncake.bench.engine;

import io.mooncake.core.base.Layout;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockView;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request's keys and values as a table of pages of floats: what the store has is read where it is, what is being written is the request's
 * own. One thread.
 *
 * <pre>
 *   page      0         1         2         3
 *           view ──┐  view ──┐  view ──┐  own memory
 *                  ▼         ▼         ▼  (writable)
 *           ══════ blocks of the store ═════
 * </pre>
 */
final class KvPages implements AutoCloseable {
    static final int KEYS = 0;
    static final int VALUES = 1;
    private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;

    private final Layout layout;
    private final Arena arena = Arena.ofConfined();
    private final List<MemorySegment> pages = new ArrayList<>();
    /** A page's view; null where the memory is this table's own. */
    private final List<@Nullable BlockView> views = new ArrayList<>();
    private final Deque<MemorySegment> spare = new ArrayDeque<>();
    private int length;

    KvPages(Layout layout) {
        this.layout = layout;
    }

    /** Tokens that it has. */
    int length() {
        return length;
    }

    /** The next page is a block of the store. */
    void attach(BlockView view) {
        if (length % layout.tokens() != 0 || view.length() != layout.blockBytes()) {
            throw new MooncakeException(Kind.INVALID_ARGUMENT,
                    "block of " + view.length() + " bytes after token " + length
                            + ": full blocks of " + layout.blockBytes() + " bytes go between blocks of "
                            + layout.tokens()
                            + " tokens");
        }
        pages.add(view.segment());
        views.add(view);
        length += layout.tokens();
    }

    /** The page's own memory gives way to the same bytes in the store. */
    void share(int page, BlockView view) {
        MemorySegment mine = pages.set(page, view.segment());
        BlockView before = views.set(page, view);
        if (before == null) {
            spare.push(mine);
        } else {
            before.close();
        }
    }

    MemorySegment page(int page) {
        return pages.get(page);
    }

    /** A layer's row of the token that is being computed, which is the one after the last. */
    void put(int layer, int plane, float[] row) {
        if (length / layout.tokens() == pages.size()) {
            pages.add(spare.isEmpty() ? arena.allocate(layout.blockBytes(), 64) : spare.pop());
            views.add(null);
        }
        MemorySegment.copy(row, 0, pages.getLast(), FLOAT, at(layer, plane, length), row.length);
    }

    /** All layers have their rows of that token. */
    void advance() {
        length++;
    }

    /** A layer's row of a token. */
    void get(int layer, int plane, int token, float[] row) {
        MemorySegment.copy(pages.get(token / layout.tokens()), FLOAT, at(layer, plane, token), row, 0, row.length);
    }

    private long at(int layer, int plane, int token) {
        return layout.offset(layer, plane) + token % layout.tokens() * layout.rowBytes();
    }

    @Override
    public void close() {
        for (BlockView view : views) {
            if (view != null) {
                view.close();
            }
        }
        arena.close();
    }
}
