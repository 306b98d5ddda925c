package io.mooncake.core.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is accepted is bounded, ends once, and is waited for at the close, but not for ever. */
@Timeout(60)
final class TicketsTest {
    @Test
    void shouldGiveOutSoManyAndNoneAfterTheClose() {
        Tickets tickets = new Tickets(2);
        assertTrue(tickets.take());
        assertTrue(tickets.take());
        assertFalse(tickets.take());
        tickets.giveBack();
        assertTrue(tickets.take());
        tickets.close();
        assertFalse(tickets.take());
        assertEquals(2, tickets.taken());
    }

    @Test
    void shouldRefuseATicketThatNobodyHas() {
        Tickets tickets = new Tickets(2);
        assertThrows(IllegalStateException.class, tickets::giveBack);
        assertEquals(0, tickets.taken());
        assertTrue(tickets.take());
        tickets.giveBack();
        tickets.close();
        assertThrows(IllegalStateException.class, tickets::giveBack);
        assertEquals(0, tickets.taken());
        tickets.drain(() -> false);
    }

    @Test
    void shouldEndWhatWasAcceptedAndFailWhereSomethingNeverEnds() {
        Tickets tickets = new Tickets(3);
        ArrayDeque<String> waiting = new ArrayDeque<>(List.of("a", "b"));
        for (int i = 0; i < 3; i++) {
            assertTrue(tickets.take());
        }
        tickets.close();
        IllegalStateException e = assertThrows(IllegalStateException.class, () -> tickets.drain(() -> {
            if (waiting.poll() == null) {
                return false;
            }
            tickets.giveBack();
            return true;
        }));
        assertEquals("1 of what was accepted never ended", e.getMessage());
        assertTrue(waiting.isEmpty());
    }
}
