package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.rdma.LaneMessage.Closed;
import io.mooncake.rdma.LaneMessage.Keys;
import io.mooncake.rdma.LaneMessage.NoRegion;
import io.mooncake.rdma.LaneMessage.Purpose;
import io.mooncake.rdma.LaneMessage.Query;
import io.mooncake.rdma.LaneMessage.Refused;
import io.mooncake.rdma.LaneMessage.Reply;
import io.mooncake.rdma.LaneMessage.Request;
import io.mooncake.rdma.LaneMessage.TableKey;
import io.mooncake.rdma.verbs.PathMtu;
import io.mooncake.rdma.verbs.PeerEnd;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The messages by which lanes are connected. */
final class LaneMessagesTest {
    private static final PeerEnd END = new PeerEnd(0xABCDEF, 0x123456, PathMtu.MTU_4096, 0xFFFE, new byte[]{0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, -1, -1, 10, 77, 0, 1});
    private static final Keys KEYS = new Keys(9, 4, 2, 0x7F00_0000_1000L, 5000, 2000, List.of(1, -2, 3),
            new TableKey(0x7F00_0010_0000L, 640, 77), new TableKey(0x7F00_0020_0000L, 1280, 78));

    private static byte[] bytes(LaneMessage message) {
        ByteBuffer encoded = LaneMessages.encode(message);
        byte[] bytes = new byte[encoded.remaining()];
        encoded.get(bytes);
        return bytes;
    }

    @Test
    void shouldReadWhatItWrote() {
        List<LaneMessage> all = List.of(new Request(7, Purpose.READS, 1000, 16, END),
                new Request(8, Purpose.MESSAGES, 1000, 16, END), new Reply(Long.MAX_VALUE, 3, 200, END),
                new Refused(8, Kind.STALE_INCARNATION, "node a#2 answers"), new Closed(1, true), new Closed(2, false),
                new Query(3, 44), KEYS, new NoRegion(9, 5, Kind.UNAUTHORIZED, ""));
        for (LaneMessage message : all) {
            assertEquals(message, LaneMessages.decode(bytes(message)));
        }
    }

    @Test
    void shouldHaveRoomForTheMostKeys() {
        Keys most = new Keys(1, 1, 1, 0, LaneMessages.MAX_KEYS, 1, Collections.nCopies(LaneMessages.MAX_KEYS, 5),
                TableKey.NONE, TableKey.NONE);
        assertTrue(bytes(most).length <= EngineContext.MAX_MESSAGE_BYTES);
        assertEquals(most, LaneMessages.decode(bytes(most)));
    }

    @Test
    void shouldCutLongTexts() {
        Refused cut = (Refused) LaneMessages.decode(bytes(new Refused(8, Kind.CLOSED, "x".repeat(4000))));
        assertEquals("x".repeat(512), cut.text());
    }

    @Test
    void shouldRefuseKeysThatDoNotCoverTheirRegion() {
        byte[] damaged = bytes(KEYS);
        ByteBuffer.wrap(damaged).order(java.nio.ByteOrder.LITTLE_ENDIAN).putLong(32, 6001);
        MooncakeException refused = assertThrows(MooncakeException.class, () -> LaneMessages.decode(damaged));
        assertEquals(Kind.PROTOCOL_ERROR, refused.kind());
    }
}
