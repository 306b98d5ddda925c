package io.mooncake.bench.cli;

import io.mooncake.core.IdleMode;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.ThreadingMode;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options by which commands set their nodes up. */
final class NodeOptions {
    /** What follows from a command's other options. */
    private static final Set<String> OWN = Set.of("block.size", "pool.size", "pool.spareSlots", "threading", "idle");

    @Option(names = "--threading", description = "Of the nodes: shared, dedicated or invoker; invoker is at the pulling side only (fair: at both), and the default of transfer and fair (default elsewhere: shared).")
    private @Nullable ThreadingMode threading;

    @Option(names = "--idle", defaultValue = "park", description = "Of the nodes: park (spin-yield-park) or spin (default: ${DEFAULT-VALUE}).")
    private IdleMode idle = IdleMode.PARK;

    @Option(names = "--set", paramLabel = "KEY=VALUE", description = "Any other setting of both sides' nodes by its name, such as transfer.timeout=5s; may be repeated.")
    private Map<String, String> settings = new LinkedHashMap<>();

    /**
     * What was asked for, checked as far as it can be without the nodes' sizes.
     *
     * @param otherwise the threading where none was asked for
     * @return the settings
     * @throws io.mooncake.core.base.MooncakeException CONFIG_ERROR naming key and value
     * @throws BadInputException for a setting that follows from other options
     */
    NodeSettings settings(ThreadingMode otherwise) {
        NodeSettings all = new NodeSettings(threading == null ? otherwise : threading, idle, settings);
        for (String key : settings.keySet()) {
            if (OWN.contains(key)) {
                throw new BadInputException("--set " + key + " = '" + settings.get(key)
                        + "' is no other setting: it follows from this command's own options; use those");
            }
        }
        all.applyTo(NodeConfig.builder("bench")).build();
        return all;
    }
}
