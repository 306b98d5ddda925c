package io.mooncake.core.transfer.tcp;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/** Finds the addresses of hosts: those that are written out at once, names on another thread, since that may take seconds. */
final class HostNames {
    /** What came of a question. */
    record Answer(PeerLanes asker, int question, @Nullable InetAddress address, String problem) {}

    private final Executor executor;
    private final TcpEnvironment.Names names;
    private final Runnable wakeup;
    private final Queue<Answer> answers = new ConcurrentLinkedQueue<>();

    HostNames(TcpEnvironment environment, Runnable wakeup) {
        executor = environment.lookups();
        names = environment.names();
        this.wakeup = wakeup;
    }

    /** The address that a text is, or null for a name. */
    static @Nullable InetAddress literal(String host) {
        try {
            return InetAddress.ofLiteral(host);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    /** Asks; the answer is polled. */
    void ask(PeerLanes asker, int question, String host) {
        try {
            executor.execute(() -> {
                answers.add(answer(asker, question, host));
                wakeup.run();
            });
        } catch (RejectedExecutionException e) {
            answers.add(new Answer(asker, question, null, "nobody looks up host " + host + ": " + e.getMessage()));
        }
    }

    private Answer answer(PeerLanes asker, int question, String host) {
        try {
            return new Answer(asker, question, names.find(host), "");
        } catch (UnknownHostException | RuntimeException e) {
            return new Answer(asker, question, null, "host " + host + " has no address: " + e.getMessage());
        }
    }

    boolean isEmpty() {
        return answers.isEmpty();
    }

    @Nullable
    Answer poll() {
        return answers.poll();
    }
}
