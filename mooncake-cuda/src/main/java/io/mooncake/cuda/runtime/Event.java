package io.mooncake.cuda.runtime;

import java.util.function.LongUnaryOperator;

/** A place in a stream, to be asked whether it has passed. Reusable; one thread at a time. */
public final class Event extends CudaObject {
    /**
     * An event that is nowhere yet.
     *
     * @param device whose streams it is recorded in
     * @param name for messages
     * @param timing whether {@link #nanosSince} is asked
     * @throws CudaException when the device has no more
     */
    public Event(Device device, String name, boolean timing) {
        super(device, name, "cudaEventCreateWithFlags", () -> device.runtime().createEvent(timing));
    }

    /**
     * Puts it behind what a stream has now. Called while the device is the thread's.
     *
     * @param stream of the same device
     * @throws CudaException when it was not queued
     */
    public void record(Stream stream) {
        record(stream.handle());
    }

    /**
     * The same in a stream of the user's.
     *
     * @param stream its handle; 0 = the default stream
     * @throws CudaException when there is no such stream
     */
    public void record(long stream) {
        int result = device.runtime().record(handle(), stream);
        if (result < 0) {
            device.check(result, "cudaEventRecord", this + ", stream 0x" + Long.toHexString(stream));
        }
    }

    /**
     * What a stream of the user's gets from now on begins when this has passed.
     *
     * @param stream its handle; 0 = the default stream
     * @throws CudaException when there is no such stream
     */
    public void holdUp(long stream) {
        device.check(device.runtime().waitFor(stream, handle()), "cudaStreamWaitEvent",
                "stream 0x" + Long.toHexString(stream) + ", " + this);
    }

    /**
     * Whether the stream has come so far.
     *
     * @return true also when it was never recorded
     * @throws CudaException when what was queued before it failed
     */
    public boolean hasPassed() {
        int result = device.runtime().query(handle());
        if (result == 0) {
            return true;
        }
        if (result != -CudaException.NOT_READY) {
            device.check(result, "cudaEventQuery", this);
        }
        return false;
    }

    /**
     * How long after another event it passed, by the device's clock.
     *
     * @param earlier of the same device; both with timing, both passed
     * @return nanoseconds
     * @throws CudaException when one has not passed
     */
    public long nanosSince(Event earlier) {
        return device.check(device.runtime().elapsedNs(earlier.handle(), handle()), "cudaEventElapsedTime",
                earlier + ", " + this);
    }

    @Override
    LongUnaryOperator destroy() {
        return device.runtime()::destroyEvent;
    }

    @Override
    String destroyCall() {
        return "cudaEventDestroy";
    }
}
