package io.mooncake.bench.cli;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/** Starts a {@link CrashWriter}, kills it at a random moment, starts the next one on the same directory, and so on. One thread. */
final class CrashRun {
    private static final Duration LIMIT = Duration.ofMinutes(2);
    /** One process in so many is killed at any moment since it was started, so perhaps while it opens the directory. */
    private static final int EARLY_SHARE = 8;
    private static final long EARLY_MS = 1_500;
    /** Numbers that a process has for its writings. */
    private static final long WRITINGS = 1_000_000;

    private final CrashSettings settings;
    private final Consumer<Path> betweenLives;
    private final SplittableRandom random;
    private final long windowMs;
    private final CrashLedger ledger = new CrashLedger();
    private int lives;
    private int early;
    private long damaged;

    /**
     * A run over an empty directory.
     *
     * @param settings what the processes do
     * @param seed of the moments
     * @param windowMs how long a process writes at most before it is killed
     * @param betweenLives is given the directory while nobody has it
     */
    CrashRun(CrashSettings settings, long seed, long windowMs, Consumer<Path> betweenLives) {
        this.settings = settings;
        this.windowMs = windowMs;
        this.betweenLives = betweenLives;
        random = new SplittableRandom(seed);
    }

    /** One process more, until it is dead. */
    void kill() {
        lives++;
        Child child = start(WRITINGS * lives);
        try {
            boolean anyMoment = random.nextInt(EARLY_SHARE) == 0;
            if (!anyMoment) {
                untilReady(child);
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextLong(anyMoment ? EARLY_MS : windowMs)));
            // Not kill(), which closes what is still to be read.
            child.signal("KILL");
            if (anyMoment && !untilReady(child)) {
                early++;
            }
            child.readAll(LIMIT).forEach(this::note);
            child.waitFor(LIMIT);
        } finally {
            child.close();
        }
        ledger.killed();
        betweenLives.accept(settings.directory());
    }

    /** The last process only looks. */
    void verify() {
        Child child = start(0);
        try {
            if (!untilReady(child)) {
                throw new IllegalStateException("the last process ended before it had looked: see its error above");
            }
        } finally {
            child.close();
        }
    }

    private Child start(long firstWriting) {
        List<String> args = new ArrayList<>(settings.toArgs());
        args.add(Long.toString(firstWriting));
        return Child.start(Child.QUIET, CrashWriter.class, args);
    }

    /** Judges what is back; false when the process ended before it had looked at everything. */
    private boolean untilReady(Child child) {
        Map<Integer, Long> back = new HashMap<>();
        for (String line = child.readLine(LIMIT); line != null; line = child.readLine(LIMIT)) {
            String[] words = line.split(" ", 3);
            switch (words[0]) {
                case "back" -> back.put(Integer.parseInt(words[1]), Long.parseLong(words[2]));
                case "wrong" -> ledger.wrong(Integer.parseInt(words[1]), words[2]);
                case "ready" -> {
                    damaged += Long.parseLong(words[1]);
                    ledger.judge(back);
                    return true;
                }
                default -> throw new IllegalStateException(child + " said '" + line + "'");
            }
        }
        return false;
    }

    private void note(String line) {
        String[] words = line.split(" ", -1);
        int block = Integer.parseInt(words[1]);
        switch (words[0]) {
            case "begins" -> ledger.begins(block, Long.parseLong(words[2]));
            case "durable" -> ledger.durable(block, Long.parseLong(words[2]));
            case "evicts" -> ledger.evicts(block);
            default -> throw new IllegalStateException("a writer said '" + line + "'");
        }
    }

    /** What was promised, kept and broken. */
    CrashLedger ledger() {
        return ledger;
    }

    /** Processes that were killed. */
    int lives() {
        return lives;
    }

    /** Of these before they had looked at everything. */
    int early() {
        return early;
    }

    /** Blocks that were found damaged when the directory was opened. */
    long damaged() {
        return damaged;
    }
}
