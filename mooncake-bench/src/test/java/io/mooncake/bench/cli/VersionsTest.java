package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.Versions.BlockVersion;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Version;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

/** What several processes saw, put together. */
class VersionsTest {
    private static final long HASH_ID = 17;
    private static final BlockVersion FIRST = new BlockVersion(HASH_ID, 1, 100);
    private static final BlockVersion SECOND = new BlockVersion(HASH_ID, 2, 100);

    private final StringWriter told = new StringWriter();
    private final ReplayStats stats = new ReplayStats(new PrintWriter(told, true));
    private final Versions versions = new Versions(stats);
    private final MemorySegment bytes = Arena.ofAuto().allocate(4096, 64);

    @Test
    void shouldAcceptReadsReportedBeforeTheirWrite() {
        versions.read(FIRST, 5, "b");
        versions.written(FIRST, 5);
        versions.written(SECOND, 7);
        versions.read(FIRST, 5, "c");
        versions.settle();
        versions.settle();
        assertEquals(0, stats.verificationErrors(), told::toString);
    }

    @Test
    void shouldCatchTheBytesOfAnOlderVersion() {
        versions.written(FIRST, 5);
        versions.written(SECOND, 7);
        versions.read(SECOND, 5, "b");
        assertEquals(1, stats.verificationErrors());
        assertTrue(told.toString().contains("was made of writing 7, and has the bytes of 5"), told::toString);
    }

    @Test
    void shouldCatchTheBytesOfAnOlderVersionThatWereReadBeforeTheReport() {
        versions.read(SECOND, 5, "b");
        versions.written(FIRST, 5);
        versions.written(SECOND, 7);
        versions.settle();
        assertEquals(1, stats.verificationErrors(), told::toString);
    }

    @Test
    void shouldCatchAVersionThatNobodyWrote() {
        versions.written(FIRST, 5);
        versions.read(new BlockVersion(HASH_ID, 1, 101), 5, "b");
        assertEquals(0, stats.verificationErrors(), "its writer may report it yet");
        versions.settle();
        assertEquals(1, stats.verificationErrors());
        assertTrue(told.toString().contains("nobody wrote"), told::toString);
    }

    @Test
    void shouldCatchAVersionThatWasGivenTwice() {
        versions.written(FIRST, 5);
        versions.written(FIRST, 7);
        assertEquals(1, stats.verificationErrors());
    }

    @Test
    void shouldTestifyToWhatItSawAndNotToWrongBytes() {
        Testimony witness = new Testimony(2, 4, 0, stats);
        BlockRef ref = new BlockRef(RequestServer.id(HASH_ID), new Version(3, 9), new NodeId("node-0", 1), 1, 0, 4096,
                0, 16);
        long writing = witness.nextWriting();
        assertTrue(writing != new Testimony(1, 4, 0, stats).nextWriting(), "no two witnesses give the same");
        Content.fill(bytes, HASH_ID, writing);
        assertTrue(witness.verify(ref, HASH_ID, bytes, AccessPath.REMOTE_PULL));
        bytes.set(ValueLayout.JAVA_BYTE, 4000, (byte) ~bytes.get(ValueLayout.JAVA_BYTE, 4000));
        assertTrue(!witness.verify(ref, HASH_ID, bytes, AccessPath.REMOTE_PULL));
        assertEquals(1, stats.verificationErrors());
        witness.wrote(2, HASH_ID, ref, writing);
        String report = witness.takeReport();
        assertEquals("R:17:3:9:" + writing + " W:17:3:9:" + writing, report);
        assertEquals("", witness.takeReport());
        for (String word : report.split(" ", -1)) {
            Testimony.judge(word, "node-2", versions);
        }
        versions.settle();
        assertEquals(1, stats.verificationErrors(), "they agree");
    }
}
