package io.mooncake.rdma;

import io.mooncake.testing.EngineRig;
import io.mooncake.testing.TransferEngineContract;

/** The RDMA engine keeps the contract over simulated cards. */
final class RdmaContractTest extends TransferEngineContract {
    @Override
    protected EngineRig rig() {
        return new RdmaRig();
    }
}
