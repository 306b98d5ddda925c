package io.mooncake.bench.stress;

import io.mooncake.core.base.Counter;
import io.mooncake.core.transfer.CompletionQueue;
import io.mooncake.core.transfer.Transfer;
import io.mooncake.core.transfer.TransferHost;
import io.mooncake.core.transfer.TransferWork;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/** The node and the work of transfers whose pieces end when a test says so. */
final class Lone implements TransferHost, TransferWork {
    final CompletionQueue queue = new CompletionQueue(this);
    final AtomicInteger dispatched = new AtomicInteger();

    /** One that is told by callback and by the queue, into the caller's memory, and submitted. */
    Transfer submitted(int pieces) {
        return new Transfer(this, this, pieces, false, 1, new Transfer.Told(transfer -> {}, queue)).submit();
    }

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
    public void count(Counter counter) {}

    @Override
    public void start(Transfer transfer, long deadlineNs) {}

    @Override
    public void abort() {}

    @Override
    public int stage(int piece) {
        return 0;
    }
}
