package io.mooncake.cuda;

import io.mooncake.cuda.runtime.CudaDriver;
import io.mooncake.cuda.runtime.CudaException;
import io.mooncake.cuda.runtime.Device;
import io.mooncake.cuda.runtime.DeviceMemory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How network cards get at a device's memory, found out when the device is opened.
 *
 * <pre>
 *   dma-buf      the driver gives a descriptor, which the card's driver is told of        needs nothing else; the first choice
 *   peer memory  the card's driver knows the device's addresses                           needs the module nvidia_peermem
 *   none         blocks go by host memory
 * </pre>
 *
 * @param way which
 * @param flushes whether what a card wrote has to be flushed before the device's kernels see it
 * @param reason in words: why no better one
 */
record CardWay(Way way, boolean flushes, String reason) {
    enum Way {
        DMA_BUF, PEER_MEMORY, NONE
    }

    /** What a pool is told of cannot be less than a page of any host; the probe is of a size that gets pages of its own. */
    private static final long PROBE_BYTES = 2L << 20;
    private static final int DIRECT_RDMA_SUPPORTED = 116;
    private static final int FLUSH_OPTIONS = 117;
    private static final int WRITES_ORDERING = 118;
    private static final int FLUSHED_BY_HOST = 1;
    private static final int ORDERED_FOR_ALL = 200;
    private static final List<String> PEER_MODULES = List.of("nvidia_peermem", "nv_peer_mem");

    /** Asks a device. A card's writes must be seen by each device that reads there, so less than an order for all is none. */
    static CardWay of(Device device, CudaDriver driver, Path modules) {
        boolean ordered = device.attribute(WRITES_ORDERING) >= ORDERED_FOR_ALL;
        int options = device.attribute(FLUSH_OPTIONS);
        boolean flushable = options > 0 && (options & FLUSHED_BY_HOST) != 0;
        if (!ordered && !flushable) {
            return new CardWay(Way.NONE, false, "what cards write there cannot be flushed");
        }
        String noDmaBuf = noDmaBuf(device, driver);
        boolean peerMemory = device.attribute(DIRECT_RDMA_SUPPORTED) > 0 && hasPeerMemory(modules);
        return choose(!ordered, noDmaBuf, peerMemory);
    }

    /** The choice itself. */
    static CardWay choose(boolean flushes, @Nullable String noDmaBuf, boolean peerMemory) {
        if (noDmaBuf == null) {
            return new CardWay(Way.DMA_BUF, flushes, "the driver gives descriptors");
        }
        return peerMemory
                ? new CardWay(Way.PEER_MEMORY, flushes, "nvidia_peermem is loaded; no dma-buf: " + noDmaBuf)
                : new CardWay(Way.NONE, false,
                        "no dma-buf: " + noDmaBuf + "; no peer memory: nvidia_peermem is not loaded");
    }

    private static boolean hasPeerMemory(Path modules) {
        return PEER_MODULES.stream().anyMatch(module -> Files.isDirectory(modules.resolve(module)));
    }

    private static @Nullable String noDmaBuf(Device device, CudaDriver driver) {
        String failure = driver.failure();
        if (failure != null) {
            return failure;
        }
        int supported = driver.takesDmaBufs(device.number());
        if (supported <= 0) {
            return supported == 0
                    ? "the driver says that " + device + " has none (an older kernel, or not its open modules)"
                    : "cuDeviceGetAttribute: " + driver.errorText(-supported);
        }
        try (DeviceMemory memory = new DeviceMemory(device, PROBE_BYTES)) {
            int fd = device.call(() -> driver.dmaBuf(memory.address(), PROBE_BYTES));
            if (fd < 0) {
                return "cuMemGetHandleForAddressRange: " + driver.errorText(-fd);
            }
            driver.close(fd);
            return null;
        } catch (CudaException e) {
            return e.getMessage();
        }
    }

    @Override
    public String toString() {
        return switch (way) {
            case DMA_BUF -> "network cards reach it by dma-buf" + (flushes ? ", flushed after writes" : "");
            case PEER_MEMORY ->
                "network cards reach it by peer memory" + (flushes ? ", flushed after writes (" : " (") + reason + ")";
            case NONE -> "network cards do not reach it (" + reason + ")";
        };
    }
}
