package io.mooncake.rdma.machines;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.rdma.rig.RdmaDevices;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Reads between two machines while one of them dies, stands still, or is cut off: every read ends with its cause by its deadline, none
 * succeeds with a byte that is not the block's, and reads succeed again without help, also from the next life at the same address.
 */
@Tag("machines")
@Timeout(900)
final class TwoMachinesTest {
    private static final String LONGEST = "begin " + Blocks.LENGTHS[Blocks.LENGTHS.length - 1];

    @TempDir
    private Path folder;

    @BeforeEach
    void mayBoot() {
        RdmaDevices.assumeMachines();
    }

    private Machine bootOwner(Cable cable) throws IOException {
        return new Machine(Blocks.OWNER, Blocks.OWNER_ADDRESS, cable, folder, OwnerProgram.class);
    }

    /** Waits until the owner serves, and tells the reader of its blocks; the incarnation is what the reader's lines end with. */
    private void introduce(Machine owner) throws IOException, InterruptedException {
        owner.await("ready"::equals);
        List<String> lines = new ArrayList<>(owner.said());
        lines.removeIf(line -> !line.startsWith("block ") && !line.startsWith("rdma "));
        Path part = Files.write(folder.resolve("part"), lines);
        Files.move(part, folder.resolve(Blocks.REFERENCES), StandardCopyOption.ATOMIC_MOVE);
    }

    private static String incarnation(String line) {
        return line.substring(line.lastIndexOf(' ') + 1);
    }

    /** A whole round of blocks is read. */
    private static String awaitReads(Machine reader) throws InterruptedException {
        reader.drain();
        String last = "";
        for (int i = 0; i < 2 * Blocks.LENGTHS.length; i++) {
            last = reader.await(line -> line.startsWith("OK "));
        }
        return incarnation(last);
    }

    /** In the middle of the longest one, as likely as not. */
    private static void awaitMiddle(Machine reader) throws InterruptedException {
        reader.drain();
        reader.await(LONGEST::equals);
    }

    private static String awaitFailure(Machine reader, String when) throws InterruptedException {
        String line = reader.await(any -> any.startsWith("UNREACHABLE ") || any.startsWith("TIMED_OUT "));
        System.out.println("[machines] " + when + ": " + line);
        return line;
    }

    @Test
    void shouldEndEveryReadAndReadAgainWhateverHappensToTheOtherMachine() throws Exception {
        try (Cable cable = new Cable();
                Machine reader = new Machine(Blocks.READER, Blocks.READER_ADDRESS, cable, folder,
                        ReaderProgram.class)) {
            Machine owner = bootOwner(cable);
            try {
                introduce(owner);
                String first = awaitReads(reader);
                shouldSurviveACut(cable, reader);
                shouldSurviveAFrozenOwner(owner, reader);

                awaitMiddle(reader);
                owner.signal("KILL");
                awaitFailure(reader, "killed");
                awaitFailure(reader, "dead");
                owner.close();
                owner = bootOwner(cable);
                introduce(owner);
                String second = reader.await(line -> line.startsWith("OK ") && !incarnation(line).equals(first));
                System.out.println("[machines] restarted at the same address: " + second);
                awaitReads(reader);
            } finally {
                owner.close();
            }
        }
    }

    private static void shouldSurviveACut(Cable cable, Machine reader) throws InterruptedException {
        awaitMiddle(reader);
        cable.cut();
        awaitFailure(reader, "cut");
        cable.mend();
        awaitReads(reader);
    }

    private static void shouldSurviveAFrozenOwner(Machine owner, Machine reader)
            throws IOException, InterruptedException {
        awaitMiddle(reader);
        owner.signal("STOP");
        String failed = awaitFailure(reader, "frozen");
        assertTrue(failed.length() > 0);
        owner.signal("CONT");
        awaitReads(reader);
    }
}
