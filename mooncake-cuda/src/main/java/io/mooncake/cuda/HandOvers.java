package io.mooncake.cuda;

import io.mooncake.core.base.Memory;
import io.mooncake.core.base.Memory.DeviceMemory;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.core.base.Stream;
import io.mooncake.core.pool.StreamOrder;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.Device;
import io.mooncake.cuda.runtime.Event;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.IntPredicate;

/**
 * Puts copies into the order of the user's streams, on the caller's thread, before the call returns.
 *
 * <pre>
 *   user's stream S   ── kernel ──e1─────────── waits for e2 ── what S gets next
 *                                  │                 │
 *   own stream        waits for e1 ┴── copy ──e2─────┘          the host asks for e2 before the block is written
 * </pre>
 *
 * <p>Each that is under way has a stream and two events of its own, so that none waits for the kernels of another's stream; they are used again.
 * Any thread; virtual threads are led over a platform thread of the device's, since the runtime keeps the chosen device for each thread.
 */
final class HandOvers implements StreamOrder, AutoCloseable {
    private static final long POLL_NS = 20_000;

    private final Device device;
    private final HostPins pins;
    private final long base;
    private final IntPredicate peers;
    private final ConcurrentLinkedDeque<HandOver> idle = new ConcurrentLinkedDeque<>();
    private final ConcurrentLinkedDeque<HandOver> all = new ConcurrentLinkedDeque<>();

    /** Devices that answer the last one read this one's memory in place. */
    HandOvers(Device device, HostPins pins, long base, IntPredicate peers) {
        this.device = device;
        this.peers = peers;
        this.pins = pins;
        this.base = base;
    }

    @Override
    public void write(long offset, Memory source) {
        if (source instanceof DeviceMemory) {
            throw new MooncakeException(Kind.UNSUPPORTED, source
                    + " is written by some stream: name that one, write(offset, source, stream), so that the copy comes after it");
        }
        inOrder(taken -> {
            taken.stream.copy(base + offset, source.address(), source.length());
            taken.done.record(taken.stream);
        }).await();
    }

    @Override
    public Work write(long offset, Memory source, Stream stream) {
        if (!(source instanceof DeviceMemory) && !pins.contains(source.address(), source.length())) {
            throw new MooncakeException(Kind.UNSUPPORTED, "host memory at 0x" + Long.toHexString(source.address())
                    + " is not pinned: the copy would block the caller until the stream has come so far;"
                    + " pin it with CudaDevices.pin(), or write without a stream");
        }
        return inOrder(taken -> {
            taken.begun.record(stream.handle());
            taken.stream.waitFor(taken.begun);
            taken.stream.copy(base + offset, source.address(), source.length());
            taken.done.record(taken.stream);
            taken.done.holdUp(stream.handle());
        });
    }

    @Override
    public Work mark(Stream stream) {
        return inOrder(taken -> taken.done.record(stream.handle()));
    }

    @Override
    public boolean isAddressableOn(int other) {
        return peers.test(other);
    }

    /** While the device is the thread's; whatever was begun when something fails has ended when this throws. */
    private Work inOrder(Consumer<HandOver> steps) {
        try {
            return device.call(() -> {
                HandOver taken = take();
                try {
                    steps.accept(taken);
                    return taken;
                } catch (CudaException e) {
                    taken.settle(e);
                    throw e;
                }
            });
        } catch (CudaException e) {
            throw e.asMooncake();
        }
    }

    private HandOver take() {
        HandOver taken = idle.poll();
        if (taken == null) {
            taken = new HandOver(all.size());
            all.add(taken);
        }
        return taken;
    }

    /** When nothing is under way any more. */
    @Override
    public void close() {
        for (HandOver made; (made = all.poll()) != null;) {
            made.close();
        }
    }

    /** One copy or mark that is under way. */
    private final class HandOver implements Work {
        final io.mooncake.cuda.runtime.Stream stream;
        final Event begun;
        final Event done;

        HandOver(int number) {
            String name = "hand-over " + number;
            stream = new io.mooncake.cuda.runtime.Stream(device, name, 0);
            begun = new Event(device, "begin of " + name, false);
            done = new Event(device, "end of " + name, false);
        }

        @Override
        public boolean hasEnded() {
            if (device.loss() == null) {
                try {
                    if (!done.hasPassed()) {
                        return false;
                    }
                } catch (CudaException e) {
                    device.lose(e);
                }
            }
            if (device.loss() == null) {
                idle.add(this);
            }
            return true;
        }

        @Override
        public void await() {
            while (!hasEnded()) {
                LockSupport.parkNanos(this, POLL_NS);
            }
            if (device.loss() != null) {
                throw device.lossForUsers();
            }
        }

        /** Something of it may have been queued: waits for that. Of the user's stream nothing but an event was asked. */
        void settle(CudaException why) {
            if (device.loss() != null) {
                return;
            }
            try {
                stream.synchronize();
                idle.add(this);
            } catch (CudaException e) {
                e.addSuppressed(why);
                device.lose(e);
            }
        }

        void close() {
            stream.close();
            begun.close();
            done.close();
        }
    }
}
