package io.mooncake.core.transfer.onesided;

import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.testing.EngineRig;
import io.mooncake.testing.VirtualTime;

/** Engines over the simulated network. Virtual time passes with every cycle. */
class SimRig extends EngineRig {
    static final OneSidedConfig CONFIG = OneSidedConfig.defaults();
    private static final long MOST_NS_PER_CYCLE = 20_000;

    final VirtualTime time = new VirtualTime();
    final SimNetwork network = new SimNetwork(time, 1);

    @Override
    protected TransferEngine engine(EngineContext context) {
        return new OneSidedEngine(context, network.join(context, new FabricLimits(128, 16, 1 << 20)), CONFIG);
    }

    @Override
    public boolean canSend() {
        return false;
    }

    @Override
    public long largeBytes() {
        return 24L << 20;
    }

    @Override
    public long endBoundNs() {
        return CONFIG.times().silentEndBoundNs() + 1_000_000;
    }

    @Override
    public long nowNs() {
        return time.nowNs();
    }

    @Override
    public void advance(long ns) {
        time.runTo(time.nowNs() + ns);
    }

    @Override
    public void freeze(Side side) {
        network.cut(side.id.name(), "reader");
    }

    @Override
    public void thaw(Side side) {
        network.heal(side.id.name(), "reader");
    }

    @Override
    public void cycle() {
        time.runTo(Math.min(time.nextNs(), time.nowNs() + MOST_NS_PER_CYCLE));
        super.cycle();
    }
}
