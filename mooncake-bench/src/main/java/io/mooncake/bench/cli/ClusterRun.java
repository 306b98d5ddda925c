package io.mooncake.bench.cli;

import io.mooncake.bench.cli.ClusterWatch.Pair;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Processes under verified load ({@link ClusterPeer}), and what is done to them, a fault at a time, each after everybody has found everybody
 * again. One thread; one more for each process listens to it.
 */
final class ClusterRun implements AutoCloseable {
    private static final Duration DISTURBED = Duration.ofSeconds(6);
    private static final Duration FOREVER = Duration.ofDays(1);
    private static final Set<String> BROKEN = Set.of("lost", "SUSPECT");
    private static final Set<String> DEAD = Set.of("DEAD");
    private static final Set<String> JOINED = Set.of("JOINED");

    private final Settings settings;
    private final Hosts hosts;
    private final PrintWriter err;
    private final ClusterWatch watch;
    private final Random random;
    private final Path secret;
    private final Map<Integer, Child> children = new HashMap<>();
    private final ArrayDeque<Fault> drawn = new ArrayDeque<>();

    /**
     * How to run.
     *
     * @param processes how many
     * @param faults what is done to them
     * @param seed of what is drawn
     * @param killLimit within which broken connections must be seen
     * @param freezeLimit within which membership must see that a process stands still
     * @param patience how long anything may take
     * @param nodes more settings of all nodes
     */
    record Settings(int processes, List<Fault> faults, long seed, Duration killLimit, Duration freezeLimit,
            Duration patience, Map<String, String> nodes) {}

    /**
     * What a fault did. Times are in milliseconds, NaN where there is none.
     *
     * @param fault which
     * @param to whom, in words
     * @param broken until the last of the others saw a broken connection
     * @param firstDead until membership said so to the first of the others
     * @param dead until it did to the last one
     * @param back from the fault's end until everybody read from everybody again
     */
    record Round(Fault fault, String to, double broken, double firstDead, double dead, double back) {}

    /**
     * Starts the processes, and waits until everybody reads from everybody.
     *
     * @param settings how
     * @param hosts where
     * @param err where it tells what goes on
     * @throws IOException when they could not be started
     */
    ClusterRun(Settings settings, Hosts hosts, PrintWriter err) throws IOException {
        this.settings = settings;
        this.hosts = hosts;
        this.err = err;
        watch = new ClusterWatch(err);
        random = new Random(settings.seed);
        secret = Files.createTempFile("mooncake-cluster", ".secret",
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        byte[] bytes = new byte[32];
        new SecureRandom().nextBytes(bytes);
        Files.writeString(secret, HexFormat.of().formatHex(bytes));
        try {
            watch.excuse(pairs());
            start(0);
            // So that they do not begin as two clusters.
            await(() -> watch.isReady(0) || watch.hasEnded(0), "peer-0 is ready");
            all().skip(1).forEach(this::start);
            if (!await(() -> watch.areUp(pairs()), "everybody reads from everybody")) {
                throw new IOException("the cluster did not come about: " + watch.violations().getLast());
            }
            watch.excuseNobody();
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    ClusterWatch watch() {
        return watch;
    }

    private IntStream all() {
        return IntStream.range(0, settings.processes);
    }

    private List<Pair> pairs() {
        return all().boxed()
                .flatMap(reader -> all().filter(peer -> peer != reader).mapToObj(peer -> new Pair(reader, peer)))
                .toList();
    }

    private List<Pair> pairsOf(int process) {
        return pairs().stream().filter(pair -> pair.reader() == process || pair.peer() == process).toList();
    }

    private List<Pair> readersOf(int process) {
        return pairs().stream().filter(pair -> pair.peer() == process).toList();
    }

    private void start(int process) {
        List<String> args = new ArrayList<>(List.of(Integer.toString(process), Integer.toString(settings.processes),
                "cluster=bench-cluster", "cluster.secretFile=" + secret, "cluster.bind=" + hosts.cluster(process),
                "tcp.bind=" + hosts.tcp(process), "sharedMemory=off"));
        args.add("cluster.discovery=" + String.join(",", all().mapToObj(i -> hosts.cluster(i).toString()).toList()));
        settings.nodes.forEach((key, value) -> args.add(key + "=" + value));
        // What this JVM was told of its machine goes for the others too.
        List<String> flags = new ArrayList<>(List.of("-Xmx160m", "-XX:+UseSerialGC"));
        flags.addAll(Child.QUIET);
        ManagementFactory.getRuntimeMXBean()
                .getInputArguments()
                .stream()
                .filter(flag -> flag.startsWith("-XX:Tiered"))
                .forEach(flags::add);
        watch.started(process);
        Child child = Child.start(hosts.commandPrefix(process), flags, ClusterPeer.class, args);
        children.put(process, child);
        Thread.ofVirtual().start(() -> {
            for (String line = child.readLine(FOREVER); line != null; line = child.readLine(FOREVER)) {
                watch.onLine(process, line);
            }
            watch.onEnd(process);
        });
    }

    private Child child(int process) {
        Child child = children.get(process);
        if (child == null) {
            throw new AssertionError(process);
        }
        return child;
    }

    private boolean await(BooleanSupplier condition, String what) {
        boolean came = watch.await(condition, settings.patience);
        if (!came) {
            watch.violation("within " + settings.patience.toSeconds() + " s it did not come about that " + what);
        }
        return came;
    }

    // ---- faults

    /**
     * Does one thing to them, and waits until it is over. Every fault is drawn once before any is drawn again.
     *
     * @return what came of it; null when the cluster did not become whole again, so that there is nothing more to be learned
     * @throws IOException when it could not be done
     */
    @Nullable
    Round round() throws IOException {
        if (drawn.isEmpty()) {
            List<Fault> shuffled = new ArrayList<>(settings.faults);
            Collections.shuffle(shuffled, random);
            drawn.addAll(shuffled);
        }
        int victim = random.nextInt(settings.processes);
        Round round = switch (drawn.remove()) {
            case KILL -> kill(victim);
            case FREEZE -> freeze(victim);
            case RESTART -> restart(victim);
            case PARTITION -> partition();
            case DELAY -> disturb(Fault.DELAY, victim, List.of("delay", "20ms"));
            case LOSS -> disturb(Fault.LOSS, victim, List.of("loss", "2%"));
        };
        if (Double.isNaN(round.back)) {
            return null;
        }
        watch.excuseNobody();
        return round;
    }

    private Round kill(int victim) {
        watch.excuse(pairsOf(victim));
        long atNs = System.nanoTime();
        child(victim).kill();
        awaitSeen(readersOf(victim), BROKEN, atNs);
        awaitSeen(readersOf(victim), DEAD, atNs);
        double broken = lastMs(readersOf(victim), BROKEN, atNs);
        check(broken, settings.killLimit, ClusterPeer.name(victim) + " was killed");
        await(() -> watch.hasEnded(victim), ClusterPeer.name(victim) + " ends");
        long againNs = System.nanoTime();
        start(victim);
        return over(new Round(Fault.KILL, ClusterPeer.name(victim), broken, firstMs(readersOf(victim), DEAD, atNs),
                lastMs(readersOf(victim), DEAD, atNs), Double.NaN), readersOf(victim), againNs);
    }

    private Round freeze(int victim) {
        watch.excuse(pairsOf(victim));
        watch.frozen(victim);
        long atNs = System.nanoTime();
        child(victim).signal("STOP");
        awaitSeen(readersOf(victim), DEAD, atNs);
        double first = firstMs(readersOf(victim), DEAD, atNs);
        double dead = lastMs(readersOf(victim), DEAD, atNs);
        check(dead, settings.freezeLimit, ClusterPeer.name(victim) + " stands still");
        long goesOnNs = System.nanoTime();
        child(victim).signal("CONT");
        return over(new Round(Fault.FREEZE, ClusterPeer.name(victim), Double.NaN, first, dead, Double.NaN),
                readersOf(victim), goesOnNs);
    }

    private Round restart(int victim) {
        watch.excuse(pairsOf(victim));
        long atNs = System.nanoTime();
        child(victim).endInput();
        int code = child(victim).waitFor(settings.patience);
        if (code != Main.OK) {
            watch.violation(ClusterPeer.name(victim) + " was closed, and ended with code " + code);
        }
        await(() -> watch.hasEnded(victim), ClusterPeer.name(victim) + " ends");
        long againNs = System.nanoTime();
        start(victim);
        Round round = over(new Round(Fault.RESTART, ClusterPeer.name(victim), Double.NaN, Double.NaN, Double.NaN,
                Double.NaN), readersOf(victim), againNs);
        return new Round(round.fault, round.to, Double.NaN, firstMs(readersOf(victim), DEAD, atNs),
                lastMs(readersOf(victim), DEAD, atNs), round.back);
    }

    private Round partition() throws IOException {
        List<Integer> shuffled = new ArrayList<>(all().boxed().toList());
        Collections.shuffle(shuffled, random);
        List<Integer> cut = List.copyOf(shuffled.subList(0, 1 + random.nextInt(settings.processes - 1)));
        List<Integer> others = shuffled.stream().filter(process -> !cut.contains(process)).toList();
        List<Pair> across = pairs().stream()
                .filter(pair -> cut.contains(pair.reader()) != cut.contains(pair.peer()))
                .toList();
        watch.excuse(across);
        long atNs = System.nanoTime();
        for (int one : cut) {
            for (int other : others) {
                hosts.cut(one, other);
            }
        }
        long cutNs = System.nanoTime();
        awaitSeen(across, DEAD, atNs);
        double first = firstMs(across, DEAD, cutNs);
        double dead = lastMs(across, DEAD, cutNs);
        for (int one : cut) {
            for (int other : others) {
                hosts.mend(one, other);
            }
        }
        long mendedNs = System.nanoTime();
        return over(new Round(Fault.PARTITION, cut + " from " + others, Double.NaN, first, dead, Double.NaN), across,
                mendedNs);
    }

    private Round disturb(Fault fault, int victim, List<String> how) throws IOException {
        hosts.disturb(victim, how);
        watch.await(() -> false, DISTURBED);
        hosts.disturb(victim, List.of());
        return over(new Round(fault, ClusterPeer.name(victim), Double.NaN, Double.NaN, Double.NaN, Double.NaN),
                List.of(), System.nanoTime());
    }

    /** A violation when the last one said so later than allowed. */
    private void check(double ms, Duration limit, String what) {
        if (ms > limit.toMillis()) {
            watch.violation(String.format(Locale.ROOT, "that %s was seen after %.0f ms only", what, ms));
        }
    }

    /** Until everybody in question joined anew, and everybody reads from everybody. */
    private Round over(Round round, Collection<Pair> joining, long sinceNs) {
        boolean whole = awaitSeen(joining, JOINED, sinceNs)
                && await(() -> watch.areUp(pairs()), "everybody reads from everybody, after " + round.fault + " of "
                        + round.to);
        double back = whole ? (System.nanoTime() - sinceNs) / 1e6 : Double.NaN;
        return new Round(round.fault, round.to, round.broken, round.firstDead, round.dead, back);
    }

    private boolean awaitSeen(Collection<Pair> pairs, Set<String> what, long sinceNs) {
        boolean all = watch.await(
                () -> pairs.stream().allMatch(pair -> watch.firstNs(pair, what, sinceNs).isPresent()),
                settings.patience);
        if (!all) {
            pairs.stream()
                    .filter(pair -> watch.firstNs(pair, what, sinceNs).isEmpty())
                    .forEach(pair -> watch.violation(ClusterPeer.name(pair.reader()) + " did not see "
                            + ClusterPeer.name(pair.peer()) + " as one of " + what + " within "
                            + settings.patience.toSeconds()
                            + " s"));
        }
        return all;
    }

    private double firstMs(Collection<Pair> pairs, Set<String> what, long sinceNs) {
        return times(pairs, what, sinceNs).mapToDouble(ms -> ms).min().orElse(Double.NaN);
    }

    private double lastMs(Collection<Pair> pairs, Set<String> what, long sinceNs) {
        return times(pairs, what, sinceNs).mapToDouble(ms -> ms).max().orElse(Double.NaN);
    }

    private Stream<Double> times(Collection<Pair> pairs, Set<String> what, long sinceNs) {
        return pairs.stream()
                .map(pair -> watch.firstNs(pair, what, sinceNs))
                .filter(OptionalLong::isPresent)
                .map(ns -> (ns.getAsLong() - sinceNs) / 1e6);
    }

    // ---- full load

    /**
     * Lets everybody read as fast as can be, while nothing is done to anybody.
     *
     * @param duration how long
     */
    void fullLoad(Duration duration) {
        all().forEach(process -> child(process).writeLine("pause 0"));
        watch.await(() -> false, duration);
        all().forEach(process -> child(process).writeLine("pause 5000"));
    }

    /** Ends all processes. */
    @Override
    public void close() {
        watch.excuse(pairs());
        children.values().forEach(Child::endInput);
        children.values().forEach(Child::close);
        try {
            Files.deleteIfExists(secret);
        } catch (IOException e) {
            err.println("the secret file " + secret + " is left: " + e.getMessage());
        }
    }
}
