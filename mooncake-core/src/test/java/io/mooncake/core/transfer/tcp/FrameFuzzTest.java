package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import io.mooncake.testing.Fuzz;
import java.lang.foreign.MemorySegment;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Frames from outside, on both sides: no exception out of doWork, no hang, no byte where none belongs, and good peers go on. */
@Timeout(300)
final class FrameFuzzTest {
    private static final int GOOD_EVERY = 50;

    private final Rig rig = new Rig();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void greetings() {
        Fuzz.run("hello", 20_000, (input, random) -> {
            ByteBuffer in = ByteBuffer.wrap(input).order(ByteOrder.LITTLE_ENDIAN);
            if (input.length < Frames.HEADER_BYTES) {
                return;
            }
            Greeting greeting;
            try {
                Frames.checkMagic(in, 0);
                int body = Frames.checkBody(in, 0, true);
                if (in.get(Frames.TYPE_AT) != Frames.HELLO || input.length < Frames.HEADER_BYTES + body) {
                    return;
                }
                greeting = Greeting.parse(in, 0, body);
            } catch (ProtocolException e) {
                return;
            }
            if (greeting.clusterBytes().length <= Frames.MAX_CLUSTER_BYTES) {
                ByteBuffer out = Raw.buffer(Frames.MAX_HELLO_BYTES);
                greeting.put(out);
                Greeting again = Greeting.parse(out, 0, out.getInt(Frames.BODY_AT));
                assertEquals(greeting.sender, again.sender);
                assertEquals(greeting.wanted, again.wanted);
                assertArrayEquals(greeting.nonce, again.nonce);
            }
        });
    }

    @Test
    void serverWithoutASecret() {
        server(rig.side(new NodeId("server", 1), "c", TcpConfig.defaults()));
    }

    @Test
    void serverWithASecret() {
        server(rig.side(new NodeId("server", 1), "c",
                TcpConfig.defaults().withSecret(ClusterSecret.of("0123456789abcdef"))));
    }

    private void server(Side server) {
        Side client = rig.side(new NodeId("client", 2), "c", rig.config(server));
        Region plain = server.register(rig.pattern(100_000), Access.READABLE);
        Region guarded = server.register(rig.pattern(100_000), Access.GUARDED);
        MemorySegment to = rig.filled(1000, Rig.FILL);
        Region into = client.register(to, Access.LOCAL_ONLY);
        boolean secured = rig.config(server).secret() != null;
        int[] tries = {0};
        Fuzz.run("server", 200, (input, random) -> {
            try (Raw raw = !secured && random.nextInt(4) > 0
                    ? Raw.dialed(rig, server)
                    : Raw.dial(rig, Rig.endpoint(server))) {
                raw.send(ByteBuffer.wrap(input));
                for (int i = 0; i < 20; i++) {
                    rig.cycle();
                }
            }
            assertEquals(0, secured ? server.messages.size() : 0, "a stranger's message");
            if (++tries[0] % GOOD_EVERY == 0) {
                Reading good = client.read(server.peer(), plain.id(), 0, 1000, into);
                rig.until(good::ended);
                assertEquals(ReadStatus.OK, good.status);
                assertTrue(Rig.holdsPattern(to, 0, 1000, 0));
                rig.until(() -> server.guards.pinned() == 0 && plain.uses() == 0 && guarded.uses() == 0);
                server.messages.clear();
            }
        });
    }

    @Test
    void client() {
        Side client = rig.side("client");
        MemorySegment memory = rig.filled(3000, Rig.FILL);
        Region into = client.register(memory, Access.LOCAL_ONLY);
        Fuzz.run("client", 100, (input, random) -> {
            try (Raw.Listener listener = new Raw.Listener(rig)) {
                Reading result = new Reading();
                result.read.from(listener.peer(), 1, 0, 1000).into(into, 1000).by(rig.nowNs() + Rig.SECOND_NS);
                client.submit(result);
                try (Raw raw = random.nextInt(4) == 0
                        ? listener.accept()
                        : listener.serving(1000, new Raw.Frame[1])) {
                    raw.send(ByteBuffer.wrap(input));
                    for (int i = 0; i < 50; i++) {
                        rig.cycle();
                    }
                }
                rig.advance(2 * Rig.SECOND_NS);
                rig.until(result::ended);
                for (int i = 0; i < 50; i++) {
                    rig.cycle();
                }
                assertEquals(1, result.ends);
            }
            for (MemorySegment outside : List.of(memory.asSlice(0, 1000), memory.asSlice(2000))) {
                assertTrue(Rig.isFilled(outside, Rig.FILL));
            }
            rig.advance(CoolDown.MOST_NS);
        });
    }
}
