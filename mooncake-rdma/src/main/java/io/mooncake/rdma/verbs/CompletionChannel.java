package io.mooncake.rdma.verbs;

import java.util.List;

/**
 * Where a thread waits for completions instead of polling for them. One thread waits; any thread wakes it.
 *
 * <p>A queue makes one event for the first completion after {@link CompletionQueue#requestNotification}, and none for those that were
 * already there. So: ask for the notification, poll once more, and only then wait.
 */
public final class CompletionChannel extends NativeObject {

    private final int eventFd;

    CompletionChannel(Context context) {
        super(context.provider, "completion channel of " + context, List.of(context), "ibv_create_comp_channel",
                () -> context.provider.createCompChannel(context.handle()));
        eventFd = provider.eventFd();
        if (eventFd < 0) {
            close();
            throw new VerbsException("eventfd", toString(), -eventFd);
        }
    }

    /**
     * Waits for the event of a completion queue, takes it and acknowledges it. Blocks its thread, which is a platform thread for choice.
     *
     * @param timeoutMillis at most; 0 only looks, less than 0 waits for ever
     * @return whether there was one; false at the end of the time, or by {@link #wakeup}
     */
    public boolean await(int timeoutMillis) {
        long ready = VerbsException.check(provider.await(provider.channelFd(handle()), eventFd, timeoutMillis), "poll",
                this);
        if (ready == 0) {
            return false;
        }
        long cq = VerbsException.check(provider.getCqEvent(handle()), "ibv_get_cq_event", this);
        // At once: destroying the queue waits for this.
        provider.ackCqEvents(cq, 1);
        return true;
    }

    /** Ends {@link #await}, now or the next one. Any thread, also while it is closed: its descriptor may be another file's from then on. */
    public synchronized void wakeup() {
        if (!isClosed()) {
            VerbsException.check(provider.signal(eventFd), "write", "eventfd of " + this);
        }
    }

    @Override
    String destroyCall() {
        return "ibv_destroy_comp_channel";
    }

    @Override
    int destroy(long object) {
        return provider.destroyCompChannel(object);
    }

    @Override
    void release() {
        if (eventFd >= 0) {
            VerbsException.check(provider.closeEventFd(eventFd), "close", "eventfd of " + this);
        }
    }
}
