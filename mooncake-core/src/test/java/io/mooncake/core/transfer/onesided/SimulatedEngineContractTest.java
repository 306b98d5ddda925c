package io.mooncake.core.transfer.onesided;

import io.mooncake.testing.EngineRig;
import io.mooncake.testing.TransferEngineContract;

/** The one-sided machine over the simulated network keeps the contract. */
final class SimulatedEngineContractTest extends TransferEngineContract {
    @Override
    protected EngineRig rig() {
        return new SimRig();
    }
}
