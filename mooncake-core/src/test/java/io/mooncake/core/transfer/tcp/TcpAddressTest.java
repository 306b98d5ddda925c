package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.ClusterSecret;
import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.Access;
import io.mooncake.core.transfer.ReadStatus;
import io.mooncake.core.transfer.Region;
import io.mooncake.testing.EngineRig.Reading;
import io.mooncake.testing.EngineRig.Side;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What may be bound, and what is told to others. */
@Timeout(120)
final class TcpAddressTest {
    private final Rig rig = new Rig();

    @AfterEach
    void close() {
        rig.close();
    }

    private Side at(String host, int port, @Nullable Endpoint advertised) {
        return rig.side(new NodeId("n", 1 + rig.sides().size()), "c",
                TcpConfig.defaults().withAddresses(new Endpoint(host, port), advertised));
    }

    private MooncakeException refused(String host, int port, @Nullable Endpoint advertised) {
        MooncakeException e = assertThrows(MooncakeException.class, () -> at(host, port, advertised));
        assertEquals(Kind.CONFIG_ERROR, e.kind());
        return e;
    }

    private static void assertSays(MooncakeException e, String part) {
        assertTrue(String.valueOf(e.getMessage()).contains(part), e.getMessage());
    }

    @Test
    void c84_transferOnIpv6Loopback() {
        Side server;
        try {
            server = at("::1", 0, null);
        } catch (MooncakeException e) {
            Assumptions.abort("this machine has no IPv6 loopback: " + e.getMessage());
            return;
        }
        Side client = at("::1", 0, null);
        Endpoint told = Rig.endpoint(server);
        assertEquals(told, Endpoint.parse(told.toString(), 0));
        Region source = server.register(rig.pattern(100_000), Access.READABLE);
        MemorySegment to = rig.filled(100_000, Rig.FILL);
        Reading result = client.read(server.peer(), source.id(), 0, 100_000,
                client.register(to, Access.LOCAL_ONLY));
        rig.until(result::ended);
        assertEquals(ReadStatus.OK, result.status);
        assertTrue(Rig.holdsPattern(to, 0, 100_000, 0));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.0.0.0", "::", "::0"})
    void c85_wildcardIsNotBoundAsPeersAreNotAuthenticated(String host) {
        assertSays(refused(host, 0, null), "tcp.bind: address");
        assertSays(refused(host, 0, null), "not authenticated");
        assertSays(refused(host, 0, new Endpoint("127.0.0.1", 7)), "only loopback");
    }

    @Test
    void c85_bindingAnInterfaceNeedsASecret() throws IOException {
        InetAddress own = NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(address -> !address.isLoopbackAddress())
                .findFirst()
                .orElse(null);
        if (own == null) {
            Assumptions.abort("this machine has no interface beside loopback");
            return;
        }
        assertSays(refused(own.getHostAddress(), 0, null), "is not a loopback address");
    }

    @Test
    void c85_withASecretAnyAddressMayBeBoundAndAWildcardNeedsAnAdvertisedOne() {
        TcpConfig secured = TcpConfig.defaults().withSecret(ClusterSecret.of("0123456789abcdef"));
        Endpoint everywhere = new Endpoint("0.0.0.0", 0);
        assertSays(assertThrows(MooncakeException.class,
                () -> rig.side(new NodeId("n", 1), "c", secured.withAddresses(everywhere, null))), "tcp.advertise");
        Side server = rig.side(new NodeId("n", 1), "c",
                secured.withAddresses(everywhere, new Endpoint("127.0.0.1", 0)));
        Side client = rig.side(new NodeId("m", 2), "c", secured);
        Region source = server.register(rig.pattern(64), Access.READABLE);
        Reading read = client.read(server.peer(), source.id(), 0, 64,
                client.register(rig.filled(64, Rig.FILL), Access.LOCAL_ONLY));
        rig.until(read::ended);
        assertEquals(ReadStatus.OK, read.status);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.0.0.0", "::"})
    void c85_wildcardsAreNotAdvertised(String host) {
        assertSays(refused("127.0.0.1", 0, new Endpoint(host, 9000)), "stands for no host");
    }

    @Test
    void c85_whatIsToldIsWhatWasBound() {
        Endpoint told = Rig.endpoint(at("127.0.1.1", 0, null));
        assertEquals("127.0.1.1", told.host());
        assertTrue(told.port() > 0);
        Endpoint named = Rig.endpoint(at("localhost", 0, null));
        assertTrue(named.host().equals("127.0.0.1") || named.host().equals("0:0:0:0:0:0:0:1"), named.host());
        Side behind = at("127.0.0.1", 0, new Endpoint("127.0.0.2", 0));
        Endpoint forwarded = Rig.endpoint(behind);
        assertEquals("127.0.0.2", forwarded.host());
        assertTrue(forwarded.port() > 0);
        assertEquals(new Endpoint("127.0.0.3", 9000),
                Rig.endpoint(at("127.0.0.1", 0, new Endpoint("127.0.0.3", 9000))));
    }

    @Test
    void c85_unknownHosts() {
        assertSays(refused("no.such.host.invalid", 0, null), "unknown host");
    }

    @Test
    void c86_portInUseNamesAddressAndPort() throws IOException {
        try (ServerSocket taken = new ServerSocket()) {
            taken.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            assertSays(refused("127.0.0.1", taken.getLocalPort(), null), "127.0.0.1:" + taken.getLocalPort());
            assertTrue(rig.sides().isEmpty());
        }
    }

    @Test
    void c86_fiftyEnginesOnPortZero() {
        Set<Integer> ports = new HashSet<>();
        for (int i = 0; i < 50; i++) {
            ports.add(Rig.endpoint(at("127.0.0.1", 0, null)).port());
        }
        assertEquals(50, ports.size());
        List<Reading> results = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            Side owner = rig.sides().get(i);
            Side reader = rig.sides().get((i + 1) % 50);
            Region source = owner.register(rig.pattern(1000), Access.READABLE);
            results.add(reader.read(owner.peer(), source.id(), 0, 1000,
                    reader.register(rig.filled(1000, Rig.FILL), Access.LOCAL_ONLY)));
        }
        rig.until(() -> results.stream().allMatch(Reading::ended));
        results.forEach(result -> assertEquals(ReadStatus.OK, result.status));
    }

    @Test
    void c99_closeWithoutUseAndTwice() {
        Side side = at("127.0.0.1", 0, null);
        side.engine.poller().onClose();
        side.engine.poller().onClose();
        side.engine.poller().wakeup();
        side.engine.poller().park(1_000_000_000);
        assertEquals(0, side.engine.poller().doWork());
        Endpoint told = Rig.endpoint(side);
        assertEquals(told.port(), Rig.endpoint(at("127.0.0.1", told.port(), null)).port(),
                "the port is free again");
    }

    @Test
    void shouldRefuseSettingsThatCannotWork() {
        TcpConfig defaults = TcpConfig.defaults();
        assertThrows(MooncakeException.class, () -> defaults.withLimits(0, 1, 1));
        assertThrows(MooncakeException.class, () -> defaults.withLimits(1, 0, 1));
        assertThrows(MooncakeException.class, () -> defaults.withLimits(1, (1 << 20) + 1, 1));
        assertThrows(MooncakeException.class, () -> defaults.withLimits(1, 1, 0));
        assertThrows(MooncakeException.class, () -> defaults.withTimeouts(0, 1, 1));
        assertThrows(MooncakeException.class, () -> defaults.withTimeouts(1, 0, 1));
        assertThrows(MooncakeException.class, () -> defaults.withTimeouts(1, 1, 0));
        assertThrows(MooncakeException.class, () -> defaults.withSocketBuffers(-1, 0));
        assertThrows(MooncakeException.class, () -> defaults.withSocketBuffers(0, -1));
        assertSays(assertThrows(MooncakeException.class,
                () -> rig.side(new NodeId("n", 1), "c".repeat(Frames.MAX_CLUSTER_BYTES + 1), defaults)),
                "longer than 200 bytes");
    }

    @Test
    void shouldTransferWithSmallSocketBuffers() {
        TcpConfig small = TcpConfig.defaults().withSocketBuffers(8192, 8192);
        Side server = rig.side(new NodeId("s", 1), "c", small);
        Side client = rig.side(new NodeId("t", 2), "c", small);
        Region source = server.register(rig.pattern(3_000_000), Access.READABLE);
        MemorySegment to = rig.filled(3_000_000, Rig.FILL);
        Reading result = client.read(server.peer(), source.id(), 0, 3_000_000,
                client.register(to, Access.LOCAL_ONLY));
        rig.until(result::ended);
        assertEquals(ReadStatus.OK, result.status);
        assertTrue(Rig.holdsPattern(to, 0, 3_000_000, 0));
    }
}
