package io.mooncake.bench.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What counts as lost, and what as out of date. */
final class CrashLedgerTest {
    private final CrashLedger ledger = new CrashLedger();

    private void write(int block, long writing) {
        ledger.begins(block, writing);
        ledger.durable(block, writing);
    }

    private String onlyFault() {
        assertEquals(1, ledger.faults().size(), () -> String.join("; ", ledger.faults()));
        return ledger.faults().getFirst();
    }

    @Test
    void shouldMissWhatWasDurable() {
        write(1, 10);
        ledger.judge(Map.of());
        assertTrue(onlyFault().contains("block 1 was durable as writing 10 and is gone"));
    }

    @Test
    void shouldMissNothingThatWasBeingWrittenOrEvicted() {
        write(1, 10);
        ledger.begins(1, 11);
        write(2, 12);
        ledger.evicts(2);
        ledger.begins(3, 13);
        ledger.killed();
        assertEquals(2, ledger.unfinished());
        ledger.judge(Map.of());
        assertEquals(List.of(), ledger.faults());
    }

    @Test
    void shouldTakeTheDurableWritingOrALaterOneButNoOlderOne() {
        write(1, 10);
        write(1, 11);
        ledger.begins(1, 12);
        ledger.judge(Map.of(1, 11L));
        ledger.begins(1, 13);
        ledger.judge(Map.of(1, 13L));
        assertEquals(List.of(), ledger.faults());
        ledger.judge(Map.of(1, 10L));
        assertTrue(onlyFault().contains("block 1 is back as writing 10, not one of [13]"));
    }

    @Test
    void shouldHoldARestartToWhatTheOneBeforeShowed() {
        write(1, 10);
        ledger.begins(1, 11);
        ledger.judge(Map.of(1, 11L));
        ledger.judge(Map.of());
        assertTrue(onlyFault().contains("writing 11 and is gone"));
    }

    @Test
    void shouldNotTakeWhatNobodyWrote() {
        ledger.judge(Map.of(7, 1L));
        assertTrue(onlyFault().contains("not one of none"));
    }
}
