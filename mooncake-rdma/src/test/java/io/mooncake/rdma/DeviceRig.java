package io.mooncake.rdma;

import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.testing.EngineRig;
import java.util.ArrayDeque;

/** RDMA engines over a device of this machine, both ends in this process. Real time, which tests can only hurry on. */
final class DeviceRig extends EngineRig {
    private final RdmaConfig config;
    private final ArrayDeque<Runnable> messages = new ArrayDeque<>();
    private final MessageBus bus = new MessageBus(messages::add, (one, other) -> false);
    private long hurriedNs;

    DeviceRig(RdmaConfig config) {
        this.config = config;
    }

    @Override
    protected TransferEngine engine(EngineContext context) {
        bus.join(context);
        return RdmaTransferEngine.create(context, config);
    }

    @Override
    public boolean canSend() {
        return false;
    }

    /** Every device has it registered. */
    @Override
    public int lastingUses() {
        return (int) Rdma.survey(config.devices()).ports().stream().filter(RdmaSurvey.PortReport::isUsed).count();
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
