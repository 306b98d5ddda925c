package io.mooncake.core.transfer.tcp;

import io.mooncake.core.base.Endpoint;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.testing.EngineRig;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.Executor;

/** Nodes with TCP engines, each of its own settings, whose chance and look-ups are the test's. */
final class Rig extends EngineRig {
    final Random random = new Random(20_260_101);
    /** What runs beside the nodes in each cycle. */
    final List<Runnable> others = new ArrayList<>();
    long cycles;
    Executor lookups = Runnable::run;
    TcpEnvironment.Names names = InetAddress::getByName;
    private final Map<NodeId, TcpConfig> configs = new HashMap<>();

    @Override
    public Side side(String name) {
        return side(new NodeId(name, 1000 + sides().size()), "c", TcpConfig.defaults());
    }

    Side side(NodeId id, String cluster, TcpConfig config) {
        configs.put(id, config);
        return side(id, cluster);
    }

    @Override
    protected TransferEngine engine(EngineContext context) {
        return new TcpTransferEngine(context, Objects.requireNonNull(configs.get(context.self())),
                new TcpEnvironment(random, lookups, names));
    }

    TcpConfig config(Side side) {
        return Objects.requireNonNull(configs.get(side.id));
    }

    static Endpoint endpoint(Side side) {
        return Endpoint.parse(side.engine.advertised().orElseThrow(), 0);
    }

    @Override
    public void cycle() {
        cycles++;
        super.cycle();
        others.forEach(Runnable::run);
    }
}
