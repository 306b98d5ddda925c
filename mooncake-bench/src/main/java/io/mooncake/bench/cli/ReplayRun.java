package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Trace.Request;
import java.util.List;

/** Replays on nodes of this process: the requests one after the other, each on the next node. One thread. */
final class ReplayRun implements Replay {
    private final Cluster cluster;
    private final ReplayStats stats;
    private final RequestServer server;
    private final int lookAhead;

    /**
     * Starts the nodes, which hold nothing yet.
     *
     * @param options how many and how large, and how far the nodes see ahead
     * @param stats counts and measures
     */
    ReplayRun(ReplayOptions options, ReplayStats stats) {
        this.stats = stats;
        lookAhead = options.lookAhead();
        cluster = new Cluster(options);
        server = new RequestServer(options.blockSize(), new Verifier(new Ledger(options.nodes()), stats), stats,
                options.tiers() == null);
    }

    /** The nodes. */
    Cluster cluster() {
        return cluster;
    }

    @Override
    public void pass(Trace trace, Pace pace, Progress progress) {
        ReplayHints hints = lookAhead == 0
                ? null
                : new ReplayHints(cluster.members(), trace, server::blocks, lookAhead);
        pace.start();
        List<Request> requests = trace.requests();
        int nodes = cluster.members().size();
        for (int number = 0; number < requests.size(); number++) {
            Request request = requests.get(number);
            pace.await(request.timestampMs());
            if (hints != null) {
                hints.serving(number);
            }
            server.serve(cluster.members().get(number % nodes), AccessPath.ofLocal(number / nodes), request);
            progress.update(stats.requests().count(), stats::progress);
        }
        stats.mark();
    }

    @Override
    public MemoryUse memory() {
        return MemoryUse.now();
    }

    @Override
    public List<NodeReport> nodes() {
        return cluster.members().stream().map(member -> NodeReport.of(member.node())).toList();
    }

    @Override
    public void close() {
        cluster.close();
    }
}
