package io.mooncake.rdma;

import io.mooncake.rdma.rig.RdmaDevices;
import io.mooncake.rdma.verbs.Device;
import io.mooncake.rdma.verbs.NativeProvider;
import io.mooncake.rdma.verbs.Provider;
import io.mooncake.testing.EngineRig;
import java.util.List;
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
        // One card: each has a landing region of its own.
        String card = Device.list(new NativeProvider()).getFirst().name();
        real = new DeviceRig(RdmaConfig.defaults()
                .withRegistrar(RdmaConfig.Registrar.POLLER)
                .withDevices(new RdmaConfig.Devices(List.of(card), 1, null))
                .withLimits(limits));
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
