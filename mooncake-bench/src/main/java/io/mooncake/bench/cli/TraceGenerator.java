package io.mooncake.bench.cli;

import io.mooncake.bench.cli.Trace.Request;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;

/**
 * Makes a trace as a chat service sees it: equal arguments make equal traces, on every machine. One thread.
 *
 * <p>Sessions begin at random, each with one of a few shared system prompts, some of which are much more popular than others. A
 * session's turns come one after another, with pauses in which other sessions have theirs; each turn's prompt is the whole
 * conversation so far, so it begins with the blocks of the turn before it and is longer. A last block that is not full is another
 * block once the conversation has grown past it, so it is never reused.
 */
final class TraceGenerator {
    private static final int SYSTEM_PROMPTS = 12;
    private static final int SYSTEM_PROMPT_BLOCKS = 6;
    private static final double SESSION_EVERY_MS = 900;
    private static final double PAUSE_MS = 25_000;
    private static final double FIRST_TOKENS = 6_000;
    private static final double TURN_TOKENS = 700;
    private static final double ANSWER_TOKENS = 350;
    private static final double ANOTHER_TURN = 0.65;

    private final SplittableRandom random;
    private final long maxTokens;
    private final List<long[]> systemPrompts = new ArrayList<>();
    private final PriorityQueue<Session> sessions = new PriorityQueue<>(
            Comparator.comparingDouble((Session s) -> s.nextMs).thenComparingLong(s -> s.number));
    private long nextId;
    private long nextSession;

    private static final class Session {
        final long number;
        double nextMs;
        long tokens;
        long[] full = {};

        Session(long number, double nextMs) {
            this.number = number;
            this.nextMs = nextMs;
        }
    }

    private TraceGenerator(long seed, int maxBlocks) {
        random = new SplittableRandom(seed);
        maxTokens = (long) maxBlocks * Trace.BLOCK_TOKENS;
        for (int i = 0; i < SYSTEM_PROMPTS; i++) {
            int blocks = Math.min(1 + random.nextInt(SYSTEM_PROMPT_BLOCKS), maxBlocks / 2);
            long[] ids = new long[blocks];
            Arrays.setAll(ids, index -> nextId++);
            systemPrompts.add(ids);
        }
    }

    /**
     * Makes a trace.
     *
     * @param seed what it is made of
     * @param requests how many
     * @param maxBlocks most blocks of a request, at least 1
     * @return the trace
     */
    static Trace generate(long seed, int requests, int maxBlocks) {
        TraceGenerator generator = new TraceGenerator(seed, maxBlocks);
        List<Request> made = new ArrayList<>(requests);
        generator.sessions.add(generator.newSession(0));
        while (made.size() < requests) {
            made.add(generator.next());
        }
        return new Trace(made);
    }

    private Request next() {
        Session session = sessions.remove();
        if (session.tokens == 0) {
            begin(session);
            sessions.add(newSession(session.nextMs + exponential(SESSION_EVERY_MS)));
        } else {
            session.tokens += 1 + (long) exponential(TURN_TOKENS);
        }
        session.tokens = Math.min(session.tokens, maxTokens);
        int full = (int) (session.tokens / Trace.BLOCK_TOKENS);
        int known = session.full.length;
        session.full = Arrays.copyOf(session.full, full);
        for (int i = known; i < full; i++) {
            session.full[i] = nextId++;
        }
        long[] ids = session.full;
        if (session.tokens % Trace.BLOCK_TOKENS != 0) {
            ids = Arrays.copyOf(ids, full + 1);
            ids[full] = nextId++;
        }
        long answer = 1 + (long) exponential(ANSWER_TOKENS);
        Request request = new Request((long) session.nextMs, session.tokens, answer, ids);
        session.tokens += answer;
        if (session.tokens < maxTokens && random.nextDouble() < ANOTHER_TURN) {
            session.nextMs += exponential(PAUSE_MS);
            sessions.add(session);
        }
        return request;
    }

    private Session newSession(double startMs) {
        return new Session(nextSession++, startMs);
    }

    private void begin(Session session) {
        // Drawn below a draw: the first prompts are the popular ones.
        session.full = systemPrompts.get(random.nextInt(1 + random.nextInt(SYSTEM_PROMPTS)));
        session.tokens = (long) session.full.length * Trace.BLOCK_TOKENS + 1 + (long) exponential(FIRST_TOKENS);
    }

    private double exponential(double mean) {
        // StrictMath: the same bits everywhere.
        return -mean * StrictMath.log(1 - random.nextDouble());
    }
}
