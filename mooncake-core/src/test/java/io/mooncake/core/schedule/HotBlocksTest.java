package io.mooncake.core.schedule;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.schedule.HotBlocks.Copy;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which copies go for one that is read more. */
class HotBlocksTest {
    private static final BlockId A = BlockId.of("a");
    private static final BlockId B = BlockId.of("b");
    private static final BlockId C = BlockId.of("c");
    private static final List<Copy> COPIES = List.of(new Copy(A, 10, 300), new Copy(B, 20, 100), new Copy(C, 5, 200));

    @Test
    void nobodyGoesWhereThereIsRoom() {
        assertEquals(List.of(), HotBlocks.makeRoom(15, 50, COPIES, 1_000));
        assertEquals(List.of(), HotBlocks.makeRoom(50, 50, List.of(), 0));
    }

    @Test
    void theColdestGoFirstAndNoMoreThanNeedBe() {
        assertEquals(List.of(B), HotBlocks.makeRoom(16, 50, COPIES, 1_000));
        assertEquals(List.of(B), HotBlocks.makeRoom(35, 50, COPIES, 1_000));
        assertEquals(List.of(B, C), HotBlocks.makeRoom(36, 50, COPIES, 1_000));
        assertEquals(List.of(B, C, A), HotBlocks.makeRoom(50, 50, COPIES, 1_000));
    }

    @Test
    void whatIsStillUsedStays() {
        assertEquals(List.of(B, C), HotBlocks.makeRoom(40, 50, COPIES, 300));
        assertNull(HotBlocks.makeRoom(41, 50, COPIES, 300));
        assertNull(HotBlocks.makeRoom(16, 50, COPIES, 100));
        assertNull(HotBlocks.makeRoom(51, 50, List.of(), 0));
    }

    @Test
    void clocksWrap() {
        List<Copy> late = List.of(new Copy(A, 10, Long.MAX_VALUE - 5), new Copy(B, 10, Long.MIN_VALUE + 5));
        assertEquals(List.of(A), HotBlocks.makeRoom(10, 20, late, Long.MIN_VALUE + 10));
        assertNull(HotBlocks.makeRoom(20, 20, late, Long.MIN_VALUE + 5));
    }
}
