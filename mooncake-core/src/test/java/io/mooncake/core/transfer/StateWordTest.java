package io.mooncake.core.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.Transfer.State;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Every edge of a transfer's diagram, and no other. */
class StateWordTest {
    private static final Set<State> ENDS = Set.of(State.COMPLETED, State.FAILED, State.CANCELED, State.TIMED_OUT);

    /** What each state may become while it is not released, leaving out released or not. */
    private static final Map<State, Set<State>> EDGES = Map.of(
            State.QUEUED, Set.of(State.POSTED, State.COMPLETED, State.FAILED, State.CANCELED, State.TIMED_OUT),
            State.POSTED, ENDS);

    private static Stream<Arguments> allPairs() {
        return Stream.of(State.values())
                .flatMap(from -> Stream.of(State.values())
                        .flatMap(to -> Stream.of(false, true)
                                .flatMap(wasReleased -> Stream.of(false, true)
                                        .map(isReleased -> Arguments.of(from, wasReleased, to, isReleased)))));
    }

    @ParameterizedTest
    @MethodSource("allPairs")
    void onlyTheDiagramsEdgesAreTaken(State from, boolean wasReleased, State to, boolean isReleased) {
        StateWord word = new StateWord();
        if (!reach(word, from, wasReleased)) {
            return;
        }
        long before = word.get();
        if (isLegal(from, wasReleased, to, isReleased)) {
            assertTrue(word.set(before, to, isReleased));
            assertEquals(to, StateWord.state(word.get()));
            assertEquals(isReleased, StateWord.isReleased(word.get()));
            assertEquals(StateWord.submission(before) + (to == State.QUEUED ? 1 : 0),
                    StateWord.submission(word.get()));
        } else {
            MooncakeException refused = assertThrows(MooncakeException.class,
                    () -> word.set(before, to, isReleased));
            assertEquals(Kind.ILLEGAL_STATE, refused.kind());
            assertTrue(refused.getMessage().contains(from + (wasReleased ? ", released," : "")), refused::getMessage);
            assertEquals(before, word.get());
        }
    }

    private static boolean isLegal(State from, boolean wasReleased, State to, boolean isReleased) {
        if (to == State.QUEUED) {
            return wasReleased && !isReleased;
        }
        if (from == to) {
            return ENDS.contains(from) && !wasReleased && isReleased;
        }
        return !wasReleased && EDGES.getOrDefault(from, Set.of()).contains(to) && (ENDS.contains(to) || !isReleased);
    }

    /** False for what the diagram does not have. */
    private static boolean reach(StateWord word, State state, boolean released) {
        if (state == State.CREATED) {
            return released;
        }
        assertTrue(word.submit(word.get()));
        if (ENDS.contains(state)) {
            if (released) {
                word.release(state);
            } else {
                assertTrue(word.set(word.get(), state, false));
            }
            return true;
        }
        if (state == State.POSTED) {
            word.post();
        }
        return !released;
    }

    @Test
    void whatComesLateForAnEarlierSubmissionFindsAnotherNumber() {
        StateWord word = new StateWord();
        assertEquals(-1, word.giveUp(State.CANCELED));
        assertTrue(word.submit(word.get()));
        assertEquals(1, word.giveUp(State.CANCELED));
        assertEquals(-1, word.giveUp(State.TIMED_OUT));
        assertFalse(word.submit(word.get()));
        assertEquals(State.CANCELED, StateWord.state(word.release(State.COMPLETED)));
        assertEquals(State.CANCELED, StateWord.state(word.get()));
        assertEquals(-1, word.giveUp(State.CANCELED));
        assertTrue(word.submit(word.get()));
        word.post();
        assertEquals(2, word.giveUp(State.TIMED_OUT));
        word.post();
        assertEquals(State.TIMED_OUT, StateWord.state(word.get()));
    }

    @Test
    void whoeverLosesTheRaceChangesNothing() {
        StateWord word = new StateWord();
        assertTrue(word.submit(word.get()));
        long queued = word.get();
        assertTrue(word.set(queued, State.CANCELED, false));
        assertFalse(word.set(queued, State.COMPLETED, true));
        assertEquals(State.CANCELED, StateWord.state(word.get()));
        assertFalse(StateWord.isReleased(word.get()));
    }
}
