package io.mooncake.core.transfer.tcp;

import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.TransferEngineContract;

/** The TCP engine keeps the contract. */
final class TcpEngineContractTest extends TransferEngineContract {
    @Override
    protected EngineRig rig() {
        return new EngineRig() {
            @Override
            protected TransferEngine engine(EngineContext context) {
                return new TcpTransferEngine(context, TcpConfig.defaults(),
                        TcpEnvironment.system(Thread.ofPlatform().daemon().factory()));
            }
        };
    }
}
