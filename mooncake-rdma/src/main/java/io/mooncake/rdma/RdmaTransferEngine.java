package io.mooncake.rdma;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.transfer.EngineContext;
import io.mooncake.core.transfer.TransferEngine;
import io.mooncake.core.transfer.onesided.OneSidedConfig;
import io.mooncake.core.transfer.onesided.OneSidedEngine;
import io.mooncake.rdma.verbs.NativeProvider;
import io.mooncake.rdma.verbs.Provider;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the engine that reads peers' memory with network cards, without the peers' processors: RDMA READ over reliable connections.
 *
 * <pre>{@code
 * NodeConfig.builder("a").addEngine(context -> RdmaTransferEngine.create(context, RdmaConfig.defaults()))
 * }</pre>
 *
 * <p>Both nodes need it. Its lanes are connected by messages that the node's TCP engine carries. It serves host memory, and a device's that
 * was registered with a way for cards; a read that it cannot serve goes by TCP.
 */
public final class RdmaTransferEngine {
    private static final Logger LOG = LoggerFactory.getLogger(RdmaTransferEngine.class);

    private RdmaTransferEngine() {}

    /**
     * Opens the cards and registers the node's pools with them.
     *
     * @param context the node's
     * @param config settings
     * @return the engine, the node's from now on
     * @throws MooncakeException UNSUPPORTED where there is no RDMA ({@link Rdma#unavailabilityCause}); CONFIG_ERROR for cards that are not
     *     there, have no link or address, and for memory that may not be locked
     */
    public static TransferEngine create(EngineContext context, RdmaConfig config) {
        Throwable missing = Rdma.unavailabilityCause();
        if (missing != null) {
            throw new MooncakeException(Kind.UNSUPPORTED, "node " + context.self() + " cannot use RDMA: "
                    + missing.getMessage(), missing);
        }
        return create(context, config, new NativeProvider());
    }

    /**
     * The same where RDMA is welcome but need not be there: what keeps it from being used is one warning in the log.
     *
     * @param context the node's
     * @param config settings
     * @return the engine; null where it cannot be used, which {@link io.mooncake.core.NodeConfigBuilder#addEngine} takes
     */
    public static @Nullable TransferEngine createIfUsable(EngineContext context, RdmaConfig config) {
        return createIfUsable(context, () -> create(context, config));
    }

    static @Nullable TransferEngine createIfUsable(EngineContext context, Supplier<TransferEngine> create) {
        try {
            return create.get();
        } catch (MooncakeException e) {
            LOG.warn("node {} goes without RDMA: {}", context.self(), e.getMessage());
            return null;
        }
    }

    static TransferEngine create(EngineContext context, RdmaConfig config, Provider provider) {
        return new OneSidedEngine(context, new RdmaFabric(context, config, provider), machine(config));
    }

    /** The chunk machine's settings. */
    static OneSidedConfig machine(RdmaConfig config) {
        RdmaConfig.Window window = config.window();
        OneSidedConfig defaults = OneSidedConfig.defaults();
        return new OneSidedConfig(
                new OneSidedConfig.Window(window.lanes(), window.chunkBytes(), window.laneBytes(),
                        window.laneRequests(), defaults.window().chunks()),
                defaults.times(), config.limits().reads(), config.limits().peers(), defaults.tries());
    }
}
