package io.mooncake.cuda.runtime;

import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One GPU as the runtime numbers it. Any thread; but what runs between {@link #enter} and {@link #leave} is one platform thread's: the runtime
 * keeps the chosen device for each thread of the system, and a virtual thread may change that where it blocks.
 *
 * <p>When a call fails with an error after which the device's context is gone, the device is <em>lost</em>, for good: every later use fails at
 * once, without a call.
 */
public final class Device {
    private final CudaRuntime runtime;
    private final int number;
    private final String pciBusId;
    private final AtomicReference<@Nullable CudaException> loss = new AtomicReference<>();

    /**
     * Looks at a device.
     *
     * @param runtime whose
     * @param number 0 and up
     * @throws CudaException when there is none
     */
    public Device(CudaRuntime runtime, int number) {
        this.runtime = runtime;
        this.number = number;
        int devices = (int) check(runtime.deviceCount(), "cudaGetDeviceCount", "");
        if (number < 0 || number >= devices) {
            throw new CudaException("cudaSetDevice", this + " of " + devices, 101, runtime.errorText(101));
        }
        pciBusId = runtime.pciBusId(number);
    }

    /**
     * The runtime's number of it.
     *
     * @return 0 and up
     */
    public int number() {
        return number;
    }

    /**
     * Where it is in the machine.
     *
     * @return for example {@code 0000:65:00.0}
     */
    public String pciBusId() {
        return pciBusId;
    }

    CudaRuntime runtime() {
        return runtime;
    }

    // ---- choosing

    /**
     * Makes it the calling thread's device.
     *
     * @return for {@link #leave}
     * @throws CudaException when the device is lost
     */
    public int enter() {
        requireUsable("cudaSetDevice");
        int before = (int) check(runtime.currentDevice(), "cudaGetDevice", this);
        if (before != number) {
            check(runtime.setDevice(number), "cudaSetDevice", this);
        }
        return before;
    }

    /**
     * Gives the calling thread the device back that it had.
     *
     * @param before what {@link #enter} answered
     */
    public void leave(int before) {
        if (before != number) {
            // The error of another device is not this one's, and who uses that one meets it there.
            runtime.setDevice(before);
        }
    }

    /**
     * Does something while the device is the thread's; what a virtual thread asks for is done by a platform thread, while it waits.
     *
     * @param work quick
     * @param <T> what it answers with
     * @return the same
     * @throws CudaException as the work; when the device is lost
     */
    public <T> T call(Supplier<T> work) {
        if (Thread.currentThread().isVirtual()) {
            return onPlatformThread(() -> call(work));
        }
        int before = enter();
        try {
            return work.get();
        } finally {
            leave(before);
        }
    }

    /** Rare, so the thread is made for it and ends with it: nothing has to be closed. */
    private static <T> T onPlatformThread(Supplier<T> work) {
        FutureTask<T> task = new FutureTask<>(work::get);
        Thread.ofPlatform().daemon().name("cuda-hand-over").start(task);
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return task.get();
                } catch (InterruptedException e) {
                    interrupted = true; // It is quick, and what it has begun must be known: the flag is set again.
                } catch (ExecutionException e) {
                    if (e.getCause() instanceof RuntimeException failure) {
                        throw failure;
                    }
                    if (e.getCause() instanceof Error failure) {
                        throw failure;
                    }
                    throw new AssertionError("a supplier has no checked exception", e);
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    // ---- being lost

    /**
     * Why the device is lost.
     *
     * @return the first error that said so; null while it works
     */
    public @Nullable CudaException loss() {
        return loss.get();
    }

    /**
     * That it is lost, as users are told.
     *
     * @return DEVICE_LOST, with the reason
     */
    public MooncakeException lossForUsers() {
        CudaException lost = loss.get();
        return new MooncakeException(Kind.DEVICE_LOST,
                this + " is lost" + (lost == null ? "" : ": " + lost.getMessage()), lost);
    }

    /**
     * Refuses to go on with a lost device.
     *
     * @param use what was about to be done
     * @throws CudaException when it is lost
     */
    public void requireUsable(String use) {
        CudaException lost = loss.get();
        if (lost != null) {
            throw new CudaException(use + "(" + this + ")", lost);
        }
    }

    /**
     * Gives the device up: it is not known any more what it is doing.
     *
     * @param why what failed; the first reason counts
     */
    public void lose(CudaException why) {
        loss.compareAndSet(null, why);
    }

    /**
     * Looks at what a call answered.
     *
     * @param result 0 or more, or the negated error
     * @param call its name
     * @param arguments of what, for the message
     * @return the result, not negative
     * @throws CudaException for an error, after which the device may be lost
     */
    public long check(long result, String call, Object arguments) {
        if (result >= 0) {
            return result;
        }
        int code = (int) -result;
        CudaException error = new CudaException(call, arguments.toString(), code, runtime.errorText(code));
        if (error.isFatal()) {
            loss.compareAndSet(null, error);
        }
        throw error;
    }

    // ---- what it says of itself

    /**
     * Memory that nobody has.
     *
     * @return bytes
     * @throws CudaException when the device is lost
     */
    public long freeBytes() {
        return call(() -> check(runtime.freeBytes(), "cudaMemGetInfo", this));
    }

    /**
     * Memory that it has.
     *
     * @return bytes
     * @throws CudaException when the device is lost
     */
    public long totalBytes() {
        return call(() -> check(runtime.totalBytes(), "cudaMemGetInfo", this));
    }

    /**
     * One of its attributes.
     *
     * @param attribute the runtime's number of it
     * @return the value; -1 where the runtime does not know it
     */
    public int attribute(int attribute) {
        return Math.max(-1, runtime.attribute(attribute, number));
    }

    /**
     * Whether it can read and write another one's memory by itself.
     *
     * @param peer whose
     * @return false also when the runtime does not say
     */
    public boolean canAccess(Device peer) {
        return peer.number != number && runtime.canAccessPeer(number, peer.number) > 0;
    }

    /**
     * Lets it read and write another one's memory by itself. The second time does nothing.
     *
     * @param peer whose
     * @throws CudaException when it can't
     */
    public void enableAccess(Device peer) {
        call(() -> {
            int result = runtime.enablePeer(peer.number);
            return result == -CudaException.PEER_ALREADY_ENABLED
                    ? 0
                    : check(result, "cudaDeviceEnablePeerAccess", this + " to " + peer);
        });
    }

    /**
     * Has its kernels see what network cards wrote into its memory before.
     *
     * @throws CudaException when the device is lost
     */
    public void flushWrites() {
        call(() -> check(runtime.flushWrites(), "cudaDeviceFlushGPUDirectRDMAWrites", this));
    }

    @Override
    public String toString() {
        return "device " + number;
    }
}
