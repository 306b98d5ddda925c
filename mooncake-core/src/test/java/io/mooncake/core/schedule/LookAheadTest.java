package io.mooncake.core.schedule;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.NextUse;
import java.util.List;
import org.junit.jupiter.api.Test;

final class LookAheadTest {
    private static final BlockId A = BlockId.of("a");
    private static final BlockId B = BlockId.of("b");
    private static final BlockId C = BlockId.of("c");

    @Test
    void shouldSayTheEarliestOfTheQueuedRequests() {
        LookAhead queue = new LookAhead();
        // A clock that wraps in between.
        queue.queued(List.of(A, B), Long.MIN_VALUE + 9);
        queue.queued(List.of(A, C), Long.MAX_VALUE - 5);
        assertArrayEquals(new long[]{Long.MAX_VALUE - 5, Long.MIN_VALUE + 9, Long.MAX_VALUE - 5},
                queue.nextUses(List.of(A, B, C)));
        queue.left(List.of(A, C), Long.MAX_VALUE - 5);
        assertEquals(Long.MIN_VALUE + 9, queue.nextUse(A));
        assertEquals(NextUse.UNKNOWN, queue.nextUse(C));
    }

    @Test
    void shouldCountARequestThatIsQueuedTwice() {
        LookAhead queue = new LookAhead();
        queue.queued(List.of(A), 7);
        queue.queued(List.of(A), 7);
        queue.left(List.of(A), 7);
        assertEquals(7, queue.nextUse(A));
        queue.left(List.of(A), 7);
        queue.left(List.of(A), 7);
        assertEquals(NextUse.UNKNOWN, queue.nextUse(A));
    }
}
