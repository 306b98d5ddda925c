package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ContentTest {
    @ParameterizedTest
    @ValueSource(longs = {64, 72, 77, 4096, 4103, 65_536})
    void shouldFindEverySingleWrongByte(long length) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment block = arena.allocate(length, 8);
            Content.fill(block, 5, 9);
            assertEquals(-1, Content.firstWrongByte(block, 5, 9));
            for (long at = 0; at < length; at++) {
                byte right = block.get(ValueLayout.JAVA_BYTE, at);
                assertEquals(right, Content.expected(5, 9, at));
                block.set(ValueLayout.JAVA_BYTE, at, (byte) (right ^ 0x10));
                assertEquals(at, Content.firstWrongByte(block, 5, 9));
                block.set(ValueLayout.JAVA_BYTE, at, right);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {64, 65_536})
    void shouldTellWritingsBlocksAndPlacesApart(long length) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment block = arena.allocate(length, 8);
            Content.fill(block, 5, 9);
            assertEquals(0, Content.firstWrongByte(block, 5, 8));
            assertEquals(8, Content.firstWrongByte(block, 6, 9));
            MemorySegment.copy(block, 8, block, 16, 8);
            assertEquals(16, Content.firstWrongByte(block, 5, 9));
        }
    }
}
