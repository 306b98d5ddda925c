package io.mooncake.bench.cli;

import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Piece;
import io.mooncake.core.PrefixMatch;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.BlockWriter;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Main class of the process that {@link CrashRun} kills: a node with a file tier that verifies what is back, then writes blocks, makes them
 * durable and evicts some, for ever. What it says, a line each:
 *
 * <pre>
 *   back BLOCK WRITING       it was reported present, and every byte is right
 *   wrong BLOCK words        it was reported present, and that was wrong
 *   ready DAMAGED            all were looked at; so many were damaged when the directory was opened
 *   begins BLOCK WRITING     before its slot is taken
 *   durable BLOCK WRITING    its move to the file has ended well
 *   evicts BLOCK             before it is
 * </pre>
 */
final class CrashWriter implements AutoCloseable {
    private static final Duration HOLD = Duration.ofMinutes(1);
    /** One block in so many is evicted after it was written. */
    private static final int EVICTED_SHARE = 8;

    private final CrashSettings settings;
    private final Node node;
    private final Arena arena = Arena.ofShared();
    private final AtomicLong writings;
    private final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    private CrashWriter(CrashSettings settings, long firstWriting) {
        this.settings = settings;
        writings = new AtomicLong(firstWriting);
        node = Node.start(NodeConfig.builder("crash")
                .blockSize(settings.blockBytes())
                .poolSize(settings.memorySlots() * settings.blockBytes())
                .spareSlots(1)
                .sharedMemory(NodeConfig.SHARED_MEMORY_OFF)
                .fileTier(settings.directory(), settings.fileBytes())
                .fileSyncDelay(Duration.ofMillis(2))
                .build());
    }

    /**
     * Verifies, then writes.
     *
     * @param args {@link CrashSettings#toArgs}, then the first writing's number, 0 to write nothing
     * @throws InterruptedException never
     */
    public static void main(String[] args) throws InterruptedException {
        CrashSettings settings = CrashSettings.ofArgs(List.of(args));
        long firstWriting = Long.parseLong(args[args.length - 1]);
        try (CrashWriter writer = new CrashWriter(settings, firstWriting)) {
            writer.verify();
            if (firstWriting > 0) {
                writer.write(firstWriting);
            }
        } catch (MooncakeException e) {
            System.err.println("crash: " + e.getMessage());
            System.exit(Main.FAILED);
        }
    }

    /** A line is one write, so that none is cut by the kill. */
    private void say(String line) {
        synchronized (out) {
            out.print(line + "\n");
            out.flush();
        }
    }

    private static BlockId id(int block) {
        return BlockId.of("crash-" + block);
    }

    // ---- what is back

    private void verify() {
        MemorySegment into = arena.allocate(settings.blockBytes(), Content.MIN_BYTES);
        try (Region region = node.register(Memory.of(into), Access.LOCAL_ONLY)) {
            for (int block = 0; block < settings.blocks(); block++) {
                try (PrefixMatch match = node.store().match(List.of(id(block)), HOLD)) {
                    if (match.hits() == 1) {
                        say(verified(block, Objects.requireNonNull(match.ref(0)), region, into));
                    }
                }
            }
        }
        say("ready " + node.counters().get(Counter.BLOCKS_DAMAGED));
    }

    private String verified(int block, BlockRef ref, Region region, MemorySegment into) {
        Outcome outcome = node.store().read(ref.id(), 0, Piece.WHOLE, region, 0);
        if (outcome != Outcome.OK) {
            return "wrong " + block + " it was reported present, and reading it ended as " + outcome;
        }
        MemorySegment bytes = into.asSlice(0, ref.length());
        long writing = Content.writing(bytes);
        long at = Content.firstWrongByte(bytes, block, writing);
        return at < 0
                ? "back " + block + " " + writing
                : "wrong " + block + " byte " + at + " of " + ref.length() + " is not of writing " + writing;
    }

    // ---- until it is killed

    private void write(long seed) throws InterruptedException {
        Thread[] threads = new Thread[settings.writers()];
        for (int i = 0; i < threads.length; i++) {
            int writer = i;
            SplittableRandom random = new SplittableRandom(seed + i);
            threads[i] = Thread.ofPlatform().start(() -> {
                while (true) {
                    // Each has blocks of its own.
                    int share = settings.blocks() / threads.length;
                    writeOne(writer * share + random.nextInt(share), random);
                }
            });
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private void writeOne(int block, SplittableRandom random) {
        long writing = writings.getAndIncrement();
        long length = random.nextLong(Content.MIN_BYTES, settings.blockBytes() + 1);
        say("begins " + block + " " + writing);
        try (BlockWriter writer = node.store().allocate(id(block), length)) {
            Content.fill(writer.segment().asSlice(0, length), block, writing);
            writer.commit();
        }
        Transfer down = node.store()
                .prepare(List.of(Piece.replica(id(block), Tier.SLOW)), TransferOptions.DEFAULT)
                .submit();
        down.join();
        if (down.outcome(0) != Outcome.OK) {
            throw new IllegalStateException("block " + block + " was not made durable: " + down.outcome(0),
                    down.cause(0));
        }
        say("durable " + block + " " + writing);
        if (random.nextInt(EVICTED_SHARE) == 0) {
            say("evicts " + block);
            node.store().evict(List.of(id(block)));
        }
    }

    @Override
    public void close() {
        node.close();
        arena.close();
    }
}
