/*
 * The little of the driver's library that is bound beside the runtime, over the same devices: dma-bufs.
 *
 * A descriptor is a memory file of its own in which stands what it was made of. A network card's double resolves it while it is open, as a card's driver
 * does when memory is registered, and keeps what it got.
 */
#include "emulation.h"

#include <sys/syscall.h>
#include <unistd.h>

enum { DMA_BUF = 1, ATTRIBUTE_DMA_BUF = 124, NOT_SUPPORTED = 801 };

struct dma_buf {
    uint64_t address, size;
};

static int without_dma_bufs; /* atomic */

API int cuInit(unsigned flags) { return flags ? INVALID_VALUE : SUCCESS; }

API int cuDeviceGet(int *device, int ordinal) {
    ENTER();
    if (ordinal < 0 || ordinal >= device_count)
        return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

API int cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER();
    if (device < 0 || device >= device_count)
        return INVALID_DEVICE;
    *value = attribute == ATTRIBUTE_DMA_BUF && !__atomic_load_n(&without_dma_bufs, __ATOMIC_RELAXED);
    return SUCCESS;
}

/* Whole pages of the host, of one allocation; its last page may go on behind it. */
API int cuMemGetHandleForAddressRange(void *handle, uint64_t address, size_t size, int type, unsigned long long flags) {
    ENTER();
    if (type != DMA_BUF || flags || !size || address % PAGE || size % PAGE)
        return INVALID_VALUE;
    if (__atomic_load_n(&without_dma_bufs, __ATOMIC_RELAXED))
        return NOT_SUPPORTED;
    pthread_mutex_lock(&global);
    struct range *range = range_of(address, 1);
    int whole = range && range->kind == DEVICE_RANGE && address + size <= range->address + ((range->size + PAGE - 1) & ~(PAGE - 1));
    pthread_mutex_unlock(&global);
    if (!whole)
        return INVALID_VALUE;
    struct dma_buf made = {address, size};
    int fd = (int)syscall(SYS_memfd_create, "emulated-dma-buf", 1 /* close on exec */);
    if (fd < 0 || write(fd, &made, sizeof made) != sizeof made)
        return OUT_OF_MEMORY;
    *(int *)handle = fd;
    return SUCCESS;
}

API int cuGetErrorName(int error, const char **name) {
    *name = error == NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED" : error == INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_UNKNOWN";
    return SUCCESS;
}

/* ---- for tests ---- */

API void emulationWithoutDmaBufs(int without) { __atomic_store_n(&without_dma_bufs, without, __ATOMIC_RELAXED); }

/* Where the bytes of a dma-buf stand, for a network card's double; null when the descriptor is none, or is closed, or the offsets are not in it. */
API void *emulationResolve(int fd, uint64_t offset, uint64_t size) {
    struct dma_buf of;
    if (pread(fd, &of, sizeof of, 0) != sizeof of || offset > of.size || size > of.size - offset)
        return 0;
    int device, pinned;
    return host_address(of.address + offset, 1, &device, &pinned);
}
