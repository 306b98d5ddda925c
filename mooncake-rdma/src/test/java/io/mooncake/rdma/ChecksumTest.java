package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.UnitChecksums;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.EngineRig.Guards;
import io.mooncake.testing.EngineRig.Reading;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The card brings a block's checksums with its bytes, and damage is found where it has landed; also after the card was reset. */
@Timeout(60)
final class ChecksumTest {
    private static final long BYTES = 3 << 20;
    private static final int GUARDS = 16;

    private final RdmaRig rig = new RdmaRig();
    private final EngineRig.Side owner = rig.side("owner");
    private final EngineRig.Side reader = rig.side("reader");
    private final MemorySegment block = rig.pattern(BYTES);
    private final Region source = owner.register(block, Access.GUARDED);
    private final Region into = reader.own(rig.filled(BYTES, EngineRig.FILL));

    @AfterEach
    void close() {
        rig.close();
    }

    private Reading read() {
        Reading reading = reader.readGuarded(owner, source, BYTES, Guards.FIRST, into);
        rig.until(reading::ended);
        return reading;
    }

    @Test
    void shouldFindDamage() {
        UnitChecksums sums = new UnitChecksums(rig.arena().allocate(UnitChecksums.bytes(GUARDS, BYTES), 64), GUARDS);
        sums.seal(0, 0, block);
        owner.guards.checksums(sums);
        Reading sound = read();
        assertEquals(ReadStatus.OK, sound.status);
        assertEquals(BYTES, sound.read.verified);

        block.set(ValueLayout.JAVA_BYTE, BYTES - 1, (byte) (1 ^ block.get(ValueLayout.JAVA_BYTE, BYTES - 1)));
        assertEquals(ReadStatus.CHECKSUM, read().status);

        rig.host("owner").cards().getFirst().fail();
        rig.host("owner").cards().getFirst().recover();
        rig.advance(3 * EngineRig.SECOND_NS);
        rig.settle();
        assertEquals(ReadStatus.CHECKSUM, read().status);
    }

    @Test
    void shouldReadBlocksThatHaveNone() {
        Reading reading = read();
        assertEquals(ReadStatus.OK, reading.status);
        assertEquals(0, reading.read.verified);
    }
}
