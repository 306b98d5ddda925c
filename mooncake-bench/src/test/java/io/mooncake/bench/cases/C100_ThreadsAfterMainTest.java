package io.mooncake.bench.cases;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.bench.cli.Child;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Case C100: the threads of a node after main has ended. The contract: agents and callbacks run on daemon threads, so a program that
 * forgets to close ends all the same; a node's threads have ended when close() returns.
 */
class C100_ThreadsAfterMainTest {
    private static final Duration START = Duration.ofMinutes(1);

    @ParameterizedTest
    @EnumSource
    void shouldEndAtOnceAndLeaveNoThreadWhenClosed(ThreadsAfterMain.Mode mode) {
        try (Child program = start("A", mode)) {
            assertEquals("threads after close: []", program.readLine(START));
            assertEquals(0, ended(program, Duration.ofSeconds(2)));
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldEndByItselfWhenMainReturnsWithoutClose(ThreadsAfterMain.Mode mode) {
        try (Child program = start("B", mode)) {
            assertEquals("main returns", program.readLine(START));
            assertEquals(0, ended(program, Duration.ofSeconds(5)));
        }
    }

    @Test
    void shouldExitWithTheGivenCodeDuringTransfers() {
        try (Child program = start("C", ThreadsAfterMain.Mode.SHARED)) {
            assertEquals("main exits during transfers", program.readLine(START));
            assertEquals(7, ended(program, Duration.ofSeconds(5)));
        }
    }

    private static Child start(String program, ThreadsAfterMain.Mode mode) {
        return Child.start(List.of(), ThreadsAfterMain.class, List.of(program, mode.name()));
    }

    /** Its standard input stays open: it ends by itself or not at all. */
    private static int ended(Child program, Duration limit) {
        int code = program.waitFor(limit);
        assertTrue(program.readAll(limit).isEmpty(), "nothing more was to be said");
        return code;
    }
}
