package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random and damaged bytes: no hang, no exception out of doWork, no byte where none belongs, and good peers go on. */
@Timeout(120)
final class TcpFuzzTest {
    private final Rig rig = new Rig();

    @AfterEach
    void close() {
        rig.close();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void serverSurvivesAnyBytes(long seed) throws IOException {
        Random random = new Random(seed);
        Side server = rig.side("server");
        Side client = rig.side("client");
        Region source = server.register(rig.pattern(100_000), Access.READABLE);
        Region guarded = server.register(rig.pattern(100_000), Access.GUARDED);
        for (int round = 0; round < 100; round++) {
            boolean greeted = random.nextInt(4) > 0;
            try (Raw raw = greeted
                    ? Raw.dialed(rig, server)
                    : Raw.dial(rig, Rig.endpoint(server))) {
                raw.send(garbage(random, server, source.id(), guarded.id()));
                for (int i = 0; i < 20; i++) {
                    rig.cycle();
                }
            }
        }
        MemorySegment to = rig.filled(1000, Rig.FILL);
        Reading good = client.read(server.peer(), source.id(), 0, 1000, client.register(to, Access.LOCAL_ONLY));
        rig.until(good::ended);
        assertEquals(ReadStatus.OK, good.status, "seed " + seed);
        rig.advance(60 * Rig.SECOND_NS);
        rig.settle();
        assertEquals(0, server.guards.pinned(), "seed " + seed);
        assertEquals(0, source.uses(), "seed " + seed);
        assertEquals(0, guarded.uses(), "seed " + seed);
    }

    private static ByteBuffer garbage(Random random, Side server, int plain, int guarded) {
        ByteBuffer bytes = Raw.buffer(20_000);
        for (int frames = random.nextInt(8); frames >= 0; frames--) {
            switch (random.nextInt(5)) {
                case 0 -> {
                    byte[] noise = new byte[random.nextInt(300)];
                    random.nextBytes(noise);
                    bytes.put(noise);
                }
                case 1 -> bytes.put(Raw.read(server.id, random.nextInt(4), random.nextLong(), random.nextLong()));
                case 2 -> bytes.put(Raw.read(server.id, plain, random.nextInt(100_000), random.nextInt(2_000)));
                case 3 ->
                    bytes.put(Raw.read(server.id, guarded, 1, random.nextInt(90_000), random.nextInt(9_000), 64, 42));
                default -> bytes.put(Raw.frame((byte) random.nextInt(14), random.nextLong(), server.id.incarnation(),
                        new byte[random.nextInt(100)]));
            }
        }
        bytes.flip();
        for (int damage = random.nextInt(4); damage > 0 && bytes.limit() > 0; damage--) {
            bytes.put(random.nextInt(bytes.limit()), (byte) random.nextInt());
        }
        return bytes;
    }

    @ParameterizedTest
    @ValueSource(longs = {11, 12, 13})
    void clientSurvivesAnyAnswer(long seed) throws IOException {
        Random random = new Random(seed);
        Side client = rig.side("client");
        MemorySegment memory = rig.filled(3000, Rig.FILL);
        Region into = client.register(memory, Access.LOCAL_ONLY);
        for (int round = 0; round < 60; round++) {
            try (Raw.Listener listener = new Raw.Listener(rig)) {
                Reading result = new Reading();
                result.read.from(listener.peer(), 1, 0, 1000).into(into, 1000).by(rig.nowNs() + Rig.SECOND_NS);
                client.submit(result);
                Raw.Frame[] read = new Raw.Frame[1];
                try (Raw raw = listener.serving(1000, read)) {
                    ByteBuffer answer = Raw.buffer(4000);
                    byte[] payload = new byte[500];
                    random.nextBytes(payload);
                    answer.put(listener.chunk(read[0].cookie, 0, payload, 0))
                            .put(listener.chunk(read[0].cookie, 500, payload, 0));
                    answer.flip();
                    for (int damage = 1 + random.nextInt(3); damage > 0; damage--) {
                        int at = random.nextInt(answer.limit());
                        answer.put(at, (byte) random.nextInt());
                    }
                    raw.send(answer);
                    rig.settle();
                }
                rig.advance(2 * Rig.SECOND_NS);
                rig.until(result::ended);
                rig.settle();
                assertEquals(1, result.ends, "seed " + seed);
            }
        }
        assertTrue(Rig.isFilled(memory.asSlice(0, 1000), Rig.FILL), "seed " + seed);
        assertTrue(Rig.isFilled(memory.asSlice(2000), Rig.FILL), "seed " + seed);
    }
}
