package io.mooncake.bench.engine;

import io.mooncake.core.base.Layout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * How llama.cpp writes the state of a block's tokens down, against how they lie in a block of the store. Any thread.
 *
 * <pre>
 *   tokens u32 │ of each: place i32, 0 u32 │ 0 u32: values lie as keys do │ layers u32
 *              │ of each layer: type u32, bytes of a row u64, the keys of all tokens │ of each layer the same with values
 * </pre>
 *
 * The numbers are little-endian, and not aligned.
 *
 * @param layout of the blocks, of the type f16
 */
record LlamaState(Layout layout) {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
    private static final int F16 = 1;
    private static final long ROW_HEADER = Integer.BYTES + Long.BYTES;

    /** Of a block's tokens. */
    long bytes() {
        return planesAt() + (ROW_HEADER + layout.planeBytes()) * layout.layers() * layout.planes();
    }

    private long planesAt() {
        return 3L * Integer.BYTES + 2L * Integer.BYTES * layout.tokens();
    }

    /** Where the header of a layer's plane is; its rows follow it. */
    private long planeAt(int layer, int plane) {
        return planesAt() + (ROW_HEADER + layout.planeBytes()) * ((long) plane * layout.layers() + layer);
    }

    /** The bytes of tokens whose state it is, the first of which is at that place. */
    void toBlock(MemorySegment state, int first, MemorySegment block) {
        int tokens = layout.tokens();
        expect("tokens", tokens, state.get(INT, 0));
        for (int i = 0; i < tokens; i++) {
            long at = Integer.BYTES + 2L * Integer.BYTES * i;
            expect("the place of token " + i, first + i, state.get(INT, at));
            expect("sequences of token " + i, 0, state.get(INT, at + Integer.BYTES));
        }
        expect("transposed values", 0, state.get(INT, planesAt() - 2 * Integer.BYTES));
        expect("layers", layout.layers(), state.get(INT, planesAt() - Integer.BYTES));
        for (int plane = 0; plane < layout.planes(); plane++) {
            for (int layer = 0; layer < layout.layers(); layer++) {
                long at = planeAt(layer, plane);
                expect("type", F16, state.get(INT, at));
                expect("bytes of a row", layout.rowBytes(), state.get(LONG, at + Integer.BYTES));
                MemorySegment.copy(state, at + ROW_HEADER, block, layout.offset(layer, plane), layout.planeBytes());
            }
        }
    }

    private static void expect(String what, long expected, long found) {
        if (expected != found) {
            throw new IllegalStateException("llama.cpp's state: " + what + ": " + found + " instead of " + expected);
        }
    }

    /** The state of tokens whose bytes a block has, the first of which is at that place. */
    void ofBlock(MemorySegment block, int first, MemorySegment state) {
        int tokens = layout.tokens();
        state.set(INT, 0, tokens);
        for (int i = 0; i < tokens; i++) {
            long at = Integer.BYTES + 2L * Integer.BYTES * i;
            state.set(INT, at, first + i);
            state.set(INT, at + Integer.BYTES, 0);
        }
        state.set(INT, planesAt() - 2 * Integer.BYTES, 0);
        state.set(INT, planesAt() - Integer.BYTES, layout.layers());
        for (int plane = 0; plane < layout.planes(); plane++) {
            for (int layer = 0; layer < layout.layers(); layer++) {
                long at = planeAt(layer, plane);
                state.set(INT, at, F16);
                state.set(LONG, at + Integer.BYTES, layout.rowBytes());
                MemorySegment.copy(block, layout.offset(layer, plane), state, at + ROW_HEADER, layout.planeBytes());
            }
        }
    }
}
