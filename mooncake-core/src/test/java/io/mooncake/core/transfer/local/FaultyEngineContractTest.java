package io.mooncake.core.transfer.local;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.copy.CopyPoller;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.FaultyEngine;
import io.mooncake.testing.FaultyEngine.Fault;
import io.mooncake.testing.TransferEngineContract;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Ends that are late and in another order keep the contract; and the contract finds what breaks it. */
@SuppressWarnings("JUnitMethodInvoked") // On purpose: they must fail.
final class FaultyEngineContractTest extends TransferEngineContract {
    private Map<Fault, Double> faults = Map.of(Fault.DELAY, 0.5, Fault.REORDER, 0.5);

    @Override
    protected EngineRig rig() {
        return new EngineRig() {
            @Override
            protected TransferEngine engine(EngineContext context) {
                return new FaultyEngine(new LocalTransferEngine(context), 1, faults, context.nanoClock());
            }

            @Override
            public boolean isLocal() {
                return true;
            }

            @Override
            public boolean sendsLoadsFirst() {
                return false; // It does; but ends come in another order.
            }

            @Override
            public long queuedBytes() {
                return CopyPoller.INLINE_BYTES + 1;
            }
        };
    }

    private static FaultyEngineContractTest with(Fault fault) {
        FaultyEngineContractTest contract = new FaultyEngineContractTest();
        contract.faults = Map.of(fault, 1.0);
        contract.prepare();
        return contract;
    }

    @Test
    void theContractFindsAnEngineThatEndsTwice() {
        assertThrows(AssertionError.class, () -> with(Fault.DUPLICATE).shouldBringEveryByteOfAnySize(5000));
    }

    @Test
    void theContractFindsAByteAfterTheEnd() {
        assertThrows(AssertionError.class,
                () -> with(Fault.LATE_BYTE).shouldWriteNothingAfterTheEndOfAReadGivenUpInTheMiddle());
        assertThrows(AssertionError.class,
                () -> with(Fault.LATE_BYTE).shouldEndByTheDeadlineAndWriteNothingAfterTheEnd());
    }

    @Test
    void theContractFindsAnEngineThatFailsForNoReason() {
        assertThrows(AssertionError.class, () -> with(Fault.ERROR).shouldBringEveryByteOfAnySize(5000));
        assertThrows(AssertionError.class, () -> with(Fault.PARTIAL).shouldBringEveryByteOfAnySize(5000));
    }
}
