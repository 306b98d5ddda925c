package io.mooncake.core;

/** Wakes an agent that was not there yet when those who ring were made. Any thread. */
final class Doorbell implements Runnable {
    private volatile Runnable wakeup = () -> {};

    void connect(Runnable wakeup) {
        this.wakeup = wakeup;
    }

    @Override
    public void run() {
        wakeup.run();
    }
}
