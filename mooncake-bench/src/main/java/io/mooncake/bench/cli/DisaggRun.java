package io.mooncake.bench.cli;

import io.mooncake.bench.engine.Answer;
import io.mooncake.bench.engine.EngineChoice;
import io.mooncake.bench.engine.ModelFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Random;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Two processes with an engine each, joined by JGroups over loopback: one prefills, the other one answers with the blocks of the first, and without.
 * One thread.
 */
final class DisaggRun implements AutoCloseable {
    private static final int NODES = 2;

    private final Settings settings;
    private final Consumer<String> steps;
    private final int[] prefix;
    private final EngineSeat prefill;
    private final EngineSeat decode;

    /** How blocks come to where they are needed. */
    enum By {
        /** Pulled over TCP. */
        TCP("tcp"),
        /** Copied out of the other process's memory. */
        SHM("shm"),
        /** Used in the other process's memory. */
        VIEW("shm"),
        /** Read by RDMA. */
        RDMA("rdma"),
        /** Read over TCP straight into the engine's own pages, layer by layer. */
        LAYERS("tcp");

        private final String engine;

        By(String engine) {
            this.engine = engine;
        }
    }

    /**
     * What is run.
     *
     * @param engine which
     * @param models where its model's files stay; null = they are written for this run
     * @param by how blocks come
     * @param nodes how both nodes are set up
     * @param prompts how many there are in all
     * @param tokens of a prompt
     * @param prefixTokens which all prompts begin with
     * @param generate tokens that are to follow each
     * @param seed of the prompts
     */
    record Settings(EngineChoice engine, @Nullable Path models, By by, NodeSettings nodes, int prompts, int tokens,
            int prefixTokens,
            int generate, long seed) {
        /** Blocks that a node comes to have at most, those of one more prompt included. */
        int capacity() {
            return (prompts + 1) * ((tokens + generate) / engine.blockTokens() + 1);
        }
    }

    /**
     * What became of a prompt.
     *
     * @param shared as answered with the other process's blocks
     * @param alone as computed in one go
     */
    record Round(Answer shared, Answer alone) {
        float distance() {
            return alone.distance(shared);
        }

        boolean sameTokens() {
            return alone.sameTokens(shared);
        }
    }

    /**
     * Starts both.
     *
     * @param settings what is run
     * @throws IOException when one of them could not
     */
    DisaggRun(Settings settings) throws IOException {
        this(settings, _ -> {});
    }

    /**
     * Starts both.
     *
     * @param settings what is run
     * @param steps told what goes on, for people
     * @throws IOException when one of them could not
     */
    DisaggRun(Settings settings, Consumer<String> steps) throws IOException {
        this.settings = settings;
        this.steps = steps;
        prefix = random(settings.seed, settings.prefixTokens);
        steps.accept("starting two processes");
        try (ModelFiles model = ModelFiles.of(settings.engine, settings.models)) {
            // The first one's port is known before it starts, so that it waits for nobody else.
            String first = "127.0.0.1:" + OneHost.freePorts(1).getFirst();
            prefill = new EngineSeat("prefill", setup(model, first, first));
            try {
                decode = new EngineSeat("decode", setup(model, prefill.address(), "127.0.0.1:0"));
                try {
                    prefill.meet(NODES);
                    decode.meet(NODES);
                } catch (IOException | RuntimeException | Error e) {
                    decode.close();
                    throw e;
                }
            } catch (IOException | RuntimeException | Error e) {
                prefill.close();
                throw e;
            }
        }
    }

    private EngineSeat.Setup setup(ModelFiles model, String discovery, String bind) {
        NodeSettings all = settings.nodes.forEngine(settings.by.engine)
                .with("cluster.discovery", discovery)
                .with("cluster.bind", bind)
                // This is no test of liveness: with fewer cores than processes heartbeats may be late.
                .with("cluster.heartbeat", "1s")
                .with("cluster.heartbeatMisses", "20");
        return new EngineSeat.Setup(settings.engine, model.directory(), settings.capacity(), settings.by, all);
    }

    private int[] random(long seed, int count) {
        return new Random(seed).ints(count, 0, settings.engine.vocabulary()).toArray();
    }

    /** A prompt by its number: all of them begin alike. */
    int[] prompt(int number) {
        int[] all = random(settings.seed + 1 + number, settings.tokens);
        System.arraycopy(prefix, 0, all, 0, prefix.length);
        return all;
    }

    EngineSeat prefill() {
        return prefill;
    }

    EngineSeat decode() {
        return decode;
    }

    /** By which way blocks come, in words: as of one more prompt that has been prefilled. */
    String way() throws IOException {
        steps.accept("prefilling a prompt to see which way its blocks come");
        int[] prompt = prompt(settings.prompts);
        prefill.shared(1, prompt);
        return decode.explain(prefill, prompt);
    }

    /** One prompt, prefilled there and answered here; then once more without any blocks. */
    Round round(int... prompt) throws IOException {
        steps.accept("prefilling " + prompt.length + " tokens");
        prefill.shared(1, prompt);
        steps.accept("answering with its blocks");
        decode.beginShared(settings.generate, prefill, prompt);
        Answer shared = decode.answer();
        steps.accept("answering without any");
        return new Round(shared, decode.alone(settings.generate, prompt));
    }

    /** Ends both processes, at once. */
    @Override
    public void close() {
        prefill.process().endInput();
        decode.process().endInput();
        prefill.close();
        decode.close();
    }
}
