package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.Counter;
import io.mooncake.core.base.NodeId;
import io.mooncake.testing.EngineRig.Side;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Case C80: many connections that say nothing take next to no memory, and end. */
@Timeout(120)
final class TcpSilentConnectionsTest {
    private static final int CONNECTIONS = 500;

    private final Rig rig = new Rig();

    @AfterEach
    void close() {
        rig.close();
    }

    /** Heap only: a lane has no other memory before its handshake, its small buffer included. */
    private static long usedBytes() {
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    @Test
    void c80_fiveHundredSilentConnections() throws IOException {
        Side server = rig.side(new NodeId("server", 1), "c", TcpConfig.defaults().withLimits(64, 4096, 1000));
        Raw.dial(rig, Rig.endpoint(server)).close();
        rig.settle();
        List<SocketChannel> silent = new ArrayList<>();
        var endpoint = Rig.endpoint(server);
        var address = new InetSocketAddress(endpoint.host(), endpoint.port());
        for (int i = 0; i < CONNECTIONS; i++) {
            silent.add(SocketChannel.open(address));
        }
        rig.settle();
        long with = usedBytes();
        long before = server.count(Counter.HANDSHAKES_REFUSED);
        rig.advance(rig.config(server).times().handshakeNs());
        rig.until(() -> server.count(Counter.HANDSHAKES_REFUSED) == before + CONNECTIONS);
        rig.settle();
        long without = usedBytes();
        assertEquals(0, server.count(Counter.PROTOCOL_ERRORS));
        assertTrue(with - without < 1 << 20, "bytes for " + CONNECTIONS + " silent connections: " + (with - without));
        for (var channel : silent) {
            channel.close();
        }
    }
}
