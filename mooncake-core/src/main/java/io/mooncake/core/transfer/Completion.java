package io.mooncake.core.transfer;

import io.mooncake.core.base.LinkedStack.Link;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Who is told that a transfer is done: its callback, once a submission, its completion queue, and whoever asked for a future. Any thread.
 */
final class Completion {
    private static final VarHandle FUTURE;
    private static final VarHandle DUE;
    private static final VarHandle NOTICE;
    private static final long NONE = -1;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            FUTURE = lookup.findVarHandle(Completion.class, "future", CompletableFuture.class);
            DUE = lookup.findVarHandle(Completion.class, "due", int.class);
            NOTICE = lookup.findVarHandle(Completion.class, "notice", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final Transfer transfer;
    private final @Nullable Consumer<? super Transfer> callback;
    private final @Nullable CompletionQueue queue;
    private final Link<Transfer> queueLink;
    /** In the stack of what the node is to dispatch. */
    final Link<Transfer> link;

    private volatile @Nullable CompletableFuture<Transfer> future;

    @SuppressWarnings("unused") // by DUE
    private volatile int due;

    /** The submission that stands in the queue. */
    private volatile long notice = NONE;

    Completion(Transfer transfer, Transfer.Told told) {
        this.transfer = transfer;
        callback = told.callback();
        queue = told.queue();
        link = new Link<>(transfer);
        queueLink = new Link<>(transfer);
    }

    CompletableFuture<Transfer> future() {
        for (;;) {
            CompletableFuture<Transfer> current = future;
            if (current == null) {
                current = new CompletableFuture<>();
                if (!FUTURE.compareAndSet(this, null, current)) {
                    continue;
                }
            }
            if (transfer.isDone()) {
                FUTURE.compareAndSet(this, current, null);
                current.complete(transfer);
            }
            return current;
        }
    }

    /** The transfer is done; true when the node is to dispatch it, false when it has it already or nobody asked. */
    boolean isDue() {
        // Submitted and done again before its callback ran, it is in the node's hands already and must not be linked twice.
        return (callback != null || future != null) && (int) DUE.getAndAdd(this, 1) == 0;
    }

    /** A submission is done: it stands in the queue from now on, instead of an earlier one that was not polled. */
    void queue(long submission) {
        if (queue == null) {
            return;
        }
        for (;;) {
            long before = notice;
            if (before >= submission) {
                // The next one was faster.
                return;
            }
            if (NOTICE.compareAndSet(this, before, submission)) {
                if (before == NONE) {
                    queue.add(queueLink);
                }
                return;
            }
        }
    }

    /** Which submission stood in the queue; from now on its link may be pushed again. */
    long takeNotice() {
        return (long) NOTICE.getAndSet(this, NONE);
    }

    /** How many submissions are done whose callback did not run; from now on the link may be pushed again. */
    int takeDue() {
        return (int) DUE.getAndSet(this, 0);
    }

    /** Runs the callback of one submission that is done, and completes the future there is. */
    void run() {
        CompletableFuture<Transfer> completing = future;
        // Submitted again before this ran: then the future is of a submission that goes on.
        if (completing != null && !(transfer.isDone() && FUTURE.compareAndSet(this, completing, null))) {
            completing = null;
        }
        try {
            if (callback != null) {
                callback.accept(transfer);
            }
        } finally {
            complete(completing);
        }
    }

    /** The transfer is done and about to be submitted again: a future taken from then on is of the new submission. */
    void supersede() {
        CompletableFuture<Transfer> current = future;
        if (current != null && FUTURE.compareAndSet(this, current, null)) {
            complete(current);
        }
    }

    private void complete(@Nullable CompletableFuture<Transfer> completing) {
        if (completing != null) {
            completing.complete(transfer);
        }
    }
}
