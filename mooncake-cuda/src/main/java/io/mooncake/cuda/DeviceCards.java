package io.mooncake.cuda;

import io.mooncake.core.base.CardAccess;
import io.mooncake.core.base.MooncakeException;
import io.mooncake.core.base.MooncakeException.Kind;
import io.mooncake.cuda.CardWay.Way;
import io.mooncake.cuda.runtime.CudaDriver;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.Device;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * How network cards get at one piece of a device's memory. A descriptor stands for whole pages of the host: it may begin before the memory, and end
 * behind it, and offsets in it are those of addresses, not of the memory.
 */
final class DeviceCards implements CardAccess {

    private final Device device;
    private final CudaDriver driver;
    private final CardWay way;
    private final long start;
    private final long bytes;

    private DeviceCards(Device device, CudaDriver driver, CardWay way, long address, long bytes) {
        this.device = device;
        this.driver = driver;
        this.way = way;
        long page = way.way() == Way.DMA_BUF ? driver.pageSize() : 1;
        start = address & -page;
        this.bytes = (address + bytes + page - 1 & -page) - start;
    }

    /** Null where cards get at nothing of the device. */
    static @Nullable DeviceCards of(Device device, CudaDriver driver, CardWay way, long address, long bytes) {
        return way.way() == Way.NONE ? null : new DeviceCards(device, driver, way, address, bytes);
    }

    @Override
    public @Nullable DmaBuf open() {
        if (way.way() == Way.PEER_MEMORY) {
            return null;
        }
        try {
            int fd = device.call(() -> driver.dmaBuf(start, bytes));
            if (fd < 0) {
                throw new MooncakeException(Kind.UNSUPPORTED, device + ": no dma-buf of " + bytes + " bytes at 0x"
                        + Long.toHexString(start) + ": cuMemGetHandleForAddressRange: " + driver.errorText(-fd));
            }
            return new Descriptor(driver, fd, start);
        } catch (CudaException e) {
            throw e.asMooncake();
        }
    }

    @Override
    public void makeVisible() {
        try {
            if (way.flushes()) {
                device.flushWrites();
            } else {
                device.requireUsable("to be seen");
            }
        } catch (CudaException e) {
            throw e.asMooncake();
        }
    }

    private static final class Descriptor implements DmaBuf {
        private final CudaDriver driver;
        private final int fd;
        private final long start;
        private final AtomicBoolean closed = new AtomicBoolean();

        Descriptor(CudaDriver driver, int fd, long start) {
            this.driver = driver;
            this.fd = fd;
            this.start = start;
        }

        @Override
        public int fd() {
            return fd;
        }

        @Override
        public long start() {
            return start;
        }

        @Override
        public void close() {
            if (closed.compareAndSet(false, true)) {
                driver.close(fd);
            }
        }
    }
}
