package io.mooncake.core;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.schedule.PlacementPlan;
import io.mooncake.core.schedule.PlacementPlan.Action;
import io.mooncake.core.schedule.PlanRequest;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What nodes say to each other about plans.
 *
 * <pre>
 *   0    type            1   1 STEP, 2 DONE
 *   1    what            1   STEP: 0 RESERVE, 1 TRANSFER, 2 PREFILL, 3 SEAL, 4 DECODE, 5 RELEASE
 *                            DONE: 0, or why not: a number of {@link #WHY}
 *   2    text            2   DONE: its bytes; STEP: the tier of the blocks, 0 DRAM, 1 VRAM
 *   4    milliseconds    4   STEP: until the plan is over, whatever became of it
 *   8    run             8   of the plan, the asking node's number
 *   16   attempt         4   at it
 *   20   step            4   its index, less than 4096; -1 in a RELEASE of all that there is
 *   24   ids             4   that follow, 1024 at most
 *   28   references      4   that follow, 64 at most
 *   32   block bytes     8   STEP: of one block
 *   40   tag             8   STEP: the caller's
 *   48   ids, 32 each; references, 128 each; text in UTF-8
 * </pre>
 */
sealed interface PlanMessage {
    int HEADER_BYTES = 48;
    byte STEP = 1;
    byte DONE = 2;
    int MAX_TEXT_BYTES = 1024;
    /** A step that is none of the plan's: give back everything. */
    int ALL = -1;

    /** What stands for an action on the wire, by its place. */
    List<Action> ACTIONS = List.of(Action.RESERVE, Action.TRANSFER, Action.PREFILL, Action.SEAL, Action.DECODE,
            Action.RELEASE);
    /** What stands for a tier on the wire, by its place. */
    List<Tier> TIERS = List.of(Tier.DRAM, Tier.VRAM);
    /** What stands for a reason on the wire, by its place from 1 on; another one is the first. */
    List<Kind> WHY = List.of(Kind.ILLEGAL_STATE, Kind.OUT_OF_MEMORY, Kind.IN_USE, Kind.TIMEOUT, Kind.PEER_UNREACHABLE,
            Kind.STALE_VERSION, Kind.UNSUPPORTED, Kind.OUT_OF_BOUNDS, Kind.BACK_PRESSURE, Kind.CLOSED);

    /** Which attempt at which plan, of the node that asks. */
    long run();

    /** From 0. */
    int attempt();

    /** Index in the plan, or {@link #ALL}. */
    int step();

    /**
     * Do this. Of the blocks those that have references are pulled by them.
     *
     * @param plan what is the same for all of its steps
     */
    record Step(long run, int attempt, int step, Action action, Common plan, List<BlockId> ids, List<BlockRef> refs)
            implements
                PlanMessage {}

    /** What is the same for all steps of a plan. */
    record Common(int milliseconds, long blockBytes, long tag, Tier tier) {}

    /**
     * It is done, or why not.
     *
     * @param failure null when it is done
     * @param refs of what was sealed
     */
    record Done(long run, int attempt, int step, @Nullable MooncakeException failure, List<BlockRef> refs)
            implements
                PlanMessage {}

    /** Encodes. */
    default ByteBuffer encode() {
        return switch (this) {
            case Step step -> {
                ByteBuffer out = header(STEP, ACTIONS.indexOf(step.action), step.ids.size(), step.refs.size(), 0);
                out.putShort(2, (short) TIERS.indexOf(step.plan.tier));
                out.putInt(4, step.plan.milliseconds).putLong(32, step.plan.blockBytes).putLong(40, step.plan.tag);
                step.ids.forEach(id -> id.write(out));
                yield out.put(RefMessage.of(step.refs)).flip();
            }
            case Done done -> {
                MooncakeException failure = done.failure;
                byte[] text = failure == null ? new byte[0] : failure.getMessage().getBytes(StandardCharsets.UTF_8);
                text = Arrays.copyOf(text, Math.min(text.length, MAX_TEXT_BYTES));
                int why = failure == null ? 0 : 1 + Math.max(0, WHY.indexOf(failure.kind()));
                ByteBuffer out = header(DONE, why, 0, done.refs.size(), text.length);
                out.putShort(2, (short) text.length);
                yield out.put(RefMessage.of(done.refs)).put(text).flip();
            }
        };
    }

    private ByteBuffer header(byte type, int what, int ids, int refs, int text) {
        ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + ids * BlockId.BYTES + refs * BlockRef.BYTES + text)
                .order(ByteOrder.LITTLE_ENDIAN);
        out.put(0, type).put(1, (byte) what).putLong(8, run()).putInt(16, attempt()).putInt(20, step());
        return out.putInt(24, ids).putInt(28, refs).position(HEADER_BYTES);
    }

    /**
     * Decodes.
     *
     * @param bytes from outside
     * @throws MooncakeException PROTOCOL_ERROR, or INVALID_ARGUMENT, when they are no such message
     */
    static PlanMessage read(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        boolean whole = bytes.length >= HEADER_BYTES;
        int type = whole ? in.get(0) : 0;
        int what = whole ? in.get(1) : 0;
        int text = type == DONE ? in.getShort(2) : 0;
        int tier = type == STEP ? in.getShort(2) : 0;
        int ids = whole ? in.getInt(24) : 0;
        int refs = whole ? in.getInt(28) : 0;
        boolean fits = ids >= 0 && ids <= PlanRequest.MAX_BLOCKS && refs >= 0 && refs <= RefMessage.MAX_REFS
                && text >= 0 && text <= MAX_TEXT_BYTES
                && bytes.length == HEADER_BYTES + ids * BlockId.BYTES + refs * BlockRef.BYTES + text;
        boolean known = what >= 0
                && (type == STEP
                        ? what < ACTIONS.size() && tier >= 0 && tier < TIERS.size() && in.getLong(32) > 0
                        : type == DONE && what <= WHY.size());
        if (!fits || !known || in.getInt(20) < ALL || in.getInt(20) >= PlacementPlan.MAX_STEPS || in.getInt(16) < 0) {
            throw new MooncakeException(Kind.PROTOCOL_ERROR, "a message of " + bytes.length + " bytes, type " + type
                    + ", " + ids + " ids and " + refs + " references is none about a plan");
        }
        in.position(HEADER_BYTES);
        List<BlockId> blocks = new ArrayList<>();
        for (int i = 0; i < ids; i++) {
            blocks.add(BlockId.read(in));
        }
        byte[] encoded = new byte[refs * BlockRef.BYTES];
        in.get(encoded);
        List<BlockRef> references = RefMessage.read(encoded);
        if (type == STEP) {
            Common plan = new Common(in.getInt(4), in.getLong(32), in.getLong(40), TIERS.get(tier));
            return new Step(in.getLong(8), in.getInt(16), in.getInt(20), ACTIONS.get(what), plan, blocks, references);
        }
        String message = new String(bytes, in.position(), text, StandardCharsets.UTF_8);
        return new Done(in.getLong(8), in.getInt(16), in.getInt(20),
                what == 0 ? null : new MooncakeException(WHY.get(what - 1), message), references);
    }
}
