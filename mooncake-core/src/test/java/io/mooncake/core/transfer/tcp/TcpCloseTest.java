package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.core.transfer.Topic;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** The close ends whatever was accepted, wherever it is, and does not wait for what never comes. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
final class TcpCloseTest {
    private final Rig rig = new Rig();

    @AfterEach
    void close() {
        rig.close();
    }

    private Region into(Side side) {
        return side.register(rig.filled(8, Rig.FILL), Access.LOCAL_ONLY);
    }

    @Test
    void shouldEndWhatWaitsForTheNameOfAHost() {
        rig.lookups = lookup -> {};
        Side client = rig.side("client");
        Peer named = new Peer(new NodeId("named", 5), Map.of("tcp", "a.host.invalid:7"));
        Reading read = client.read(named, 1, 0, 8, into(client));
        client.engine.send(named, Topic.APPLICATION, Rig.utf8("never"));
        rig.settle();

        client.engine.poller().onClose();

        assertEquals(ReadStatus.CANCELED, read.status);
        assertEquals(1, read.ends);
    }

    @Test
    void shouldEndWhatWaitsForTheNextLaneAfterOneWasLost() throws IOException {
        Side client = rig.side("client");
        try (Raw.Listener listener = new Raw.Listener(rig)) {
            Reading read = client.read(listener.peer(), 1, 0, 8, into(client));
            listener.serving(8, new Raw.Frame[1]).close();
            rig.until(() -> client.count(Counter.RANGES_RESENT) > 0);

            client.engine.poller().onClose();

            assertEquals(ReadStatus.CANCELED, read.status);
            assertEquals(1, read.ends);
        }
    }

    @Test
    void shouldRefuseToEndAReadTwiceAndCloseAllTheSame() {
        Side server = rig.side("server");
        Side client = rig.side("client");
        Region source = server.register(rig.pattern(8), Access.READABLE);
        Reading read = client.read(server.peer(), source.id(), 0, 8, into(client));
        rig.until(read::ended);
        TcpPoller poller = (TcpPoller) client.engine.poller();

        assertThrows(IllegalStateException.class, () -> poller.end(read.read, ReadStatus.CANCELED, null));

        assertEquals(ReadStatus.OK, read.status);
        assertEquals(1, read.ends);
        poller.onClose();
    }
}
