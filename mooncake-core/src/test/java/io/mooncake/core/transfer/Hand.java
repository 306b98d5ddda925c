package io.mooncake.core.transfer;

import io.mooncake.core.base.Counter;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/** A node and its work, driven by a test: pieces end and callbacks run when it says so. */
class Hand implements TransferHost, TransferWork {
    final AtomicInteger dispatched = new AtomicInteger();
    final AtomicInteger aborted = new AtomicInteger();
    /** Runs when something is counted. */
    Runnable onCount = () -> {};

    @Override
    public void checkOpen() {}

    @Override
    public long nowNs() {
        return 0;
    }

    @Override
    public boolean pump(BooleanSupplier done, long deadlineNs) {
        return true;
    }

    @Override
    public void dispatch(Transfer transfer) {
        dispatched.incrementAndGet();
    }

    @Override
    public void count(Counter counter) {
        onCount.run();
    }

    @Override
    public void start(Transfer transfer, long deadlineNs) {}

    @Override
    public void abort() {
        aborted.incrementAndGet();
    }

    @Override
    public int stage(int piece) {
        return piece;
    }

    static void runDue(Transfer transfer) {
        for (int due = transfer.takeCallbacksDue(); due > 0; due--) {
            transfer.runCallback();
        }
    }
}
