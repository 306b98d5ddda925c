package io.mooncake.bench.cli;

import io.mooncake.bench.engine.Answer;
import io.mooncake.bench.engine.EngineChoice;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A {@link DisaggProcess} as seen from the process that drives it. One thread. */
final class EngineSeat implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofMinutes(10);

    private final String name;
    private final Child child;
    private final String life;
    private final String address;
    private final float tolerance;
    private final String engine;

    /**
     * What such a process is.
     *
     * @param engine which
     * @param model the directory of its model's files; null where it has none
     * @param capacity blocks that its node has room for
     * @param by how blocks come
     * @param settings of its node, the cluster's among them
     */
    record Setup(EngineChoice engine, @Nullable Path model, int capacity, DisaggRun.By by, NodeSettings settings) {}

    /**
     * Starts one and waits until it serves.
     *
     * @param name its node's
     * @param setup what it is
     * @throws IOException when it did not come so far
     */
    EngineSeat(String name, Setup setup) throws IOException {
        this.name = name;
        List<String> flags = new ArrayList<>(Child.QUIET);
        flags.addAll(setup.settings.jvmFlags());
        flags.addAll(setup.engine.jvmFlags());
        List<String> args = new ArrayList<>(List.of(name, Integer.toString(setup.capacity), setup.by.name(),
                setup.engine.toText(), setup.model == null ? "" : setup.model.toString()));
        args.addAll(setup.settings.toArgs());
        child = Child.start(flags, DisaggProcess.class, args);
        List<String> words;
        try {
            words = expect("node");
        } catch (IOException | RuntimeException | Error e) {
            child.close();
            throw e;
        }
        life = words.get(0);
        address = words.get(1);
        tolerance = Float.parseFloat(words.get(2));
        engine = String.join(" ", words.subList(3, words.size()));
    }

    Child process() {
        return child;
    }

    /** Where others find its cluster. */
    String address() {
        return address;
    }

    /** How far its logits may lie from those that were computed in one go. */
    float tolerance() {
        return tolerance;
    }

    /** What its engine is, in words. */
    String engine() {
        return engine;
    }

    /** Until it knows so many nodes. */
    void meet(int nodes) throws IOException {
        say("meet " + nodes);
        expect("met");
    }

    /** The tokens of a text, as its engine has them. */
    int[] encode(String text) throws IOException {
        say("encode " + Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8)));
        return Answer.parsed(expect("tokens").getFirst());
    }

    /** Lets it answer by computing everything. */
    Answer alone(int count, int... prompt) throws IOException {
        say("alone " + count + " " + Answer.joined(prompt));
        return Answer.ofWords(expect("answer"));
    }

    /** Lets it answer with what the cluster has. */
    Answer shared(int count, int... prompt) throws IOException {
        beginShared(count, null, prompt);
        return answer();
    }

    /** Has it begin to answer as soon as it knows what another one has published by now; {@link #answer} says how it ended. */
    void beginShared(int count, @Nullable EngineSeat other, int... prompt) throws IOException {
        say("shared " + count + " " + Answer.joined(prompt) + known(other));
    }

    /** What it is to know before: everything that another one has published by now. */
    private static String known(@Nullable EngineSeat other) throws IOException {
        return other == null ? "" : " " + other.life + "=" + other.changes();
    }

    /** Until it waits for blocks; how many. Only where there are any to be pulled. */
    int pulling() throws IOException {
        return Integer.parseInt(expect("pulling").getFirst());
    }

    /** What it was asked for last. */
    Answer answer() throws IOException {
        List<String> words = words();
        while (words.getFirst().equals("pulling")) {
            words = words();
        }
        return Answer.ofWords(rest(words, "answer"));
    }

    /** How much it has announced, everything that it published included. */
    private long changes() throws IOException {
        say("changes");
        return Long.parseLong(expect("changes").getFirst());
    }

    /** Evicts one block of a prompt; whether it was there. */
    boolean evict(int block, int... prompt) throws IOException {
        say("evict " + block + " " + Answer.joined(prompt));
        return expect("evicted").getFirst().equals("1");
    }

    /** Turns one bit of one block of a prompt over, past the store; whether it could. */
    boolean damage(int block, int... prompt) throws IOException {
        say("damage " + block + " " + Answer.joined(prompt));
        return expect("damaged").getFirst().equals("1");
    }

    /** By which way a prompt's first block, which another one has published, would come there; in words. */
    String explain(EngineSeat other, int... prompt) throws IOException {
        say("explain " + Answer.joined(prompt) + known(other));
        return String.join(" ", expect("explained"));
    }

    private void say(String line) throws IOException {
        try {
            child.writeLine(line);
        } catch (UncheckedIOException e) {
            throw ended(e);
        }
    }

    private List<String> expect(String what) throws IOException {
        return rest(words(), what);
    }

    private List<String> rest(List<String> words, String what) throws IOException {
        if (!words.getFirst().equals(what)) {
            throw new IOException(name + " said '" + String.join(" ", words) + "' instead of " + what);
        }
        return words.subList(1, words.size());
    }

    private List<String> words() throws IOException {
        String line = child.readLine(LIMIT);
        if (line == null) {
            throw ended(null);
        }
        return List.of(line.split(" ", -1));
    }

    private IOException ended(@Nullable Exception cause) {
        return new IOException("the process of " + name + " ended with code " + child.waitFor(LIMIT)
                + " (137 = killed); see its error above", cause);
    }

    /** Ends the process. */
    @Override
    public void close() {
        child.close();
    }
}
