package io.mooncake.core.transfer.local;

import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.copy.CopyPoller;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.TransferEngineContract;

/** The local engine keeps the contract. */
final class LocalEngineContractTest extends TransferEngineContract {
    @Override
    protected EngineRig rig() {
        return new EngineRig() {
            @Override
            protected TransferEngine engine(EngineContext context) {
                return new LocalTransferEngine(context);
            }

            @Override
            public boolean isLocal() {
                return true;
            }

            @Override
            public long queuedBytes() {
                return CopyPoller.INLINE_BYTES + 1;
            }
        };
    }
}
