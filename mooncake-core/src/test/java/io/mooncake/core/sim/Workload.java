package io.mooncake.core.sim;

import io.mooncake.core.Destination;
import io.mooncake.core.Piece;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockView;
import io.mooncake.core.block.BlockWriter;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** What the users of the nodes do. */
final class Workload {
    private static final int MAX_LIVE = 12;
    private static final int MAX_PIECES = 5;
    private static final int MAX_REFS = 200;
    private static final long[] TIMEOUTS_NS = {20_000, 100_000, 400_000, 3_000_000, 3_000_000};
    private static final long TINY_NS = 2_000;

    private final World world;
    private final SplittableRandom random;

    Workload(SplittableRandom random, World world) {
        this.random = random;
        this.world = world;
    }

    void act(SimNode node) {
        int dice = random.nextInt(100);
        if (dice < 22) {
            write(node);
        } else if (dice < 32) {
            endWrite(node);
        } else if (dice < 40) {
            view(node);
        } else if (dice < 46) {
            node.node.store().evict(List.of(someBlock()));
        } else if (dice < 56) {
            cancel(node);
        } else if (dice < 66) {
            resubmit(node);
        } else if (dice < 74) {
            sharedPull();
        } else {
            read(node, TIMEOUTS_NS[random.nextInt(TIMEOUTS_NS.length)]);
        }
    }

    private BlockId someBlock() {
        return world.blocks.get(random.nextInt(world.blocks.size()));
    }

    // ---- writing

    private void write(SimNode node) {
        long length = 8 + random.nextLong(SimNode.SLOT_BYTES - 7);
        try {
            BlockWriter writer = node.node.store().allocate(someBlock(), length);
            long number = world.content.nextWrite();
            Content.fill(writer.segment(), number, length);
            SimNode.OpenWrite write = new SimNode.OpenWrite(writer, number);
            if (random.nextInt(3) == 0) {
                world.tally.hit("use slow writer");
                node.writes.add(write);
            } else {
                commit(node, write);
            }
        } catch (MooncakeException e) {
            refused(e, Kind.OUT_OF_MEMORY, Kind.IN_USE);
        }
    }

    private void endWrite(SimNode node) {
        if (!node.writes.isEmpty()) {
            SimNode.OpenWrite write = node.writes.remove(random.nextInt(node.writes.size()));
            if (random.nextInt(3) == 0) {
                write.writer().abort();
            } else {
                commit(node, write);
            }
        }
    }

    private void commit(SimNode node, SimNode.OpenWrite write) {
        BlockWriter writer = write.writer();
        Content.Write written = new Content.Write(write.number(), writer.length());
        if (!Content.matches(writer.segment(), 0, written, 0, writer.length())) {
            throw new Violation(2, "something else than its writer wrote into the slot of block " + writer.id()
                    + " on node " + node);
        }
        BlockRef ref = node.commit(writer);
        if (writer.result() == BlockWriter.Result.WRITTEN) {
            world.content.commit(ref.id(), ref.version(), written.number(), written.length());
            if (world.refs.size() == MAX_REFS) {
                world.refs.remove(random.nextInt(MAX_REFS));
            }
            world.refs.add(ref);
            world.trace(() -> node + " wrote " + world.describe(ref));
        }
    }

    /** Ends what users hold: writers and views. */
    void letGo(SimNode node) {
        node.writes.forEach(write -> commit(node, write));
        node.writes.clear();
        node.views.forEach(view -> {
            node.checkView(view);
            view.close();
        });
        node.views.clear();
    }

    // ---- reading

    private void view(SimNode node) {
        if (node.views.size() > 2 || (!node.views.isEmpty() && random.nextBoolean())) {
            BlockView view = node.views.remove(random.nextInt(node.views.size()));
            node.checkView(view);
            view.close();
            return;
        }
        BlockView view = node.node.store().newView();
        if (node.node.store().acquire(someBlock(), view)) {
            world.tally.hit("use view");
            node.checkView(view);
            node.views.add(view);
        }
    }

    void read(SimNode node, long timeoutNs) {
        if (node.live.size() >= MAX_LIVE) {
            return;
        }
        List<SimTransfer.Part> parts = new ArrayList<>();
        List<CallerSlot> free = new ArrayList<>(node.callerSlots.stream().filter(CallerSlot::isFree).toList());
        boolean staged = random.nextInt(3) == 0;
        for (int i = 1 + random.nextInt(MAX_PIECES); i > 0 && !free.isEmpty(); i--) {
            CallerSlot slot = free.remove(random.nextInt(free.size()));
            parts.add(new SimTransfer.Part(piece(node, slot, staged ? random.nextInt(3) : 0), slot));
        }
        if (!parts.isEmpty()) {
            submit(new SimTransfer(node, ++world.transfers, parts, timeoutNs));
        }
    }

    private Piece piece(SimNode node, CallerSlot slot, int stage) {
        long offset = random.nextInt(3) == 0 ? random.nextLong(SimNode.SLOT_BYTES / 4) : 0;
        long length = random.nextInt(3) == 0 ? random.nextLong(SimNode.SLOT_BYTES / 4) : Piece.WHOLE;
        Destination destination = slot.destination(node.region, random);
        if (destination instanceof Destination.Pages) {
            world.tally.hit("use scattered pages");
        }
        if (!world.refs.isEmpty() && random.nextInt(3) == 0) {
            world.tally.hit("use by reference");
            BlockRef ref = world.refs.get(random.nextInt(world.refs.size()));
            return Piece.of(ref, offset, length, destination).withStage(stage);
        }
        return Piece.of(someBlock(), offset, length, destination).withStage(stage);
    }

    /** Several nodes, and one of them twice, pull the same block at once. */
    private void sharedPull() {
        BlockId id = someBlock();
        world.tally.hit("use shared pull");
        SimNode twice = world.some();
        for (SimNode node : List.copyOf(world.nodes.values())) {
            for (int i = node == twice ? 2 : random.nextInt(2); i > 0 && node.live.size() < MAX_LIVE; i--) {
                if (!node.isStalled()) {
                    submit(new SimTransfer(node, ++world.transfers,
                            List.of(new SimTransfer.Part(Piece.replica(id), null)),
                            TIMEOUTS_NS[random.nextInt(TIMEOUTS_NS.length)]));
                }
            }
        }
    }

    /**
     * A bit of a block turns over, a user reads the block where it is, and the bit turns back before any peer looks. False when there is no such block, or no room for the read.
     */
    boolean readDamaged(SimNode node) {
        CallerSlot slot = node.callerSlots.stream().filter(CallerSlot::isFree).findFirst().orElse(null);
        BlockRef ref = here(node, someBlock());
        if (slot == null || ref == null || node.live.size() >= MAX_LIVE) {
            return false;
        }
        long at = random.nextLong(ref.length());
        int bit = 1 << random.nextInt(Byte.SIZE);
        flip(node.bytes(ref), at, bit);
        submit(new SimTransfer(node, ++world.transfers,
                List.of(new SimTransfer.Part(
                        Piece.of(ref, 0, Piece.WHOLE, slot.destination(node.region, random)), slot)),
                TIMEOUTS_NS[TIMEOUTS_NS.length - 1]));
        flip(node.bytes(ref), at, bit);
        node.work();
        if (ref.equals(here(node, ref.id()))) {
            throw new Violation(8, "node " + node + " still has " + ref + " although it was found damaged");
        }
        return true;
    }

    private static void flip(MemorySegment bytes, long at, int bit) {
        bytes.set(ValueLayout.JAVA_BYTE, at, (byte) (bytes.get(ValueLayout.JAVA_BYTE, at) ^ bit));
    }

    /** The block as this node has it; null when it has not. */
    private static @Nullable BlockRef here(SimNode node, BlockId id) {
        try (BlockView view = node.node.store().newView()) {
            return node.node.store().acquire(id, view) ? view.ref() : null;
        }
    }

    private void submit(SimTransfer transfer) {
        transfer.node.live.add(transfer);
        transfer.submit();
    }

    private void resubmit(SimNode node) {
        if (node.idle.isEmpty() || node.live.size() >= MAX_LIVE) {
            return;
        }
        SimTransfer transfer = node.idle.get(random.nextInt(node.idle.size()));
        boolean free = transfer.parts.stream().allMatch(part -> part.slot() == null || part.slot().isFree());
        if (free) {
            node.idle.remove(transfer);
            world.transfers++;
            submit(transfer);
        }
    }

    private void cancel(SimNode node) {
        if (!node.live.isEmpty()) {
            SimTransfer transfer = node.live.get(random.nextInt(node.live.size()));
            world.trace(() -> transfer + " is canceled");
            transfer.transfer.cancel();
        }
    }

    // ---- storms

    void cancelStorm(SimNode node) {
        List.copyOf(node.live).forEach(transfer -> transfer.transfer.cancel());
    }

    void evictionStorm(SimNode node) {
        node.node.store().evict(world.blocks);
        for (int i = 0; i < 4; i++) {
            write(node);
        }
    }

    void tinyDeadlines(SimNode node) {
        for (int i = 0; i < 4; i++) {
            read(node, 1 + random.nextLong(TINY_NS));
        }
    }

    /** A close that finds what is held says so, and is over when that has gone. */
    void closeWhileInUse(SimNode node) {
        if (node.views.isEmpty()) {
            letGo(node);
            world.close(node);
            return;
        }
        node.writes.forEach(write -> write.writer().abort());
        node.writes.clear();
        world.tally.hit("use close while in use");
        node.beginClose();
        try {
            node.node.close();
            throw new Violation(7, "node " + node + " closed although views of it are open");
        } catch (MooncakeException e) {
            refused(e, Kind.IN_USE);
        }
        letGo(node);
        world.close(node);
    }

    private void refused(MooncakeException e, Kind... expected) {
        world.tally.hit("refused " + e.kind());
        if (!List.of(expected).contains(e.kind())) {
            throw e;
        }
    }
}
