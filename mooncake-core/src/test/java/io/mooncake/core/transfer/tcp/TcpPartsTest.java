package io.mooncake.core.transfer.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.GuardedRead;
import io.mooncake.core.transfer.Peer;
import io.mooncake.core.transfer.Priority;
import io.mooncake.testing.EngineRig.Reading;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
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
            assertTrue(table.free() > 0);
            taken.add(table.begin());
            slots.add(Cookie.slot(taken.get(i).cookie));
        }
        assertEquals(0, table.free());
        assertEquals(Frames.MAX_REQUESTS, slots.size());
        assertEquals(Frames.MAX_REQUESTS - 1, table.highest());
        assertNotNull(table.at(7));
        taken.forEach(table::end);
        assertTrue(table.isEmpty());
        assertNull(table.at(7));
    }

    private static Ranges ranges(long length, Priority priority) {
        GuardedRead read = new Reading().read;
        read.from(new Peer(new NodeId("a", 1), Map.of()), 1, 0, length).withPriority(priority);
        Ranges ranges = new Ranges();
        ranges.begin(read);
        return ranges;
    }

    @Test
    void shouldQueueAndUnlinkReads() {
        Ranges a = ranges(1, Priority.LOAD);
        Ranges b = ranges(1, Priority.LOAD);
        Ranges c = ranges(1, Priority.LOAD);
        RangesQueue queue = new RangesQueue();
        queue.add(a);
        queue.add(b);
        queue.add(c);
        queue.remove(a, b);
        queue.remove(a, c);
        assertTrue(a.queued);
        assertFalse(b.queued);
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
    void shouldLetLoadsGoFirstAndSmallOnesBeforeLargeOnes() {
        WaitingReads waiting = new WaitingReads();
        Ranges background = ranges(5, Priority.BACKGROUND);
        Ranges largeBackground = ranges(5 << 20, Priority.BACKGROUND);
        Ranges large = ranges(Ranges.SMALL_BYTES + 1, Priority.LOAD);
        Ranges small = ranges(Ranges.SMALL_BYTES, Priority.LOAD);
        for (Ranges ranges : List.of(largeBackground, background, large, small)) {
            waiting.add(ranges);
        }
        for (Ranges expected : List.of(small, large, background, largeBackground)) {
            assertSame(expected, waiting.peek());
            assertSame(expected, waiting.poll());
        }
        assertNull(waiting.poll());
    }

    @Test
    void shouldCutReadsIntoChunks() {
        long[][] cases = {{0, 1}, {1, 1}, {Ranges.SMALL_BYTES, 1}, {Ranges.SMALL_BYTES + 1, 1}, {1 << 20, 1},
                {(1 << 20) + 1, 2}, {8 << 20, 8}, {64 << 20, 64}, {(64 << 20) + 1, 65}};
        for (long[] one : cases) {
            Ranges ranges = ranges(one[0], Priority.LOAD);
            assertEquals(one[1], ranges.count());
            long at = 0;
            int count = 0;
            for (; ranges.hasMore(); count++) {
                ranges.cut();
                assertEquals(at, ranges.at);
                assertTrue(ranges.bytes <= Ranges.RANGE_BYTES);
                at += ranges.bytes;
            }
            assertEquals(one[0], at);
            assertEquals(one[1], count, "ranges of " + one[0] + " bytes");
        }
    }

    @Test
    void shouldCutWhereTheUnitsOfTheBlockEnd() {
        GuardedRead read = new Reading().read;
        read.from(new Peer(new NodeId("a", 1), Map.of()), 1, 5, 3 << 20).atBlockOffset((2 << 20) - 100);
        Ranges ranges = new Ranges();
        ranges.begin(read);
        assertEquals(4, ranges.count());
        long[] expected = {100, 1 << 20, 1 << 20, (1 << 20) - 100};
        long at = 0;
        for (long bytes : expected) {
            ranges.cut();
            assertEquals(at, ranges.at);
            assertEquals(bytes, ranges.bytes);
            at += bytes;
        }
        assertFalse(ranges.hasMore());
    }

    @Test
    void shouldAskAgainForWhatWasLostFirst() {
        Ranges ranges = ranges(5 << 19, Priority.LOAD);
        ranges.cut();
        ranges.cut();
        assertEquals(2, ranges.outstanding);
        ranges.askAgain(3 << 19, 1 << 19);
        ranges.askAgain(0, 1 << 20);
        assertEquals(0, ranges.outstanding);
        ranges.cut();
        assertEquals(0, ranges.at);
        ranges.cut();
        assertEquals(3 << 19, ranges.at);
        assertEquals(1 << 19, ranges.bytes);
        ranges.cut();
        assertEquals(4 << 19, ranges.at);
        assertEquals(1 << 19, ranges.bytes);
        assertFalse(ranges.hasMore());
    }

    @Test
    void shouldLeaveAFailingPeerAloneForTwiceAsLongEachTime() {
        CoolDown coolDown = new CoolDown(new Random(3));
        long now = 5;
        assertFalse(coolDown.isCooling(now));
        coolDown.onFailure(now, true);
        assertFalse(coolDown.isCooling(now), "once more at once");
        long[] leftNs = new long[12];
        for (int i = 0; i < leftNs.length; i++) {
            coolDown.onFailure(now, true);
            long most = Math.min(CoolDown.MOST_NS, CoolDown.FIRST_NS << (i + 1));
            leftNs[i] = coolDown.leftNs(now);
            assertTrue(leftNs[i] >= most / 2 && leftNs[i] <= most, i + ": " + leftNs[i]);
            assertTrue(coolDown.isCooling(now + leftNs[i] - 1));
            now += leftNs[i];
            assertFalse(coolDown.isCooling(now));
        }
        assertNotEquals(leftNs[10], leftNs[11], "jitter");
        coolDown.onProgress();
        coolDown.onFailure(now, false);
        assertTrue(coolDown.leftNs(now) <= CoolDown.FIRST_NS);
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
                    case Frames.CANCEL, Frames.PING -> body == 0;
                    case Frames.MESSAGE -> body >= 0 && body <= 65536;
                    default -> false;
                };
                boolean toClient = switch (type) {
                    case Frames.CHALLENGE -> body == 32;
                    case Frames.WELCOME -> body == 0 || body == 32;
                    case Frames.REFUSED, Frames.END -> body >= 4 && body < 700;
                    case Frames.PONG -> body == 0;
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
