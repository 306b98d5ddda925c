package io.mooncake.bench.cli;

import io.mooncake.bench.engine.Answer;
import io.mooncake.bench.engine.Engine;
import io.mooncake.bench.engine.EngineAdapter;
import io.mooncake.bench.engine.FirstToken;
import io.mooncake.bench.engine.Session;
import io.mooncake.core.Node;
import io.mooncake.core.NodeConfig;
import io.mooncake.core.Reach;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.registry.LocalRegistry;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * Conversations of several turns on nodes of this process, each turn on the next node: what its prompt has in common with earlier ones is used, here
 * or from the other nodes. One thread.
 */
final class PrefixRun implements AutoCloseable {
    private static final Duration ANNOUNCE = Duration.ofSeconds(30);
    private static final int SPARE = 4;

    private final Settings settings;
    private final Engine engine;
    private final Random random;
    private final List<Node> nodes = new ArrayList<>();
    private final List<EngineAdapter> adapters = new ArrayList<>();
    private final List<int[]> conversations = new ArrayList<>();

    /**
     * What is said.
     *
     * @param conversations how many
     * @param turns of each
     * @param system tokens that all of them begin with
     * @param user tokens that each turn adds
     * @param generate tokens that answer each turn
     * @param seed of what the users say
     */
    record Settings(int conversations, int turns, int system, int user, int generate, long seed) {
        /** Tokens of a conversation in the end. */
        int tokens() {
            return system + turns * (user + generate);
        }
    }

    /**
     * One turn of one conversation.
     *
     * @param tokens of its prompt
     * @param shared as answered with what the nodes have
     * @param alone as computed in one go
     */
    record Turn(int tokens, Answer shared, Answer alone) {
        FirstToken firstToken() {
            return shared.firstToken();
        }
    }

    /**
     * Starts the nodes.
     *
     * @param settings what is said
     * @param count how many nodes
     * @param engine that all of them have
     */
    PrefixRun(Settings settings, int count, Engine engine) {
        this.settings = settings;
        this.engine = engine;
        random = new Random(settings.seed);
        LocalRegistry registry = new LocalRegistry();
        long blockBytes = engine.layout().blockBytes();
        long blocks = (long) settings.conversations * (settings.tokens() / engine.layout().tokens() + 1);
        try {
            for (int i = 0; i < count; i++) {
                Node node = Node.start(NodeConfig.builder("node-" + i)
                        .registry(registry)
                        .blockSize(blockBytes)
                        .poolSize((blocks + SPARE) * blockBytes)
                        .spareSlots(SPARE)
                        .build());
                nodes.add(node);
                adapters.add(new EngineAdapter(engine, node.store(), Reach.NODE, _ -> {}));
            }
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
        int[] system = said(settings.system);
        for (int i = 0; i < settings.conversations; i++) {
            conversations.add(system);
        }
    }

    private int[] said(int tokens) {
        return random.ints(tokens, 0, engine.vocabulary()).toArray();
    }

    private static int[] concat(int[] one, int[] other) {
        int[] both = Arrays.copyOf(one, one.length + other.length);
        System.arraycopy(other, 0, both, one.length, other.length);
        return both;
    }

    /** The next turn of a conversation. */
    Turn turn(int conversation, int turn) {
        int[] prompt = concat(conversations.get(conversation), said(settings.user));
        int place = (conversation + turn) % nodes.size();
        Answer shared;
        try (Session session = adapters.get(place).begin(prompt)) {
            shared = Answer.of(session, settings.generate);
        }
        // The next turn is elsewhere, and begins when what this one published is known there.
        if (!nodes.get(place).store().awaitAnnounced(ANNOUNCE)) {
            throw new MooncakeException(Kind.TIMEOUT, "node " + nodes.get(place).id()
                    + " did not announce the blocks of a turn within " + ANNOUNCE.toSeconds() + " s");
        }
        conversations.set(conversation, concat(prompt, shared.tokens()));
        try (Session session = EngineAdapter.beginAlone(engine, prompt)) {
            return new Turn(prompt.length, shared, Answer.of(session, settings.generate));
        }
    }

    @Override
    public void close() {
        nodes.forEach(Node::close);
    }
}
