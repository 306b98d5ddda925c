package io.mooncake.rdma.machines;

import io.mooncake.core.Destination;
import io.mooncake.core.Node;
import io.mooncake.core.Piece;
import io.mooncake.core.TransferOptions;
import io.mooncake.core.base.Memory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Outcome;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Transfer;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;

/**
 * In the machine that lives: reads the owner's blocks one after the other, for ever, and looks at every byte. The owner's references are
 * taken from a file, whenever another one is there. It says
 *
 * <pre>
 *   begin LENGTH
 *   OK LENGTH MS INCARNATION
 *   OUTCOME LENGTH MS CAUSE           not read, by its deadline at the latest
 *   WRONG ...                         what must never be
 * </pre>
 */
final class ReaderProgram {
    static final Duration TIMEOUT = Duration.ofSeconds(4);
    /** On an emulated processor, which others use, too: a read that hangs is later than that. */
    private static final long LATE_MS = 6_000;
    private static final byte FILL = 0x5A;

    private final Path references;
    private final LocalRegistry registry = new LocalRegistry();
    private String known = "";
    private List<BlockRef> blocks = List.of();
    /** Reads that brought their bytes. The first ones run code that was never run before, which takes the emulated processor seconds. */
    private int succeeded;

    private ReaderProgram(Path folder) {
        references = folder.resolve(Blocks.REFERENCES);
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        new ReaderProgram(Path.of(args[0])).run();
    }

    private void run() throws IOException, InterruptedException {
        long most = Blocks.LENGTHS[Blocks.LENGTHS.length - 1];
        try (Arena arena = Arena.ofShared();
                Node node = Node.start(Blocks.config(Blocks.READER, registry))) {
            MemorySegment memory = arena.allocate(most, 4096);
            Region region = node.register(Memory.of(memory), Access.LOCAL_ONLY);
            System.out.println("started");
            for (int i = 0;; i = (i + 1) % Blocks.LENGTHS.length) {
                learn();
                if (blocks.isEmpty()) {
                    Thread.sleep(50);
                } else {
                    read(node, i, region, memory.asSlice(0, Blocks.LENGTHS[i]));
                }
            }
        }
    }

    /** The references that are there now. */
    private void learn() throws IOException {
        String text = Files.exists(references) ? Files.readString(references) : known;
        if (text.equals(known)) {
            return;
        }
        known = text;
        List<BlockRef> found = new ArrayList<>();
        for (String line : text.lines().toList()) {
            String[] words = line.split(" ", -1);
            if (words[0].equals("block")) {
                found.add(BlockRef.fromBytes(HexFormat.of().parseHex(words[1])));
            } else {
                registry.withAddress(Blocks.OWNER, words[0], words[1]);
            }
        }
        blocks = found;
    }

    private void read(Node node, int block, Region region, MemorySegment into) {
        BlockRef ref = blocks.get(block);
        into.fill(FILL);
        System.out.println("begin " + ref.length());
        long begunNs = System.nanoTime();
        Transfer transfer = node.store()
                .prepare(List.of(Piece.of(ref, 0, Piece.WHOLE, Destination.at(region, 0))),
                        TransferOptions.DEFAULT.withTimeout(TIMEOUT))
                .submit();
        transfer.join();
        long ms = (System.nanoTime() - begunNs) / 1_000_000;
        Outcome outcome = transfer.outcome(0);
        MooncakeException cause = transfer.cause(0);
        System.out.printf(Locale.ROOT, "%s %d %d %s%n", outcome, ref.length(), ms, outcome == Outcome.OK
                ? "" + ref.node().incarnation()
                : cause == null ? "" : cause.kind() + " " + cause.getMessage());
        succeeded += outcome == Outcome.OK ? 1 : 0;
        long wrong = outcome == Outcome.OK ? Blocks.firstWrong(into, ref.node(), block) : -1;
        if (wrong >= 0) {
            System.out.println("WRONG byte " + wrong + " of block " + ref + ", read with success");
        }
        if (succeeded > Blocks.LENGTHS.length && ms > TIMEOUT.toMillis() + LATE_MS) {
            System.out.println("WRONG: a read with " + TIMEOUT.toMillis() + " ms took " + ms);
        }
    }
}
