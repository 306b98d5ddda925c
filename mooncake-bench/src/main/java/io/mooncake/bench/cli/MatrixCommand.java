package io.mooncake.bench.cli;

import io.mooncake.core.NodeConfig;
import io.mooncake.core.ThreadingMode;
import io.mooncake.core.base.ByteSize;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.registry.LocalRegistry;
import io.mooncake.core.registry.PairFigures;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** What reads between every two of some nodes take, as the nodes themselves measure it. */
@Command(name = "matrix", sortOptions = false, mixinStandardHelpOptions = true, versionProvider = Main.Version.class, description = {
        "Has every node read the same block from every other one, one read after the other, prints what the nodes measured,"
                + " and flags pairs that are slower than others as far apart.",
        "Exit code 0: measured; 1: a read failed, or the slow link was not left or used again in time; 2: bad input."})
final class MatrixCommand implements Callable<Integer> {
    private static final Duration TOLD = Duration.ofMinutes(1);
    /** Where nobody is: the first node of a cluster looks for others, and finds none. */
    static final String NOBODY = "127.0.0.1:9";

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec spec;

    @Option(names = "--nodes", paramLabel = "N", defaultValue = "4", description = "How many (default: ${DEFAULT-VALUE}).")
    private int nodes;

    @Option(names = "--processes", description = "Each in a process of its own, joined by JGroups; the first one, which prints, knows what the others told it.")
    private boolean processes;

    @Option(names = "--engine", defaultValue = "tcp", description = "By which they read from each other: tcp, shm or rdma (default: ${DEFAULT-VALUE}).")
    private String engine = "";

    @Option(names = "--size", defaultValue = "1MiB", converter = SizeConverter.class, description = "Bytes of the block (default: ${DEFAULT-VALUE}).")
    private long size;

    @Option(names = "--reads", paramLabel = "N", defaultValue = "50", description = "Of each pair (default: ${DEFAULT-VALUE}).")
    private int reads;

    @Option(names = "--slower-than", paramLabel = "X", defaultValue = "2", description = "Times the median of its class is flagged (default: ${DEFAULT-VALUE}).")
    private double slowerThan;

    @Option(names = "--slow-link", paramLabel = "MS", defaultValue = "0", description = "Then adds so many milliseconds to the link to one of two holders: after how many reads is it left, and how soon used again?")
    private long slowLinkMs;

    @Mixin
    private NodeOptions options = new NodeOptions();

    @Option(names = "--json", paramLabel = "FILE", description = "Writes the figures there too.")
    private @Nullable Path json;

    @Override
    public Integer call() throws IOException {
        NodeSettings settings = checked();
        PrintWriter out = spec.commandLine().getOut();
        out.printf("%d nodes%s read a block of %s by %s from each other, %d times each%n", nodes,
                processes ? " in processes of their own" : "", ByteSize.format(size), engine, reads);
        out.flush();
        MatrixReport report = MatrixReport.of(processes ? joined(settings) : embedded(settings), slowerThan);
        report.print(out);
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("command", "matrix");
        result.put("nodes", nodes);
        result.put("processes", processes);
        result.put("engine", engine);
        result.putAll(settings.toMap());
        result.put("bytes", size);
        result.put("reads", reads);
        result.putAll(report.toJson());
        boolean met = true;
        if (slowLinkMs > 0) {
            Map<String, Object> slowLink = new SlowLink(size, slowLinkMs, settings).run(out);
            result.put("slowLink", slowLink);
            met = Boolean.TRUE.equals(slowLink.get("met"));
        }
        if (json != null) {
            Json.write(json, result);
        }
        return met ? Main.OK : Main.FAILED;
    }

    private NodeSettings checked() throws IOException {
        ReplayOptions.within("--nodes", nodes, 2, 32);
        ReplayOptions.within("--reads", reads, 1, 1_000_000);
        ReplayOptions.within("--slow-link", slowLinkMs, 0, 10_000);
        if (size < Content.MIN_BYTES || size > 1L << 30) {
            throw new BadInputException(
                    "--size = " + ByteSize.format(size) + " must be " + Content.MIN_BYTES + "B to 1GiB");
        }
        if (!(slowerThan > 1 && slowerThan <= 1e6)) {
            throw new BadInputException("--slower-than = " + slowerThan + " must be more than 1 and at most 1000000");
        }
        NodeSettings settings = options.settings(ThreadingMode.SHARED).serving().forEngine(engine);
        Json.checkWritable(json);
        FreeMemory.read(Path.of("/")).check(4L * nodes * size, "--nodes or --size");
        return settings;
    }

    private List<PairFigures> embedded(NodeSettings settings) {
        LocalRegistry registry = new LocalRegistry();
        List<MatrixMember> members = new ArrayList<>();
        try {
            for (int i = 0; i < nodes; i++) {
                MatrixMember member = new MatrixMember(
                        settings.applyTo(NodeConfig.builder("node-" + i).registry(registry)), size);
                members.add(member);
                if (i == 0) {
                    member.write();
                } else {
                    member.replicate();
                }
            }
            List<PairFigures> pairs = new ArrayList<>();
            for (MatrixMember member : members) {
                member.measure(nodes, reads);
                pairs.addAll(rowOf(member.node().id(), member.node().matrix()));
            }
            return pairs;
        } finally {
            members.forEach(MatrixMember::close);
        }
    }

    private static List<PairFigures> rowOf(NodeId reader, List<PairFigures> all) {
        return all.stream().filter(pair -> pair.reader().equals(reader)).toList();
    }

    private List<PairFigures> joined(NodeSettings settings) {
        NodeSettings first = settings.with("cluster.discovery", NOBODY).with("cluster.bind", "127.0.0.1:0");
        List<MatrixMember.Remote> others = new ArrayList<>();
        try (MatrixMember here = new MatrixMember(first.applyTo(NodeConfig.builder("node-0")), size)) {
            here.write();
            String where = here.node().health().clusterAddress().orElseThrow().toString();
            NodeSettings rest = settings.with("cluster.discovery", where).with("cluster.bind", "127.0.0.1:0");
            try {
                for (int i = 1; i < nodes; i++) {
                    MatrixMember.Remote other = MatrixMember.Remote.start("node-" + i, size, reads, rest);
                    others.add(other);
                    other.replicate();
                }
                here.measure(nodes, reads);
                others.forEach(other -> other.measure(nodes));
                return told(here);
            } finally {
                others.forEach(MatrixMember.Remote::close);
            }
        }
    }

    /** As soon as every node has told what it measured of every other one. */
    private List<PairFigures> told(MatrixMember here) {
        int all = nodes * (nodes - 1);
        return Await.until(here.node()::matrix, pairs -> pairs.size() == all, TOLD,
                pairs -> "of " + all + " pairs only " + pairs.size() + " were told to the first node");
    }
}
