package io.mooncake.core;

import static io.mooncake.core.WaitingParts.MOST_IN_VAIN;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.mooncake.core.SharedPulls.Going;
import io.mooncake.core.block.BlockRef;
import io.mooncake.core.block.Tier;
import io.mooncake.core.transfer.Transfer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What waits costs only what is due: counted by how many parts are looked at. */
class WaitingPartsTest {
    private static final int MANY = 1_000;
    private static final int CYCLES = 1_000;
    private static final long LATE_NS = 1_000_000;

    private final ManualNodes manual = new ManualNodes();
    private final BlockRef k = manual.block("k");
    /** Goes on as long as the test does. */
    private final Transfer transfer = manual.prepare(Piece.replica(k.id())).submit();

    private final List<Part> looked = new ArrayList<>();
    private final WaitingParts waiting = new WaitingParts((part, nowNs) -> look(part));
    private boolean inVain;
    private long nowNs;

    @AfterEach
    void close() {
        manual.close();
    }

    private void look(Part part) {
        looked.add(part);
        if (inVain) {
            waiting.add(part);
        }
    }

    private Part part(int index, long deadlineNs) {
        Part part = new Part((Pull) transfer.work(), Piece.replica(k.id()), index,
                manual.node.parts().sources().costs(), manual.node.parts().life());
        part.read.by(deadlineNs);
        return part;
    }

    private List<Part> parts(int count) {
        return IntStream.range(0, count).mapToObj(i -> part(i, LATE_NS)).toList();
    }

    private Going pull() {
        return new Going(k, Tier.DRAM);
    }

    private void add(@Nullable Going pull, List<Part> parts) {
        for (Part part : parts) {
            part.awaited = pull;
            waiting.add(part);
        }
    }

    /** Whom a cycle looks at. */
    private List<Part> cycle() {
        looked.clear();
        waiting.look(nowNs);
        return List.copyOf(looked);
    }

    private static void end(Going pull) {
        new SharedPulls(() -> {}).end(pull);
    }

    @Test
    void whoWaitsForAPullCostsNothingUntilThatIsOver() {
        List<Part> first = parts(MANY);
        Going pull = pull();
        add(pull, first);
        add(pull(), parts(MANY));
        for (int i = 0; i < CYCLES; i++) {
            assertEquals(List.of(), cycle());
        }
        end(pull);
        waiting.onPullEnded();
        assertEquals(first, cycle());
        assertEquals(List.of(), cycle());
    }

    @Test
    void thePullMayBeOverBeforeTheyWait() {
        Going pull = pull();
        end(pull);
        List<Part> parts = parts(2);
        add(pull, parts);
        assertEquals(parts, cycle());
    }

    @Test
    void whoHasToWaitOnWaitsOn() {
        List<Part> parts = parts(2);
        inVain = true;
        add(null, parts);
        assertEquals(parts, cycle());
        // From now on for somebody's pull.
        Going pull = pull();
        parts.forEach(part -> part.awaited = pull);
        assertEquals(parts, cycle());
        assertEquals(List.of(), cycle());
        inVain = false;
        end(pull);
        waiting.onPullEnded();
        assertEquals(parts, cycle());
    }

    @Test
    void onlyThoseAreLookedAtWhoseDeadlineHasPassed() {
        List<Part> parts = new ArrayList<>(IntStream.range(0, MANY).mapToObj(i -> part(i, 1 + i)).toList());
        Collections.shuffle(parts, new Random(1));
        add(pull(), parts);
        // Those that leave earlier are no more in the way, wherever they stood.
        parts.subList(0, MANY / 2).forEach(waiting::giveUp);
        assertEquals(MANY / 2, cycle().size());
        List<Part> left = parts.subList(MANY / 2, MANY);
        for (nowNs = 1; nowNs <= MANY; nowNs++) {
            assertEquals(left.stream().filter(part -> part.read.deadlineNs() == nowNs).toList(), cycle());
        }
    }

    @Test
    void aDeadlineMayHavePassedBeforeTheyWait() {
        nowNs = LATE_NS;
        add(pull(), parts(MANY));
        add(null, parts(MANY));
        assertEquals(2 * MANY, cycle().size(), "they end, and cost nothing any more");
        assertEquals(List.of(), cycle());
    }

    @Test
    void onlyThatIsLookedAtWhichIsGivenUp() {
        List<Part> parts = parts(MANY);
        Going pull = pull();
        add(pull, parts);
        Part given = parts.get(MANY / 2);
        given.abort(new SharedPulls(() -> {}));
        given.abort(new SharedPulls(() -> {}));
        assertEquals(List.of(given), cycle());
        // It is not here any more, and may come again.
        waiting.giveUp(given);
        assertEquals(List.of(), cycle());
        add(pull, List.of(given));
        assertEquals(List.of(), cycle());
        given.abort(new SharedPulls(() -> {}));
        assertEquals(List.of(given), cycle());
    }

    @Test
    void whatIsGivenUpBeforeItWaitsIsLookedAtToo() {
        assertTrue(transfer.cancel());
        List<Part> parts = parts(1);
        add(pull(), parts);
        assertEquals(parts, cycle());
    }

    @Test
    void whoWaitsForNothingThatTellsIsLookedAtByTurns() {
        List<Part> parts = parts(MANY);
        inVain = true;
        add(null, parts);
        List<Part> all = new ArrayList<>();
        while (all.size() < MANY) {
            List<Part> some = cycle();
            assertEquals(MOST_IN_VAIN, some.size());
            all.addAll(some);
        }
        assertEquals(parts, all.subList(0, MANY));
        // As soon as they get something there is no such limit.
        inVain = false;
        assertEquals(MANY, cycle().size());
        assertEquals(List.of(), cycle());
    }

    @Test
    void closeLooksAtAllOfThemOnce() {
        List<Part> waits = parts(3);
        List<Part> polls = parts(3);
        add(pull(), waits);
        add(null, polls);
        waiting.close(nowNs);
        List<Part> all = new ArrayList<>(waits);
        all.addAll(polls);
        assertEquals(all, looked);
        assertEquals(List.of(), cycle());
    }
}
