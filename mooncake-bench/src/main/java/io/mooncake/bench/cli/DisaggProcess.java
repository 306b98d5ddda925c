package io.mooncake.bench.cli;

import io.mooncake.bench.engine.Answer;
import io.mooncake.bench.engine.Engine;
import io.mooncake.bench.engine.EngineAdapter;
import io.mooncake.bench.engine.EngineChoice;
import io.mooncake.bench.engine.Session;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.NodeConfigBuilder;
import io.mooncake.core.Reach;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.NodeId;
import io.mooncake.core.block.BlockId;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Main class of a process that has an inference engine beside a node, driven by an {@link EngineSeat} through standard input and output, a line
 * each; it ends when its input does.
 *
 * <pre>
 *   is told                                     says
 *                                               node NAME#LIFE host:port tolerance what the engine is
 *   meet COUNT                                  met            it knows so many nodes
 *   encode TEXT                                 tokens tokens  of a text, which is in Base64
 *   alone COUNT tokens                          answer words   so many tokens that follow, the store not asked
 *   shared COUNT tokens [NAME#LIFE=n]           pulling n      if there is anything to pull, before it is waited for
 *                                               answer words   it knew so many changes of that node before it began
 *   changes                                     changes n      everything that it published is announced by then
 *   evict BLOCK tokens                          evicted n      that block of those tokens
 *   damage BLOCK tokens                         damaged n      a bit of that block of those tokens is another one, and nobody was told; not
 *                                                              where memory is shared
 *   explain tokens [NAME#LIFE=n]                explained in words by which way their first block comes
 * </pre>
 */
final class DisaggProcess {
    private static final Duration KNOWN = Duration.ofMinutes(2);
    /** Those that are always free for what comes next. */
    private static final int SPARE = 4;

    private final Node node;
    private final Engine engine;
    private final EngineAdapter adapter;
    private final Damage damage;
    private final PrintStream out;

    private DisaggProcess(Node node, Engine engine, DisaggRun.By by, Damage damage, PrintStream out) {
        this.node = node;
        this.engine = engine;
        this.damage = damage;
        this.out = out;
        adapter = by == DisaggRun.By.LAYERS
                ? EngineAdapter.byLayers(engine, node, blocks -> say("pulling " + blocks))
                : new EngineAdapter(engine, node.store(), by == DisaggRun.By.VIEW ? Reach.HOST : Reach.NODE,
                        blocks -> say("pulling " + blocks));
    }

    /**
     * Serves.
     *
     * @param args the node's name, the blocks that it has room for, how blocks come, which engine, its model's directory or nothing; then the
     *     node's settings, KEY=VALUE
     * @throws IOException when standard input cannot be read
     */
    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        try (Engine engine = EngineChoice.ofText(args[3])
                .create(args[4].isEmpty() ? null : Path.of(args[4]))) {
            long blockBytes = engine.layout().blockBytes();
            NodeSettings settings = NodeSettings.ofArgs(List.of(args).subList(5, args.length));
            NodeConfigBuilder builder = settings.applyTo(NodeConfig.builder(args[0]))
                    .blockSize(blockBytes)
                    .poolSize((Long.parseLong(args[1]) + SPARE) * blockBytes)
                    .spareSlots(SPARE);
            Damage damage = new Damage();
            if (NodeConfig.SHARED_MEMORY_OFF.equals(settings.more().get("sharedMemory"))) {
                builder.memory(damage);
            }
            try (Node node = Node.start(builder.build())) {
                DisaggProcess process = new DisaggProcess(node, engine, DisaggRun.By.valueOf(args[2]), damage, out);
                process.say("node " + node.id() + " " + node.health().clusterAddress().orElseThrow() + " "
                        + engine.tolerance() + " " + engine.describe());
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
                for (String line; (line = in.readLine()) != null;) {
                    process.say(process.answer(List.of(line.split(" ", -1))));
                }
            }
        } catch (MooncakeException e) {
            System.err.println(args[0] + ": " + e.getMessage());
            System.exit(e.kind() == MooncakeException.Kind.CONFIG_ERROR ? Main.BAD_INPUT : Main.FAILED);
        }
    }

    private void say(String line) {
        out.println(line);
        out.flush();
    }

    private String answer(List<String> words) {
        return switch (words.getFirst()) {
            case "meet" -> {
                int nodes = Integer.parseInt(words.get(1));
                await(() -> node.nodes().size() >= nodes, nodes + " nodes");
                yield "met";
            }
            case "encode" -> "tokens " + Answer.joined(
                    engine.encode(new String(Base64.getDecoder().decode(words.get(1)), StandardCharsets.UTF_8)));
            case "alone" -> {
                try (Session session = EngineAdapter.beginAlone(engine, Answer.parsed(words.get(2)))) {
                    yield "answer " + Answer.of(session, Integer.parseInt(words.get(1))).toWords();
                }
            }
            case "shared" -> {
                words.stream().skip(3).forEach(this::awaitChanges);
                try (Session session = adapter.begin(Answer.parsed(words.get(2)))) {
                    yield "answer " + Answer.of(session, Integer.parseInt(words.get(1))).toWords();
                }
            }
            case "changes" -> {
                await(() -> node.store().awaitAnnounced(KNOWN), "its own blocks");
                yield "changes " + node.changesKnown(node.id());
            }
            case "evict" -> "evicted " + node.store().evict(List.of(block(words)));
            case "damage" -> "damaged " + damage.flip(node, block(words));
            case "explain" -> {
                words.stream().skip(2).forEach(this::awaitChanges);
                yield "explained " + node.store().explain(engine.chain().ids(Answer.parsed(words.get(1))).getFirst());
            }
            default -> throw new IllegalArgumentException("asked for " + words);
        };
    }

    /** The block of those tokens that is named. */
    private BlockId block(List<String> words) {
        return engine.chain().ids(Answer.parsed(words.get(2))).get(Integer.parseInt(words.get(1)));
    }

    private void awaitChanges(String known) {
        int name = known.lastIndexOf('#');
        int number = known.lastIndexOf('=');
        NodeId life = new NodeId(known.substring(0, name), Long.parseLong(known.substring(name + 1, number), 16));
        long changes = Long.parseLong(known.substring(number + 1));
        await(() -> node.changesKnown(life) >= changes, changes + " changes of " + life);
    }

    private void await(BooleanSupplier known, String what) {
        Await.until(known::getAsBoolean, Boolean::booleanValue, KNOWN, _ -> node.id() + " did not get to know " + what
                + " within " + KNOWN.toSeconds() + " s: " + node.health());
    }
}
