package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads between two engines. */
@Timeout(120)
final class TcpReadTest {
    private final Rig rig = new Rig();
    private final Rig.Side server = rig.side("server");
    private final Rig.Side client = rig.side("client");

    @AfterEach
    void close() {
        rig.close();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 7, 4096, 16383, 32768, 32769, 65536, 100_003, 1 << 20, (1 << 20) + 1, 5_000_011})
    void shouldBringEveryByteOfAnySize(long length) {
        Region source = server.register(rig.pattern(length + 100), Access.READABLE);
        MemorySegment to = rig.filled(length + 64, Rig.FILL);

        Rig.Result result = client.read(server.peer(), source.id(), 77, length, client.register(to, Access.LOCAL_ONLY));
        rig.until(result::ended);

        assertEquals(ReadStatus.OK, result.status);
        assertEquals(1, result.ends);
        assertEquals(length, result.read.received);
        assertTrue(Rig.holdsPattern(to, 0, length, 77));
        assertTrue(Rig.isFilled(to.asSlice(length), Rig.FILL));
        assertEquals(length, server.count(Counter.BYTES_SERVED));
        assertEquals(1, server.count(Counter.READS_SERVED));
        assertEquals(0, source.uses());
    }

    @Test
    void shouldProveEveryChunkOfAGuardedRead() {
        Region source = server.register(rig.pattern(3 << 20), Access.GUARDED);
        MemorySegment to = rig.filled(3 << 20, Rig.FILL);
        Rig.Result result = new Rig.Result();
        result.read.from(server.peer(), source.id(), 0, 3 << 20)
                .guardedBy(64, 42)
                .into(client.register(to, Access.LOCAL_ONLY), 0)
                .by(rig.nowNs + Rig.SECOND_NS);

        rig.until(client.submit(result)::ended);

        assertEquals(ReadStatus.OK, result.status);
        assertEquals(3, server.guards.pins);
        assertEquals(0, server.guards.pinned);
        assertTrue(Rig.holdsPattern(to, 0, 3 << 20, 0));
    }
}
