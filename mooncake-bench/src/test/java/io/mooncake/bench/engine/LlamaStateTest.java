package io.mooncake.bench.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Layout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LlamaStateTest {
    private static final Layout LAYOUT = new Layout(3, 2, 5, 6, "f16");
    private static final int FIRST = 70_000;

    private final LlamaState codec = new LlamaState(LAYOUT);
    private final byte[] block = new byte[(int) LAYOUT.blockBytes()];
    private final byte[] state = new byte[(int) codec.bytes()];

    LlamaStateTest() {
        new Random(1).nextBytes(block);
        codec.ofBlock(MemorySegment.ofArray(block), FIRST, MemorySegment.ofArray(state));
    }

    @Test
    void shouldGiveTheSameBytesBack() {
        byte[] again = new byte[block.length];
        codec.toBlock(MemorySegment.ofArray(state), FIRST, MemorySegment.ofArray(again));
        assertEquals(-1, MemorySegment.ofArray(block).mismatch(MemorySegment.ofArray(again)));
    }

    @Test
    void shouldPutAllKeysBeforeAllValues() {
        long at = 4 + 5 * 8 + 4 + 4;
        for (int plane = 0; plane < 2; plane++) {
            for (int layer = 0; layer < 3; layer++) {
                at += 12;
                assertEquals(block[(int) LAYOUT.offset(layer, plane)], state[(int) at],
                        "layer " + layer + ", plane " + plane);
                at += LAYOUT.planeBytes();
            }
        }
        assertEquals(state.length, at);
    }

    /** What is no state of those tokens must not become a block of theirs. */
    @Test
    void shouldRefuseAnotherHeader() {
        int planes = 4 + 5 * 8 + 4 + 4;
        long plane = 12 + LAYOUT.planeBytes();
        long[] numbers = {0, 4, 8, 4 + 4 * 8, planes - 8, planes - 4, planes, planes + 4, planes + 5 * plane,
                planes + 5 * plane + 4};
        for (long at : numbers) {
            MemorySegment segment = MemorySegment.ofArray(state);
            int before = segment.get(ValueLayout.JAVA_INT_UNALIGNED, at);
            segment.set(ValueLayout.JAVA_INT_UNALIGNED, at, before + 1);
            IllegalStateException refused = assertThrows(IllegalStateException.class,
                    () -> codec.toBlock(segment, FIRST, MemorySegment.ofArray(block)), "byte " + at);
            String message = String.valueOf(refused.getMessage());
            assertTrue(message.contains(before + 1 + " instead of " + before), message);
            segment.set(ValueLayout.JAVA_INT_UNALIGNED, at, before);
        }
    }
}
