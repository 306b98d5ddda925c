package io.mooncake.core.transfer;

import io.mooncake.core.base.LinkedStack;
import io.mooncake.core.base.LinkedStack.Link;
import io.mooncake.core.base.MooncakeException;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The transfers of one node that are done, for whoever looks after many of them. Transfers are prepared with it, and stand in it through
 * themselves: it has room for all of them, refuses none, loses none and allocates nothing. Any thread polls.
 *
 * <pre>
 *   prepare(pieces, options.withCompletions(queue)) ─▶ submit ─▶ done ─▶ poll ─▶ submit ...
 * </pre>
 *
 * <p>A submission that is done is polled once, in the order in which transfers were done. One that is submitted again before it was polled is
 * withdrawn, since it is not done any more, and comes again when it is. So what is polled is done, and stays so until somebody submits it.
 */
public final class CompletionQueue {
    private final TransferHost host;
    private final LinkedStack<Transfer> done = new LinkedStack<>();
    private final Waiting waiting;
    private final BooleanSupplier hasSome = this::hasSome;
    /** Guards {@link #taken}; those who are done never take it. */
    private final Object polling = new Object();

    /** What a poller took and did not return yet, oldest first. */
    private volatile @Nullable Link<Transfer> taken;

    /**
     * For stores: an empty queue.
     *
     * @param host the node whose transfers it is for
     */
    public CompletionQueue(TransferHost host) {
        this.host = host;
        waiting = new Waiting(host);
    }

    /**
     * For stores: whose transfers may be prepared with it.
     *
     * @return as constructed
     */
    public TransferHost host() {
        return host;
    }

    /** A transfer is done whose link is in no stack. */
    void add(Link<Transfer> link) {
        done.push(link);
        waiting.wake();
    }

    /**
     * Takes the transfer that has been done for longest.
     *
     * @return null when none is
     */
    public @Nullable Transfer poll() {
        for (Link<Transfer> link; (link = next()) != null;) {
            if (link.owner().takeNotice()) {
                return link.owner();
            }
        }
        return null;
    }

    private @Nullable Link<Transfer> next() {
        Link<Transfer> oldest;
        synchronized (polling) {
            oldest = taken;
            if (oldest == null) {
                oldest = done.takeAll();
            }
            if (oldest != null) {
                taken = oldest.unlink();
            }
        }
        if (taken != null) {
            // Another poller may have looked when neither had it.
            waiting.wake();
        }
        return oldest;
    }

    /**
     * Takes the transfer that has been done for longest, or waits for one. In INVOKER mode the caller's thread runs the node meanwhile.
     *
     * @param timeout at most
     * @return null when none was done in time, or the thread was interrupted (its flag stays set)
     * @throws MooncakeException ILLEGAL_STATE in INVOKER mode in another thread than the node's owner
     */
    public @Nullable Transfer poll(Duration timeout) {
        long untilNs = Waiting.untilNs(host, timeout);
        for (;;) {
            Transfer transfer = poll();
            if (transfer != null || !waiting.await(hasSome, untilNs)) {
                return transfer;
            }
        }
    }

    /**
     * Takes transfers that are done, those that have been for longest first.
     *
     * @param consumer gets each of them, in the calling thread
     * @param limit how many at most
     * @return how many it got
     */
    public int drain(Consumer<? super Transfer> consumer, int limit) {
        int drained = 0;
        for (Transfer transfer; drained < limit && (transfer = poll()) != null; drained++) {
            consumer.accept(transfer);
        }
        return drained;
    }

    /**
     * Whether nothing is there to be polled, as it looks while others poll.
     *
     * @return a hint
     */
    public boolean isEmpty() {
        return taken == null && done.isEmpty();
    }

    private boolean hasSome() {
        return !isEmpty();
    }
}
