package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.PlanMessage.Common;
import io.mooncake.core.PlanMessage.Done;
import io.mooncake.core.PlanMessage.Step;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.block.Version;
import io.mooncake.core.schedule.PlacementPlan;
import io.mooncake.core.schedule.PlacementPlan.Action;
import io.mooncake.core.schedule.PlanRequest;
import io.mooncake.core.transfer.EngineContext;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What nodes say about plans, on the wire. */
final class PlanMessageTest {
    private static final Common PLAN = new Common(1_500, 64 << 20, Long.MIN_VALUE, Tier.VRAM);

    private static BlockId id(int i) {
        return BlockId.of("k" + i);
    }

    private static List<BlockId> ids(int count) {
        return IntStream.range(0, count).mapToObj(PlanMessageTest::id).toList();
    }

    private static List<BlockRef> refs(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> new BlockRef(id(i), new Version(i + 1, 2), new NodeId("a", 3), 1, 4096L * i, 100 + i, i,
                        18))
                .toList();
    }

    private static byte[] bytes(PlanMessage message) {
        ByteBuffer encoded = message.encode();
        byte[] bytes = new byte[encoded.remaining()];
        encoded.get(bytes);
        return bytes;
    }

    @Test
    void shouldReadWhatItWrote() {
        for (Action action : Action.values()) {
            Step step = new Step(7, 3, 12, action, PLAN, ids(5), refs(2));
            assertEquals(step, PlanMessage.read(bytes(step)));
        }
        Step all = new Step(Long.MAX_VALUE, 0, PlanMessage.ALL, Action.RELEASE, PLAN, List.of(), List.of());
        assertEquals(all, PlanMessage.read(bytes(all)));
        Done done = new Done(1, 0, 4, null, refs(3));
        assertEquals(done, PlanMessage.read(bytes(done)));
        Step largest = new Step(1, 0, 0, Action.TRANSFER, PLAN, ids(PlanRequest.MAX_BLOCKS),
                refs(RefMessage.MAX_REFS));
        assertEquals(largest, PlanMessage.read(bytes(largest)));
        assertTrue(bytes(largest).length < EngineContext.MAX_MESSAGE_BYTES);
    }

    @Test
    void shouldCarryWhyAStepWasNotDone() {
        for (Kind kind : Kind.values()) {
            Done done = new Done(1, 0, 4, new MooncakeException(kind, "because of " + kind), List.of());
            MooncakeException read = Objects.requireNonNull(((Done) PlanMessage.read(bytes(done))).failure());
            assertEquals("because of " + kind, read.getMessage());
            assertEquals(PlanMessage.WHY.contains(kind) ? kind : Kind.ILLEGAL_STATE, read.kind());
        }
        Done lengthy = new Done(1, 0, 4, new MooncakeException(Kind.TIMEOUT, "x".repeat(5_000)), List.of());
        MooncakeException read = Objects.requireNonNull(((Done) PlanMessage.read(bytes(lengthy))).failure());
        assertEquals(PlanMessage.MAX_TEXT_BYTES, read.getMessage().length());
        assertNull(((Done) PlanMessage.read(bytes(new Done(1, 0, 4, null, List.of())))).failure());
    }

    @Test
    void shouldRefuseWhatIsNone() {
        byte[] whole = bytes(new Step(7, 0, 1, Action.TRANSFER, PLAN, ids(2), refs(2)));
        Random random = new Random(5);
        int refused = 0;
        for (int i = 0; i < 20_000; i++) {
            byte[] wrong = Arrays.copyOf(whole, random.nextInt(4) == 0 ? random.nextInt(400) : whole.length);
            for (int n = random.nextInt(4); n >= 0 && wrong.length > 0; n--) {
                wrong[random.nextInt(wrong.length)] = (byte) random.nextInt();
            }
            try {
                assertTrue(PlanMessage.read(wrong).step() >= PlanMessage.ALL);
            } catch (MooncakeException e) {
                refused++;
            }
        }
        assertTrue(refused > 5_000, "refused " + refused);
        assertThrows(MooncakeException.class, () -> PlanMessage.read(new byte[PlanMessage.HEADER_BYTES]));
        whole[2] = (byte) PlanMessage.TIERS.size();
        assertThrows(MooncakeException.class, () -> PlanMessage.read(whole));
        // A plan has so many steps at most: who takes part in it keeps no more of them.
        byte[] beyond = bytes(new Step(7, 0, PlacementPlan.MAX_STEPS, Action.TRANSFER, PLAN, ids(2), refs(2)));
        assertThrows(MooncakeException.class, () -> PlanMessage.read(beyond));
        byte[] last = bytes(new Step(7, 0, PlacementPlan.MAX_STEPS - 1, Action.TRANSFER, PLAN, ids(2), refs(2)));
        assertEquals(PlacementPlan.MAX_STEPS - 1, PlanMessage.read(last).step());
    }
}
