package io.mooncake.core.transfer;

import io.mooncake.core.base.LinkedStack.Link;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Who is told that a transfer is done: its callback, once a submission, and whoever asked for a future. Any thread. */
final class Completion {
    private static final VarHandle FUTURE;
    private static final VarHandle DUE;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            FUTURE = lookup.findVarHandle(Completion.class, "future", CompletableFuture.class);
            DUE = lookup.findVarHandle(Completion.class, "due", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final Transfer transfer;
    private final @Nullable Consumer<? super Transfer> callback;
    /** In the stack of what the node is to dispatch. */
    final Link<Transfer> link;

    private volatile @Nullable CompletableFuture<Transfer> future;

    @SuppressWarnings("unused") // by DUE
    private volatile int due;

    Completion(Transfer transfer, @Nullable Consumer<? super Transfer> callback) {
        this.transfer = transfer;
        this.callback = callback;
        link = new Link<>(transfer);
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
