package io.mooncake.rdma;

import static org.junit.jupiter.api.Assumptions.abort;

import io.mooncake.rdma.rig.RdmaDevices;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.TransferEngineContract;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The RDMA engine keeps the contract over a device of this machine: a card, or Soft-RoCE. */
@Tag("rdma")
final class RdmaDeviceContractTest extends TransferEngineContract {
    @BeforeAll
    static void requireDevice() {
        RdmaDevices.assume();
    }

    @Override
    protected EngineRig rig() {
        return new DeviceRig(RdmaConfig.defaults().withRegistrar(RdmaConfig.Registrar.POLLER));
    }

    @Test
    @Override
    public void shouldEndByTheDeadlineThoughThePeerStandsStill() {
        abort("a card answers for a process that stands still; the simulated ones show what happens when nobody does");
    }
}
