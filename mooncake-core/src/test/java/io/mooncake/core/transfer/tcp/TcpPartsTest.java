package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.transfer.GuardedRead;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The small parts: cookies, slots, queues, frames. */
final class TcpPartsTest {
    @Test
    void shouldPackGenerationAndSlot() {
        for (long generation : new long[]{0, 1, 255, 256, (1L << 56) - 1}) {
            for (int slot : new int[]{0, 1, Frames.MAX_REQUESTS - 1}) {
                long cookie = Cookie.of(generation, slot);
                assertEquals(generation, Cookie.generation(cookie));
                assertEquals(slot, Cookie.slot(cookie));
            }
        }
    }

    @Test
    void shouldFindASlotOnlyByTheCookieItHasNow() {
        InFlight table = new InFlight();
        InFlight.Slot slot = table.begin();
        long first = slot.cookie;
        assertSame(slot, table.find(first));
        table.end(slot);
        assertNull(table.find(first));
        InFlight.Slot again = table.begin();
        assertEquals(Cookie.slot(first), Cookie.slot(again.cookie), "the slot is used again");
        assertNotEquals(first, again.cookie);
        assertNull(table.find(first));
        assertNull(table.find(Cookie.of(1, 200)), "a slot never used");
        assertNull(table.find(-1));
    }

    @Test
    void shouldHaveAsManySlotsAsTheProtocolAllows() {
        InFlight table = new InFlight();
        Set<Integer> slots = new HashSet<>();
        List<InFlight.Slot> taken = new ArrayList<>();
        for (int i = 0; i < Frames.MAX_REQUESTS; i++) {
            assertFalse(table.isFull());
            taken.add(table.begin());
            slots.add(Cookie.slot(taken.get(i).cookie));
        }
        assertTrue(table.isFull());
        assertEquals(Frames.MAX_REQUESTS, slots.size());
        assertEquals(Frames.MAX_REQUESTS - 1, table.highest());
        assertNotNull(table.at(7));
        taken.forEach(table::end);
        assertTrue(table.isEmpty());
        assertNull(table.at(7));
    }

    @Test
    void shouldQueueAndUnlinkReads() {
        GuardedRead a = new Rig.Result().read;
        GuardedRead b = new Rig.Result().read;
        GuardedRead c = new Rig.Result().read;
        ReadQueue queue = new ReadQueue();
        queue.add(a);
        queue.add(b);
        queue.add(c);
        queue.remove(a, b);
        queue.remove(a, c);
        queue.add(b);
        queue.remove(null, a);
        assertSame(b, queue.poll());
        assertNull(queue.poll());
        queue.add(c);
        assertSame(c, queue.peek());
        assertSame(c, queue.poll());
        assertNull(queue.peek());
    }

    @Test
    void shouldKnowWhatEachSideMayReceive() throws ProtocolException {
        ByteBuffer frame = Raw.buffer(64);
        for (int type = -1; type < 20; type++) {
            for (int body : new int[]{Integer.MIN_VALUE, -1, 0, 4, 24, 32, 48, 100, 700, 65536, 65537, (1 << 20) + 16,
                    (1 << 20) + 17,
                    Integer.MAX_VALUE}) {
                Frames.header(frame.clear(), (byte) type, body, 0, 0);
                boolean toServer = switch (type) {
                    case Frames.HELLO -> body == 48 || body == 100;
                    case Frames.PROOF -> body == 32;
                    case Frames.QUERY -> body == 4;
                    case Frames.READ -> body == 48;
                    case Frames.CANCEL -> body == 0;
                    case Frames.MESSAGE -> body >= 0 && body <= 65536;
                    default -> false;
                };
                boolean toClient = switch (type) {
                    case Frames.CHALLENGE -> body == 32;
                    case Frames.WELCOME -> body == 0 || body == 32;
                    case Frames.REFUSED, Frames.END -> body >= 4 && body < 700;
                    case Frames.REGION -> body == 24;
                    case Frames.CHUNK -> body > 24 && body <= (1 << 20) + 24;
                    default -> false;
                };
                check(frame, true, toServer, body);
                check(frame, false, toClient, body);
            }
        }
    }

    private static void check(ByteBuffer frame, boolean server, boolean allowed, int body) throws ProtocolException {
        if (allowed) {
            assertEquals(body, Frames.checkBody(frame, 0, server));
        } else {
            assertThrows(ProtocolException.class, () -> Frames.checkBody(frame, 0, server));
        }
    }

    @Test
    void shouldCutLongTextsAndMaskControlCharacters() {
        ByteBuffer frame = Raw.buffer(1000);
        Frames.text(frame, Frames.END, 1, 2, 3, "a\nb".repeat(400));
        assertEquals(Frames.HEADER_BYTES + 4 + Frames.MAX_TEXT_BYTES, frame.position());
        String text = Frames.text(frame, Frames.HEADER_BYTES, 4 + Frames.MAX_TEXT_BYTES);
        assertEquals(Frames.MAX_TEXT_BYTES, text.length());
        assertTrue(text.startsWith("a?ba?b"), text);
    }
}
