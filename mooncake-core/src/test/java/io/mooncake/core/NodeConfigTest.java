package io.mooncake.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.pool.MemorySource;
import io.mooncake.core.registry.Discovery;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.registry.Membership;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NodeConfigTest {
    @ParameterizedTest
    @CsvSource({"pool.size,-1", "pool.size,''", "pool.size,12xyz", "pool.size,0", "pool.size,1", "block.size,0.3b",
            "block.size,99999999999999999999", "pool.spareSlots,-1", "pool.spareSlots,16", "pool.spareSlots,abc",
            "writer.ttl,0s", "writer.ttl,-1s", "writer.ttl,5", "transfer.timeout,0ms", "threading,many", "idle,never",
            "tcp.bind,'[::1'", "tcp.lanes,x", "tcp.bind,'h:99999'", "cluster,' '", "cluster.secretFile,''",
            "sharedMemory,''", "sharedMemory,yes", "sharedMemory,shm/dir", "cluster.discovery,''",
            "cluster.discovery,'a:1,,b:2'", "cluster.discovery,'h:0'", "cluster.discovery,'dns:'",
            "cluster.discovery,'multicast:[::1'", "cluster.bind,'h:x'", "cluster.bind,'127.0.0.1:1'",
            "cluster.heartbeat,5", "cluster.heartbeatMisses,x"})
    void C08_aBadSettingNamesKeyAndValue(String key, String value) {
        MooncakeException e = assertThrows(MooncakeException.class,
                () -> NodeConfig.builder("a").set(key, value).build());
        assertEquals(Kind.CONFIG_ERROR, e.kind());
        assertTrue(e.getMessage().contains(value.strip()), e.getMessage());
        assertTrue(e.getMessage().contains(key) || key.startsWith("tcp."), e.getMessage());
    }

    @Test
    void C08_sizesAreBinaryAndOfAnyCase() {
        assertEquals(536870912, NodeConfig.builder("a").set("pool.size", "512mb").build().pool().size());
        assertEquals(1610612736, NodeConfig.builder("a").set("pool.size", "1.5gb").build().pool().size());
        assertEquals(Duration.ofMinutes(2),
                NodeConfig.builder("a").set("writer.ttl", "2m").build().timeouts().writerTtl());
        assertEquals(new Endpoint("::1", 9000),
                NodeConfig.builder("a").set("tcp.bind", "[::1]:9000").build().tcp().bind());
        assertEquals(ThreadingMode.INVOKER,
                NodeConfig.builder("a").set("threading", "invoker").build().agents().threading());
        assertEquals("off", NodeConfig.builder("a").set("sharedMemory", "Off").build().pool().sharedMemory());
        assertEquals("/dev/SHM", NodeConfig.builder("a").set("sharedMemory", "/dev/SHM").build().pool().sharedMemory());
    }

    /** Each block that there may be costs memory of its own, also where there is no room for so many. */
    @Test
    void shouldRefuseBlocksThatAreTooSmallToBeCounted() {
        MooncakeException e = assertThrows(MooncakeException.class,
                () -> NodeConfig.builder("a").poolSize(64L << 30).leastBlock(64).build());
        assertEquals(Kind.CONFIG_ERROR, e.kind());
        assertTrue(e.getMessage().contains("pool.leastBlock") && e.getMessage().contains("64KiB or more"),
                e.getMessage());
        assertEquals(1 << 20,
                NodeConfig.builder("a").poolSize(64L << 30).leastBlock(64 << 10).build().pool().slots());
    }

    @ParameterizedTest
    @CsvSource({"10ms,3", "2m,3", "1s,1", "1s,101", "100ms,3", "60s,30"})
    void C08_heartbeatAndMissesAreCheckedAgainstEachOther(String heartbeat, String misses) {
        NodeConfigBuilder builder = NodeConfig.builder("a")
                .set("cluster.discovery", "127.0.0.1")
                .set("cluster.heartbeat", heartbeat)
                .set("cluster.heartbeatMisses", misses);
        MooncakeException e = assertThrows(MooncakeException.class, builder::build);
        assertEquals(Kind.CONFIG_ERROR, e.kind());
        assertTrue(e.getMessage().contains("cluster.heartbeat"), e.getMessage());
    }

    @Test
    void waysToFindOthersReadBackAsTheyPrint() {
        for (String[] text : new String[][]{{"10.0.0.1", "10.0.0.1:7800"}, {"a:1, [::1]:2", "a:1,[::1]:2"},
                {"multicast", "multicast:239.75.76.79:7800"}, {"multicast:239.1.2.3:9", "multicast:239.1.2.3:9"},
                {"dns:nodes.example", "dns:nodes.example:7800"}, {"dns:nodes:9", "dns:nodes:9"}}) {
            Discovery discovery = Discovery.parse(text[0]);
            assertEquals(text[1], discovery.toString());
            assertEquals(discovery, Discovery.parse(text[1]));
        }
        Membership membership = NodeConfig.builder("a")
                .set("tcp.bind", "127.0.0.3:0")
                .set("cluster.discovery", "127.0.0.1")
                .build()
                .cluster()
                .membership();
        assertEquals(new Membership(Discovery.parse("127.0.0.1"), new Endpoint("127.0.0.3", 7800),
                Duration.ofSeconds(1), 3), membership);
        NodeConfigBuilder both = NodeConfig.builder("a").set("cluster.discovery", "h").registry(new LocalRegistry());
        assertTrue(assertThrows(MooncakeException.class, both::build).getMessage().contains("registry of your own"));
    }

    @ParameterizedTest
    @CsvSource({"tcp.bind,0.0.0.0:0", "tcp.bind,no.such.host.invalid:0", "tcp.advertise,[::]:80", "tcp.lanes,17",
            "tcp.lanes,-1"})
    void aWrongTcpSettingIsToldBeforeMemoryIsTaken(String key, String value) {
        MemorySource none = (bytes, alignment, arena) -> fail("took " + bytes + " bytes first");
        MooncakeException e = assertThrows(MooncakeException.class,
                () -> Node.start(NodeConfig.builder("a").set(key, value).memory(none).build()));
        assertEquals(Kind.CONFIG_ERROR, e.kind());
        assertTrue(e.getMessage().startsWith(key) && e.getMessage().contains(value), e.getMessage());
    }

    @Test
    void anUnknownSettingNamesTheKnownOnes() {
        MooncakeException e = assertThrows(MooncakeException.class,
                () -> NodeConfig.builder("a").set("rdma.port", "0"));
        assertTrue(e.getMessage().contains("rdma.port") && e.getMessage().contains("pool.size"), e.getMessage());
        assertThrows(MooncakeException.class, () -> NodeConfig.builder("not a name").build());
    }

    @Test
    void aSecretIsShownToNobody() {
        String secret = "0123456789abcdef";
        assertFalse(NodeConfig.builder("a").set("cluster.secret", secret).build().toString().contains(secret));
        for (String[] wrong : new String[][]{{"clusterSecret", secret}, {"cluster.secret", "0123456789abcde"}}) {
            MooncakeException e = assertThrows(MooncakeException.class,
                    () -> NodeConfig.builder("a").set(wrong[0], wrong[1]));
            assertFalse(e.getMessage().contains("0123456789abcde"), e.getMessage());
            assertTrue(e.getMessage().contains("cluster.secret"), e.getMessage());
        }
        assertTrue(assertThrows(MooncakeException.class,
                () -> NodeConfig.builder("a").set("cluster.secretFile", "/no/such/file"))
                .getMessage()
                .contains("/no/such/file"));
    }

    @Test
    void anUnknownPolicyNamesTheKnownOnesAndLeavesNothingBehind() {
        try (TestNodes nodes = new TestNodes()) {
            MooncakeException e = assertThrows(MooncakeException.class,
                    () -> nodes.start("a", builder -> builder.evictionPolicy("random")));
            assertTrue(e.getMessage().contains("random") && e.getMessage().contains("lru"), e.getMessage());
            nodes.start("a");
        }
    }

    @Test
    void spinningNeedsAsManyCores() {
        try (TestNodes nodes = new TestNodes()) {
            int cores = Runtime.getRuntime().availableProcessors();
            if (cores <= 3) {
                MooncakeException e = assertThrows(MooncakeException.class, () -> nodes.start("a",
                        builder -> builder.threading(ThreadingMode.DEDICATED).idle(IdleMode.SPIN)));
                assertEquals(Kind.CONFIG_ERROR, e.kind());
            }
            nodes.start("a");
        }
    }

    @Test
    void smallBlocksComeWithTheArithmetic() {
        assertNull(NodeConfig.builder("a").build().pool().smallBlockWarning());
        String warning = String.valueOf(NodeConfig.builder("a").blockSize(4096).build().pool().smallBlockWarning());
        assertTrue(warning.contains("4KiB") && warning.contains("262144"), warning);
    }

    @Test
    void C85_aWildcardIsNeitherBoundNorTold() {
        try (TestNodes nodes = new TestNodes()) {
            for (String bind : new String[]{"0.0.0.0:0", "[::]:0"}) {
                MooncakeException e = assertThrows(MooncakeException.class,
                        () -> nodes.start("a", builder -> builder.set("tcp.bind", bind)));
                assertEquals(Kind.CONFIG_ERROR, e.kind(), e.getMessage());
            }
            assertEquals(Kind.CONFIG_ERROR, assertThrows(MooncakeException.class,
                    () -> nodes.start("a", builder -> builder.set("tcp.advertise", "0.0.0.0:0"))).kind());
            Endpoint told = nodes.start("a").endpoint().orElseThrow();
            assertEquals("127.0.0.1", told.host());
            assertTrue(told.port() > 0);
        }
    }
}
