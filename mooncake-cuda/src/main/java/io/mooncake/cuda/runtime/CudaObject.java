package io.mooncake.cuda.runtime;

import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;

/**
 * An object of the runtime with its owner's duties: closed by whoever made it, once. There is no finalizer: what is not closed stays until
 * the process ends. Closing is for any thread; a second close does nothing. Of a lost device nothing is given back, there is nothing left.
 */
abstract sealed class CudaObject implements AutoCloseable permits Stream, Event, DeviceMemory, PinnedMemory,
        ImportedMemory, HostPin {
    final Device device;
    private final String name;
    private final long handle;
    private volatile boolean closed;

    /**
     * Makes the object while the device is the thread's.
     *
     * @param call the call's name, for the error
     * @param make answers with the handle or the negated error
     */
    CudaObject(Device device, String name, String call, LongSupplier make) {
        this.device = device;
        this.name = name + " of " + device;
        handle = device.call(() -> device.check(make.getAsLong(), call, this.name));
    }

    final long handle() {
        if (closed) {
            throw new IllegalStateException(name + " is closed");
        }
        return handle;
    }

    /** Gives a handle back; 0 or the negated error. */
    abstract LongUnaryOperator destroy();

    abstract String destroyCall();

    /** Before anything is given back: ends what Java has of it, or throws when that is in use. */
    void releaseHost() {}

    /**
     * Whether it was closed.
     *
     * @return true from the first close on
     */
    public final boolean isClosed() {
        return closed;
    }

    @Override
    public final void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            releaseHost();
            closed = true;
        }
        if (device.loss() != null) {
            return;
        }
        device.call(() -> device.check(destroy().applyAsLong(handle), destroyCall(), name));
    }

    @Override
    public final String toString() {
        return name;
    }
}
