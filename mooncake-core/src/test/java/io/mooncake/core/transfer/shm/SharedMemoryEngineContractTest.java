package io.mooncake.core.transfer.shm;

import io.mooncake.testing.EngineRig;
import io.mooncake.testing.TransferEngineContract;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

/** The shared-memory engine keeps the contract, as far as it can be said of one region with guards that its owner need not serve. */
final class SharedMemoryEngineContractTest extends TransferEngineContract {
    private @TempDir Path parent;

    @Override
    protected EngineRig rig() {
        return new SharedMemoryRig(parent);
    }
}
