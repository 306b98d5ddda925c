package io.mooncake.cuda.runtime;

import io.mooncake.cuda.runtime.CudaRuntime.Rows;
import java.util.function.LongUnaryOperator;

/**
 * A queue of copies on one device, which the default stream does not hold up. Every method but {@link #synchronize} returns at once, as far as host
 * memory is pinned; called while the device is the thread's.
 */
public final class Stream extends CudaObject {
    /**
     * A stream.
     *
     * @param device whose
     * @param name for messages
     * @param priority lower numbers go first; 0 = the least urgent
     * @throws CudaException when the device has no more
     */
    public Stream(Device device, String name, int priority) {
        super(device, name, "cudaStreamCreateWithPriority", () -> device.runtime().createStream(priority));
    }

    /**
     * Queues a copy.
     *
     * @param to where to, of the device or pinned
     * @param from where from, of the device or pinned
     * @param bytes how many
     * @throws CudaException when it was not queued
     */
    public void copy(long to, long from, long bytes) {
        int result = device.runtime().copy(to, from, bytes, handle());
        if (result < 0) {
            device.check(result, "cudaMemcpyAsync", bytes + " bytes in " + this);
        }
    }

    /**
     * Queues a copy of rows.
     *
     * @param rows what
     * @throws CudaException when it was not queued
     */
    public void copy(Rows rows) {
        int result = device.runtime().copyRows(rows, handle());
        if (result < 0) {
            device.check(result, "cudaMemcpy2DAsync", rows + " in " + this);
        }
    }

    /**
     * Queues filling memory with one byte.
     *
     * @param to device memory
     * @param value the byte
     * @param bytes how many
     * @throws CudaException when it was not queued
     */
    public void fill(long to, int value, long bytes) {
        device.check(device.runtime().fill(to, value, bytes, handle()), "cudaMemsetAsync",
                bytes + " bytes in " + this);
    }

    /**
     * What is queued from now on begins when an event has passed.
     *
     * @param event recorded before, also on another device
     * @throws CudaException when it was not queued
     */
    public void waitFor(Event event) {
        device.check(device.runtime().waitFor(handle(), event.handle()), "cudaStreamWaitEvent", this + ", " + event);
    }

    /**
     * Blocks until everything queued is done.
     *
     * @throws CudaException when something of it failed
     */
    public void synchronize() {
        device.check(device.runtime().synchronize(handle()), "cudaStreamSynchronize", this);
    }

    @Override
    LongUnaryOperator destroy() {
        return device.runtime()::destroyStream;
    }

    @Override
    String destroyCall() {
        return "cudaStreamDestroy";
    }
}
