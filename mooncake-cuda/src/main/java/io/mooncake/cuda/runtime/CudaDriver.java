package io.mooncake.cuda.runtime;

import org.jspecify.annotations.Nullable;

/**
 * The little that is needed of the CUDA driver's own library, which need not be there: see {@link #failure}. Like {@link CudaRuntime} the seam at which
 * tests put failures in between; calls answer with 0 or more, or with the negated error code. Any thread.
 */
public interface CudaDriver {
    /**
     * Why there is none.
     *
     * @return one sentence; null when the calls may be made
     */
    @Nullable
    String failure();

    /**
     * {@code cuDeviceGetAttribute} of {@code CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED}.
     *
     * @param device the runtime's number of it
     * @return 1 or 0
     */
    int takesDmaBufs(int device);

    /**
     * {@code cuMemGetHandleForAddressRange} for a dma-buf.
     *
     * @param address device memory, from a page of the host's on
     * @param bytes whole pages of the host's
     * @return a file descriptor, the caller's
     */
    int dmaBuf(long address, long bytes);

    /**
     * {@code close(2)}.
     *
     * @param fd from {@link #dmaBuf}
     */
    void close(int fd);

    /**
     * {@code getpagesize(2)}.
     *
     * @return bytes of a page of the host
     */
    int pageSize();

    /**
     * {@code cuGetErrorName}.
     *
     * @param code positive
     * @return for example {@code CUDA_ERROR_NOT_SUPPORTED (801)}
     */
    String errorText(int code);
}
