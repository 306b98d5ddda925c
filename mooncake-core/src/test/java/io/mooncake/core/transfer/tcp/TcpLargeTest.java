package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Case C03: regions beyond what a byte buffer can hold. */
@Timeout(300)
final class TcpLargeTest {
    private static final long LENGTH = (1L << 31) + 1;

    private final Rig rig = new Rig();
    private final Side server = rig.side("server");
    private final Side client = rig.side("client");

    @TempDir
    Path folder;

    @AfterEach
    void close() {
        rig.close();
    }

    private MemorySegment sparse(String name) throws IOException {
        try (FileChannel file = FileChannel.open(folder.resolve(name), StandardOpenOption.CREATE_NEW,
                StandardOpenOption.SPARSE,
                StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return file.map(MapMode.READ_WRITE, 0, LENGTH, rig.arena());
        }
    }

    @Test
    void c03_readThatStraddlesTwoGibibytes() throws IOException {
        MemorySegment file = sparse("source");
        MemorySegment target = sparse("target");
        for (long i = LENGTH - 8; i < LENGTH; i++) {
            file.set(ValueLayout.JAVA_BYTE, i, Rig.patternAt(i));
        }
        Region source = server.register(file, Access.READABLE);
        Reading result = new Reading();
        result.read.from(server.peer(), source.id(), LENGTH - 8, 8)
                .into(client.register(target, Access.LOCAL_ONLY), LENGTH - 8)
                .by(Long.MAX_VALUE);
        rig.until(client.submit(result)::ended);
        assertEquals(ReadStatus.OK, result.status);
        for (long i = LENGTH - 8; i < LENGTH; i++) {
            assertEquals(Rig.patternAt(i), target.get(ValueLayout.JAVA_BYTE, i));
        }
    }

    @Test
    void c03_longReadAcrossEverySeam() throws IOException {
        MemorySegment file = sparse("source");
        MemorySegment target = sparse("target");
        long from = (1L << 31) - (3 << 20) - 5;
        for (long i = from; i < LENGTH; i++) {
            file.set(ValueLayout.JAVA_BYTE, i, Rig.patternAt(i));
        }
        Region source = server.register(file, Access.READABLE);
        Reading result = new Reading();
        result.read.from(server.peer(), source.id(), from, LENGTH - from)
                .into(client.register(target, Access.LOCAL_ONLY), from)
                .by(Long.MAX_VALUE);
        rig.until(client.submit(result)::ended);
        assertEquals(ReadStatus.OK, result.status);
        assertEquals(-1, file.asSlice(from).mismatch(target.asSlice(from)));
    }

    @Test
    @Tag("full")
    void c03_wholeReadOfMoreThanTwoGibibytes() throws IOException {
        MemorySegment file = sparse("source");
        file.set(ValueLayout.JAVA_BYTE, LENGTH - 1, (byte) 0x5A);
        MemorySegment target = sparse("target");
        Region source = server.register(file, Access.READABLE);
        Reading result = client.read(server.peer(), source.id(), 0, LENGTH,
                client.register(target, Access.LOCAL_ONLY));
        rig.until(result::ended);
        assertEquals(ReadStatus.OK, result.status);
        assertEquals(LENGTH, result.read.received);
        assertEquals((byte) 0x5A, target.get(ValueLayout.JAVA_BYTE, LENGTH - 1));
    }
}
