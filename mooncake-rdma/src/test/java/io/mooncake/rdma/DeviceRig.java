package io.mooncake.rdma;

import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.rdma.verbs.NativeProvider;
import io.mooncake.rdma.verbs.Provider;
import io.mooncake.testing.EngineRig;
import java.util.ArrayDeque;
import java.util.function.Function;

/** RDMA engines over a device of this machine, both ends in this process. Real time, which tests can only hurry on. */
final class DeviceRig extends EngineRig {
    private final Function<NodeId, RdmaConfig> configs;
    private final ArrayDeque<Runnable> messages = new ArrayDeque<>();
    final MessageBus bus = new MessageBus(messages::add, (one, other) -> false);
    private final Provider provider;
    private final int devices;
    private long hurriedNs;

    DeviceRig(RdmaConfig config) {
        this(any -> config);
    }

    /** With settings of each node's own. */
    DeviceRig(Function<NodeId, RdmaConfig> configs) {
        this(configs, new NativeProvider());
    }

    /** Through a provider that looks on. */
    DeviceRig(Function<NodeId, RdmaConfig> configs, Provider provider) {
        this.configs = configs;
        this.provider = provider;
        RdmaConfig.Devices owners = configs.apply(new NodeId("owner", 1)).devices();
        devices = (int) Rdma.survey(owners).ports().stream().filter(RdmaSurvey.PortReport::isUsed).count();
    }

    @Override
    protected TransferEngine engine(EngineContext context) {
        bus.join(context);
        return RdmaTransferEngine.create(context, configs.apply(context.self()), provider);
    }

    /** Every device has it registered. */
    @Override
    public int lastingUses() {
        return devices;
    }

    @Override
    public long largeBytes() {
        return 24L << 20;
    }

    /** Its tests run where everything may take long: only what must not happen early is measured here. */
    @Override
    public long endBoundNs() {
        return 60 * SECOND_NS;
    }

    @Override
    public long nowNs() {
        return System.nanoTime() + hurriedNs;
    }

    @Override
    public void advance(long ns) {
        hurriedNs += ns;
    }

    @Override
    public void cycle() {
        for (Runnable message; (message = messages.poll()) != null;) {
            message.run();
        }
        super.cycle();
    }
}
