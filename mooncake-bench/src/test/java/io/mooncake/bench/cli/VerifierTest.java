package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Version;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class VerifierTest {
    private static final long HASH_ID = 17;
    private static final long LENGTH = 4096;
    private static final BlockId ID = RequestServer.id(HASH_ID);
    private static final NodeId NODE = new NodeId("node-0", 1);

    private final StringWriter told = new StringWriter();
    private final ReplayStats stats = new ReplayStats(new PrintWriter(told, true));
    private final Ledger ledger = new Ledger(2);
    private final Verifier verifier = new Verifier(ledger, stats);
    private final MemorySegment bytes = Arena.ofAuto().allocate(LENGTH, 64);

    @Test
    void shouldAcceptWhatWasWritten() {
        written(new Version(1, 1));
        assertTrue(verify(new Version(1, 1)));
        assertEquals(0, stats.verificationErrors());
    }

    @Test
    void shouldCatchOneWrongByteAndSayWhichItIs() {
        long writing = written(new Version(1, 1));
        bytes.set(ValueLayout.JAVA_BYTE, 1234, (byte) ~Content.expected(HASH_ID, writing, 1234));
        assertFalse(verify(new Version(1, 1)));
        assertEquals(1, stats.verificationErrors());
        assertTrue(told.toString().contains("byte 1234 of 4096 is 0x"), told.toString());
        assertTrue(told.toString().contains("remote pull"), told.toString());
    }

    @Test
    void shouldCatchTheBytesOfAnOlderVersion() {
        written(new Version(1, 1));
        ledger.has(1, ID, new Version(2, 1), ledger.nextWriting());
        assertFalse(verify(new Version(2, 1)));
        assertTrue(verify(new Version(1, 1)));
    }

    @Test
    void shouldCatchAVersionThatNobodyWrote() {
        written(new Version(1, 1));
        assertFalse(verify(new Version(1, 2)));
    }

    @Test
    void shouldCatchMissingBytes() {
        written(new Version(1, 1));
        assertFalse(
                verifier.verify(ref(new Version(1, 1)), HASH_ID, bytes.asSlice(0, LENGTH - 8), AccessPath.LOCAL_COPY));
    }

    @Test
    void shouldKnowAPulledVersionAfterItsWriterHasANewerOne() {
        written(new Version(1, 1));
        ledger.has(1, ID, new Version(1, 1), 1);
        ledger.has(0, ID, new Version(3, 1), ledger.nextWriting());
        assertTrue(verify(new Version(1, 1)));
    }

    @Test
    void shouldTellOnlyTheFirstErrors() {
        for (int i = 0; i < 100; i++) {
            verify(new Version(1, 1));
        }
        assertEquals(100, stats.verificationErrors());
        assertEquals(6, told.toString().lines().count());
    }

    private long written(Version version) {
        long writing = ledger.nextWriting();
        Content.fill(bytes, HASH_ID, writing);
        ledger.has(0, ID, version, writing);
        return writing;
    }

    private boolean verify(Version version) {
        return verifier.verify(ref(version), HASH_ID, bytes, AccessPath.REMOTE_PULL);
    }

    private static BlockRef ref(Version version) {
        return new BlockRef(ID, version, NODE, 1, 0, LENGTH, 0, 16);
    }
}
