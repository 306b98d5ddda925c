package io.mooncake.core.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class InboxTest {
    private final Inbox<String> inbox = new Inbox<>(2);

    @Test
    void shouldCountWhatHasNotEndedAndNotWhatIsQueued() {
        assertTrue(inbox.offer("a") && inbox.offer("b"));
        assertEquals("a", inbox.poll());
        assertFalse(inbox.offer("c"), "two have not ended");
        inbox.ended();
        assertTrue(inbox.offer("c"));
        assertFalse(inbox.isIdle());
    }

    @Test
    void shouldTellOnceThatTheBellRang() {
        assertFalse(inbox.takeRing());
        inbox.ring();
        inbox.ring();
        assertFalse(inbox.isEmpty(), "the poller is not to park");
        assertTrue(inbox.takeRing());
        assertFalse(inbox.takeRing());
        assertTrue(inbox.isEmpty());
    }

    @Test
    void shouldDrainWhatWasAcceptedAndAcceptNothingAfterTheClose() {
        List<String> drained = new ArrayList<>();
        assertTrue(inbox.offer("a"));
        inbox.close();
        assertFalse(inbox.offer("b"));
        assertFalse(inbox.isIdle());
        inbox.drain(command -> {
            drained.add(command);
            inbox.ended();
        });
        assertEquals(List.of("a"), drained);
        assertTrue(inbox.isIdle());
        assertFalse(inbox.offer("c"));
    }
}
