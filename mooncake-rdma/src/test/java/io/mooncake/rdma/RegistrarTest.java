package io.mooncake.rdma;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The agent of the calls that take long. */
final class RegistrarTest {
    private final List<String> done = new ArrayList<>();
    private final Registrar registrar = new Registrar("test-registrar", () -> 0, () -> done.add("look"), () -> {});

    private static void fail() {
        throw new IllegalStateException("a command fails");
    }

    /** Each is another one's: a lane's, a region's, a peer's. */
    @Test
    void shouldRunTheCommandsBehindOneThatFails() {
        assertTrue(registrar.offer(RegistrarTest::fail));
        assertTrue(registrar.offer(() -> done.add("next")));
        assertEquals(2, registrar.doWork());
        assertEquals(List.of("next", "look"), done);
    }

    @Test
    void shouldRunWhatIsLeftWhenItIsClosed() {
        assertTrue(registrar.offer(RegistrarTest::fail));
        assertTrue(registrar.offer(() -> done.add("last")));
        registrar.close();
        assertEquals(List.of("last"), done);
        assertFalse(registrar.offer(() -> done.add("late")));
    }
}
