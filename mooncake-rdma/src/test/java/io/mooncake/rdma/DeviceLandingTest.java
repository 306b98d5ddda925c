package io.mooncake.rdma;

import io.mooncake.rdma.rig.RdmaDevices;
import io.mooncake.rdma.verbs.NativeProvider;
import io.mooncake.rdma.verbs.Provider;
import io.mooncake.testing.EngineRig;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** Over a device of this machine: a card, or Soft-RoCE. */
@Tag("rdma")
final class DeviceLandingTest extends LandingTest {
    @SuppressWarnings("NullAway.Init") // By newRig, before anything else.
    private DeviceRig real;

    @BeforeAll
    static void requireDevice() {
        RdmaDevices.assume();
    }

    @Override
    EngineRig newRig(RdmaConfig.Limits limits) {
        real = new DeviceRig(RdmaConfig.defaults().withRegistrar(RdmaConfig.Registrar.POLLER).withLimits(limits));
        return real;
    }

    @Override
    MessageBus bus() {
        return real.bus;
    }

    @Override
    Provider provider(String host) {
        return new NativeProvider();
    }
}
