package io.mooncake.core.manager;

import static io.mooncake.core.manager.Fixture.kindOf;
import static io.mooncake.core.manager.Fixture.messageOf;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.transfer.SharedBlock;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

/** A view that cannot take a block costs no pin, whoever asks for it, and by whatever name. */
final class ViewsTest {
    private static final BlockId A = BlockId.of("a");

    private static final class Shared implements SharedBlock {
        private int unpinned;

        @Override
        public MemorySegment segment() {
            return MemorySegment.NULL;
        }

        @Override
        public void unpin() {
            unpinned++;
        }
    }

    private static int pins(Fixture f) {
        return ControlWords.pins(f.manager.table.words.get(0));
    }

    private static void isRefused(Kind kind, Fixture f, BlockRef ref, BlockView view) {
        int before = pins(f);
        assertEquals(kind, kindOf(() -> f.manager.acquire(A, view)));
        assertEquals(kind, kindOf(() -> f.manager.acquire(ref, view)));
        assertEquals(kind, kindOf(() -> f.manager.acquire(A, view, 0)));
        assertEquals(before, pins(f));
        Shared shared = new Shared();
        assertEquals(kind, kindOf(() -> f.manager.hand(shared, ref, view)));
        assertEquals(1, shared.unpinned);
    }

    @Test
    void oneThatHoldsABlockTakesNoOther() {
        try (Fixture f = new Fixture(1, 64, 1)) {
            BlockRef a = f.put("a", 1, 64);
            assertTrue(f.manager.acquire(A, f.view));
            isRefused(Kind.ILLEGAL_STATE, f, a, f.view);
            assertEquals(a, f.view.ref());
            f.view.close();
            assertEquals(0, pins(f));
            assertTrue(f.manager.acquire(a, f.view), "closed it takes the next one");
            f.view.close();
        }
    }

    @Test
    void oneThatHoldsABlockOfAPeerTakesNoOtherEither() {
        try (Fixture f = new Fixture(1, 64, 1)) {
            BlockRef a = f.put("a", 1, 64);
            Shared shared = new Shared();
            f.manager.hand(shared, a, f.view);
            isRefused(Kind.ILLEGAL_STATE, f, a, f.view);
            assertEquals(0, shared.unpinned);
            f.view.close();
            assertEquals(1, shared.unpinned);
        }
    }

    @Test
    void oneOfAnotherNodeTakesNone() {
        try (Fixture f = new Fixture(1, 64, 1); Fixture other = new Fixture(1, 64, 1)) {
            BlockRef a = f.put("a", 1, 64);
            isRefused(Kind.INVALID_ARGUMENT, f, a, other.view);
            assertTrue(messageOf(Kind.INVALID_ARGUMENT, () -> f.manager.acquire(A, other.view))
                    .endsWith("take one from its newView()"));
            assertFalse(other.view.isOpen());
        }
    }

    @Test
    void onceTheManagerIsClosedNoneTakesAny() {
        Fixture f = new Fixture(1, 64, 1);
        BlockRef a = f.put("a", 1, 64);
        f.close();
        isRefused(Kind.CLOSED, f, a, f.view);
    }

    @Test
    void aBlockThatADeviceCannotAddressKeepsNoPin() {
        try (Fixture f = new Fixture(1, 64, 1)) {
            f.put("a", 1, 64);
            assertFalse(f.manager.acquire(A, f.view, 0), "no device reads this pool");
            assertFalse(f.view.isOpen());
            assertEquals(0, pins(f));
        }
    }
}
