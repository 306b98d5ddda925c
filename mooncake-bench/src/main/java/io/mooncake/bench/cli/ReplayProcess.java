package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Cluster.Member;
import io.mooncake.bench.cli.Trace.Request;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.base.Counter;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * Main class of one of several processes that a trace is replayed on: one node, driven by {@link ReplayProcesses} through standard input and
 * output, a line each; it ends when its input does.
 *
 * <pre>
 *   is told                                      says
 *                                                node NAME#LIFE host:port         where others find its cluster
 *   meet COUNT                                   met changes blocks               it knows so many nodes, and has announced what its file had
 *   serve PATH hash,hash,... [NAME#LIFE=n ...]   served run ns changes report     served after it knew so many changes of these nodes
 *   memory                                       memory heap direct native resident
 *   report                                       path PATH words, writes words, errors wrong failed gone, usage used quarantined free,
 *                                                engines NAME ..., counter NAME n, end         a line each
 * </pre>
 */
final class ReplayProcess {
    private static final Duration KNOWN = Duration.ofMinutes(3);

    private final Member member;
    private final Testimony testimony;
    private final ReplayStats stats;
    private final RequestServer server;

    private ReplayProcess(Member member, Testimony testimony, ReplayStats stats, boolean alone) {
        this.member = member;
        this.testimony = testimony;
        this.stats = stats;
        server = new RequestServer(member.node().config().pool().blockSize(), testimony, stats,
                alone && member.node().config().fileTier() == null);
    }

    /**
     * Serves.
     *
     * @param args the node's index, the number of nodes, how many requests are served at a time, how often the node was started before, then
     *     its settings, KEY=VALUE
     * @throws IOException when standard input cannot be read
     */
    public static void main(String[] args) throws IOException {
        int index = Integer.parseInt(args[0]);
        NodeConfigBuilder builder = NodeConfig.builder("node-" + index);
        Map<String, String> settings = NodeSettings.byKey(List.of(args).subList(4, args.length));
        ReplayVram.apply(settings, index, Long.parseLong(settings.getOrDefault("block.size", "")), builder);
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        ReplayStats stats = new ReplayStats(new PrintWriter(System.err, true, StandardCharsets.UTF_8));
        try (Cluster cluster = new Cluster(List.of(builder.build()), index)) {
            Member member = cluster.members().getFirst();
            out.println("node " + member.node().id() + " " + member.node().health().clusterAddress().orElseThrow());
            out.flush();
            ReplayProcess process = new ReplayProcess(member,
                    new Testimony(index, Integer.parseInt(args[1]), Integer.parseInt(args[3]), stats), stats,
                    args[2].equals("1"));
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line; (line = in.readLine()) != null;) {
                process.answer(List.of(line.split(" ", -1)), out);
                out.flush();
            }
        } catch (MooncakeException e) {
            System.err.println("node-" + index + ": " + e.getMessage());
            System.exit(e.kind() == MooncakeException.Kind.CONFIG_ERROR ? Main.BAD_INPUT : Main.FAILED);
        }
    }

    private void answer(List<String> words, PrintStream out) {
        switch (words.getFirst()) {
            case "meet" -> {
                int nodes = Integer.parseInt(words.get(1));
                await(() -> node().nodes().size() >= nodes, nodes + " nodes");
                if (!node().store().awaitAnnounced(KNOWN)) {
                    throw new MooncakeException(MooncakeException.Kind.TIMEOUT,
                            node().id() + " did not announce what is in its file within " + KNOWN.toSeconds() + " s");
                }
                out.println("met " + node().changesKnown(node().id()) + " "
                        + node().counters().get(Counter.BLOCKS_RECOVERED));
            }
            case "serve" -> out.println(serve(words));
            case "memory" -> {
                MemoryUse use = MemoryUse.now();
                out.println("memory " + use.heap() + " " + use.direct() + " " + use.nativeMemory() + " "
                        + use.resident());
            }
            case "report" -> report(out);
            default -> throw new IllegalArgumentException("asked for " + words);
        }
    }

    private Node node() {
        return member.node();
    }

    private void await(BooleanSupplier known, String what) {
        Await.until(known::getAsBoolean, Boolean::booleanValue, KNOWN, _ -> node().id() + " did not get to know " + what
                + " within " + KNOWN.toSeconds() + " s: " + node().health());
    }

    private String serve(List<String> words) {
        long[] hashIds = Arrays.stream(words.get(2).split(",", -1)).mapToLong(Long::parseLong).toArray();
        for (String other : words.subList(3, words.size())) {
            int name = other.lastIndexOf('#');
            int number = other.lastIndexOf('=');
            NodeId life = new NodeId(other.substring(0, name), Long.parseLong(other.substring(name + 1, number), 16));
            long changes = Long.parseLong(other.substring(number + 1));
            await(() -> node().changesKnown(life) >= changes, changes + " changes of " + life);
        }
        long start = System.nanoTime();
        int run = server.serve(member, AccessPath.valueOf(words.get(1)), new Request(0, 0, 0, hashIds));
        return "served " + run + " " + (System.nanoTime() - start) + " " + node().changesKnown(node().id()) + " "
                + testimony.takeReport();
    }

    private void report(PrintStream out) {
        for (AccessPath path : AccessPath.values()) {
            out.println("path " + path + " " + stats.path(path).toWords());
        }
        out.println("writes " + stats.writes().toWords());
        out.println("errors " + stats.verificationErrors() + " " + stats.failures() + " " + stats.gone());
        NodeReport report = NodeReport.of(node());
        out.println("usage " + report.usage().used() + " " + report.usage().quarantined() + " "
                + report.usage().free());
        out.println(report.engines().stream().collect(Collectors.joining(" ", "engines ", "")));
        for (Counter counter : Counter.values()) {
            out.println("counter " + counter + " " + report.counted(counter));
        }
        out.println("end");
    }
}
