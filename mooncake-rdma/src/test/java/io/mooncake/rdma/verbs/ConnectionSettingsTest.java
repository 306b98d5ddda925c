package io.mooncake.rdma.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import org.junit.jupiter.api.Test;

/** What a connection may not be set to, and errors in words. */
class ConnectionSettingsTest {

    @Test
    void shouldRefuseSevenRetriesWhichNeverEnd() {
        String message = assertThrows(MooncakeException.class, () -> new ConnectionSettings.Timers(14, 7, 6, 12))
                .getMessage();
        assertTrue(message.contains("for ever"), message);
        assertThrows(MooncakeException.class, () -> new ConnectionSettings.Timers(14, 6, 7, 12));
        assertThrows(MooncakeException.class, () -> new ConnectionSettings.Timers(0, 6, 6, 12));
        assertThrows(MooncakeException.class, () -> new ConnectionSettings.Route(16, 0, 64));
    }

    @Test
    void shouldRefuseWhatNoPeerCanHaveSaid() {
        byte[] gid = new byte[Gid.BYTES];
        assertThrows(IllegalArgumentException.class, () -> new PeerEnd(1 << 24, 0, PathMtu.MTU_1024, 0, gid));
        assertThrows(IllegalArgumentException.class, () -> new PeerEnd(0, -1, PathMtu.MTU_1024, 0, gid));
        assertThrows(IllegalArgumentException.class, () -> new PeerEnd(0, 0, PathMtu.MTU_1024, 0, new byte[15]));
    }

    @Test
    void shouldNameCallArgumentsErrnoAndRemedy() {
        VerbsException failed = new VerbsException("ibv_reg_mr_iova2", "region 0x10, 64 bytes", Errno.ENOMEM);
        assertEquals("ibv_reg_mr_iova2(region 0x10, 64 bytes): ENOMEM (12): raise the locked-memory limit "
                + "(ulimit -l unlimited, LimitMEMLOCK=infinity), or register less", failed.getMessage());
        assertEquals(MooncakeException.Kind.OUT_OF_MEMORY, failed.asMooncake().kind());
        assertTrue(String.valueOf(new VerbsException("ibv_foo", "", 95).getMessage()).contains("EOPNOTSUPP (95)"));
        assertTrue(String.valueOf(new VerbsException("ibv_foo", "", 250).getMessage()).contains("errno (250)"));
        for (int unreachable : new int[]{Errno.ETIMEDOUT, Errno.ENETUNREACH, Errno.EHOSTUNREACH}) {
            VerbsException noWay = new VerbsException("ibv_modify_qp", "to RTR", unreachable);
            assertEquals(Kind.PEER_UNREACHABLE, noWay.asMooncake().kind(), noWay::toString);
            assertTrue(noWay.remedy().contains("routes"), noWay::remedy);
        }
    }

    @Test
    void shouldKnowMtusAndLinkRates() {
        assertEquals(4096, PathMtu.of(5).bytes());
        assertEquals(1024, PathMtu.MTU_4096.min(PathMtu.MTU_1024).bytes());
        assertEquals(PathMtu.MTU_256, PathMtu.of(0));
        assertEquals(100_000, Port.mbits(2, 32), "4 lanes of EDR");
        assertEquals(400_000, Port.mbits(2, 128), "4 lanes of NDR");
        assertEquals(2_500, Port.mbits(1, 1));
        assertEquals(0, Port.mbits(3, 32));
        assertEquals(0, Port.mbits(2, 0));
    }
}
