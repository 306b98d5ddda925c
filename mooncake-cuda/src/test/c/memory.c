/* Memory of devices, pinned host memory, copies, handles for other processes. */
#include "emulation.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, ANY_DIRECTION };
enum { ALIGNMENT = 512, POISON = 0xDB };

struct range *ranges;

struct range *range_of(uint64_t address, size_t size) {
    for (struct range *r = ranges; r; r = r->next)
        if (address >= r->address && size <= r->size && address - r->address <= r->size - size)
            return r;
    return NULL;
}

struct range *range_at(void *address, enum range_kind kind) {
    for (struct range *r = ranges; r; r = r->next)
        if (r->address == (uint64_t)address && r->kind == kind)
            return r;
    return NULL;
}

struct range *add_range(enum range_kind kind, int device, uint64_t address, uint64_t size, char *shadow) {
    struct range *r = calloc(1, sizeof *r);
    *r = (struct range){ranges, kind, device, address, size, shadow};
    ranges = r;
    return r;
}

void remove_range(struct range *range) {
    struct range **link = &ranges;
    while (*link != range)
        link = &(*link)->next;
    *link = range->next;
    free(range);
}

static int is_in_a_window(uint64_t address) {
    for (int i = 0; i < MAX_DEVICES; i++)
        if (address >= devices[i].base && address < devices[i].base + WINDOW)
            return 1;
    return 0;
}

char *host_address(uint64_t address, size_t size, int *device, int *pinned) {
    char *host = (char *)address;
    *device = -1;
    pthread_mutex_lock(&global);
    struct range *r = range_of(address, size);
    *pinned = r != NULL;
    if (r && (r->kind == DEVICE_RANGE || r->kind == IPC_RANGE)) {
        host = r->shadow + (address - r->address);
        *device = r->device;
    } else if (!r && is_in_a_window(address)) {
        host = NULL;
    }
    pthread_mutex_unlock(&global);
    return host;
}

/* ---- allocating ---- */

API int cudaMalloc(void **out, size_t bytes) {
    ENTER();
    *out = NULL;
    if (!bytes)
        return SUCCESS;
    uint64_t size = (bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
    struct device *d = &devices[current_device];
    pthread_mutex_lock(&global);
    uint64_t at = (d->next_free + PAGE - 1) & ~(PAGE - 1);
    int fits = size >= bytes && size <= d->limit && in_use(d) <= d->limit - size && at + size + PAGE <= WINDOW;
    if (fits) {
        d->next_free = at + size + PAGE; /* a page between allocations belongs to nobody */
        d->used += size;
        add_range(DEVICE_RANGE, current_device, d->base + at, size, d->shadow + at);
        *out = (void *)(d->base + at);
        count(&statistics.allocations, 1);
    }
    pthread_mutex_unlock(&global);
    return answer(fits ? SUCCESS : OUT_OF_MEMORY);
}

/* The address is never used again; a page of it is poisoned for who reads on. */
void release_device_range(struct range *range) {
    struct device *d = &devices[range->device];
    memset(range->shadow, POISON, range->size < PAGE ? range->size : PAGE);
    pthread_mutex_lock(&global);
    fallocate(d->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(range->address - d->base),
              (off_t)range->size);
    d->used -= range->size;
    d->before = d->before < d->used ? d->before : d->used;
    remove_range(range);
    pthread_mutex_unlock(&global);
    count(&statistics.frees, 1);
}

/* The real one waits for the device; strict mode has the operation fail that came too late. */
API int cudaFree(void *address) {
    ENTER();
    if (!address)
        return SUCCESS;
    pthread_mutex_lock(&global);
    struct range *range = range_at(address, DEVICE_RANGE);
    int used = range && is_in_use(range);
    pthread_mutex_unlock(&global);
    if (!range)
        return answer(INVALID_VALUE);
    if (used) {
        count(&statistics.unsafe_frees, 1);
        if (!__atomic_load_n(&settings.strict, __ATOMIC_RELAXED))
            drain(range->device);
    }
    release_device_range(range);
    return answer(sticky(current_device));
}

API int cudaMallocAsync(void **out, size_t bytes, void *stream) {
    (void)stream;
    return cudaMalloc(out, bytes);
}

API int cudaFreeAsync(void *address, void *handle) {
    ENTER();
    struct stream *stream = stream_of(handle);
    pthread_mutex_lock(&global);
    struct range *range = range_at(address, DEVICE_RANGE);
    pthread_mutex_unlock(&global);
    if (!stream || !range)
        return answer(stream ? INVALID_VALUE : INVALID_HANDLE);
    struct op *op = new_op(FREE);
    op->to.address = (uint64_t)address;
    submit(stream, op);
    return SUCCESS;
}

API int cudaHostAlloc(void **out, size_t bytes, unsigned flags) {
    (void)flags;
    ENTER();
    void *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return answer(OUT_OF_MEMORY);
    pthread_mutex_lock(&global);
    add_range(HOST_ALLOCATED, current_device, (uint64_t)memory, bytes, memory);
    pthread_mutex_unlock(&global);
    *out = memory;
    return SUCCESS;
}

API int cudaMallocHost(void **out, size_t bytes) { return cudaHostAlloc(out, bytes, 0); }

API int cudaFreeHost(void *address) {
    ENTER();
    if (!address)
        return SUCCESS;
    for (int i = 0; i < device_count; i++)
        drain(i);
    pthread_mutex_lock(&global);
    struct range *range = range_at(address, HOST_ALLOCATED);
    uint64_t size = range ? range->size : 0;
    if (range)
        remove_range(range);
    pthread_mutex_unlock(&global);
    if (!range)
        return answer(INVALID_VALUE);
    munmap(address, size);
    return SUCCESS;
}

API int cudaHostRegister(void *address, size_t bytes, unsigned flags) {
    (void)flags;
    ENTER();
    if (!address || !bytes)
        return answer(INVALID_VALUE);
    int error = SUCCESS;
    pthread_mutex_lock(&global);
    for (struct range *r = ranges; r; r = r->next)
        if ((uint64_t)address < r->address + r->size && (uint64_t)address + bytes > r->address)
            error = HOST_REGISTERED;
    if (!error)
        add_range(HOST_PINNED, current_device, (uint64_t)address, bytes, address);
    pthread_mutex_unlock(&global);
    return answer(error);
}

API int cudaHostUnregister(void *address) {
    ENTER();
    pthread_mutex_lock(&global);
    struct range *range = range_at(address, HOST_PINNED);
    if (range)
        remove_range(range);
    pthread_mutex_unlock(&global);
    return answer(range ? SUCCESS : HOST_NOT_REGISTERED);
}

API int cudaHostGetDevicePointer(void **out, void *host, unsigned flags) {
    (void)flags;
    ENTER();
    int device, pinned;
    host_address((uint64_t)host, 1, &device, &pinned);
    if (!pinned || device >= 0)
        return answer(INVALID_VALUE);
    *out = host;
    return SUCCESS;
}

struct attributes {
    int type, device;
    void *device_pointer, *host_pointer;
    long reserved[8];
};

API int cudaPointerGetAttributes(struct attributes *out, const void *address) {
    ENTER();
    pthread_mutex_lock(&global);
    struct range *r = range_of((uint64_t)address, 1);
    int on_device = r && (r->kind == DEVICE_RANGE || r->kind == IPC_RANGE);
    out->type = !r ? 0 : on_device ? 2 : 1;
    out->device = r ? r->device : -2;
    out->device_pointer = r ? (void *)address : NULL;
    out->host_pointer = r && !on_device ? (void *)address : NULL;
    pthread_mutex_unlock(&global);
    return SUCCESS;
}

/* ---- copying ---- */

static int is_direction(int kind, int to_device, int from_device) {
    switch (kind) {
    case HOST_TO_HOST:
        return to_device < 0 && from_device < 0;
    case HOST_TO_DEVICE:
        return to_device >= 0 && from_device < 0;
    case DEVICE_TO_HOST:
        return to_device < 0 && from_device >= 0;
    case DEVICE_TO_DEVICE:
        return to_device >= 0 && from_device >= 0;
    default:
        return kind == ANY_DIRECTION;
    }
}

static int copy(struct op wanted, int kind, void *handle, int asynchronous) {
    ENTER_ON(device_of_stream(handle));
    if (!wanted.width || !wanted.height)
        return SUCCESS;
    struct stream *stream = stream_of(handle);
    if (!stream)
        return answer(INVALID_HANDLE);
    if (kind < HOST_TO_HOST || kind > ANY_DIRECTION)
        return answer(INVALID_DIRECTION);
    int to_device, from_device, to_pinned, from_pinned;
    size_t rows = wanted.height - 1;
    char *to = host_address(wanted.to.address, rows * wanted.to.pitch + wanted.width, &to_device, &to_pinned);
    char *from = host_address(wanted.from.address, rows * wanted.from.pitch + wanted.width, &from_device, &from_pinned);
    if (!to || !from || !is_direction(kind, to_device, from_device))
        return answer(INVALID_VALUE);
    struct op *op = new_op(COPY);
    op->to = wanted.to;
    op->from = wanted.from;
    op->width = wanted.width;
    op->height = wanted.height;
    uint64_t number = submit(stream, op);
    if (!to_pinned || !from_pinned) { /* pageable memory: returns only when it is done */
        count(&statistics.pageable, 1);
        asynchronous = 0;
    }
    if (asynchronous)
        return SUCCESS;
    wait_outside(stream, number);
    return answer(sticky(stream->device));
}

static struct op plain(void *to, const void *from, size_t bytes) {
    return (struct op){.to = {(uint64_t)to, 0}, .from = {(uint64_t)from, 0}, .width = bytes, .height = 1};
}

API int cudaMemcpy(void *to, const void *from, size_t bytes, int kind) {
    return copy(plain(to, from, bytes), kind, 0, 0);
}

API int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
    return copy(plain(to, from, bytes), kind, stream, 1);
}

API int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                          int kind, void *stream) {
    if (width > to_pitch || width > from_pitch)
        return answer(12 /* invalid pitch */);
    struct op op = {.to = {(uint64_t)to, to_pitch}, .from = {(uint64_t)from, from_pitch}, .width = width,
                    .height = height};
    return copy(op, kind, stream, 1);
}

API int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
    (void)to_device;
    (void)from_device;
    return copy(plain(to, from, bytes), DEVICE_TO_DEVICE, 0, 0);
}

API int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, void *stream) {
    if (to_device < 0 || from_device < 0 || to_device >= device_count || from_device >= device_count)
        return answer(INVALID_DEVICE);
    return copy(plain(to, from, bytes), DEVICE_TO_DEVICE, stream, 1);
}

API int cudaMemsetAsync(void *to, int value, size_t bytes, void *handle) {
    ENTER_ON(device_of_stream(handle));
    struct stream *stream = stream_of(handle);
    if (!stream)
        return answer(INVALID_HANDLE);
    int device, pinned;
    if (!host_address((uint64_t)to, bytes, &device, &pinned) || device < 0)
        return answer(INVALID_VALUE);
    struct op *op = new_op(SET);
    op->to.address = (uint64_t)to;
    op->value = value;
    op->width = bytes;
    op->height = 1;
    submit(stream, op);
    return SUCCESS;
}

API int cudaDeviceSynchronize(void);

API int cudaMemset(void *to, int value, size_t bytes) {
    int error = cudaMemsetAsync(to, value, bytes, 0);
    return error ? error : cudaDeviceSynchronize();
}

/* ---- handles for other processes: /proc/PID/fd/FILE, and where in it the whole allocation stands ---- */

struct ipc_handle {
    int process, file, device, unused;
    uint64_t offset, size;
    char rest[32];
};

API int cudaIpcGetMemHandle(struct ipc_handle *out, void *address) {
    ENTER();
    pthread_mutex_lock(&global);
    struct range *r = range_of((uint64_t)address, 1);
    int exportable = r && r->kind == DEVICE_RANGE;
    if (exportable)
        *out = (struct ipc_handle){getpid(), devices[r->device].file, r->device, 0,
                                   r->address - devices[r->device].base, r->size, {0}};
    pthread_mutex_unlock(&global);
    return answer(exportable ? SUCCESS : INVALID_VALUE);
}

API int cudaIpcOpenMemHandle(void **out, struct ipc_handle handle, unsigned flags) {
    (void)flags;
    ENTER();
    if (handle.process == getpid())
        return answer(UNINITIALIZED);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.process, handle.file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return answer(INVALID_HANDLE);
    char *shadow = mmap(0, handle.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)handle.offset);
    void *window = mmap(0, handle.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    close(file);
    if (shadow == MAP_FAILED || window == MAP_FAILED)
        return answer(INVALID_HANDLE);
    pthread_mutex_lock(&global);
    add_range(IPC_RANGE, current_device, (uint64_t)window, handle.size, shadow);
    pthread_mutex_unlock(&global);
    *out = window;
    return SUCCESS;
}

API int cudaIpcCloseMemHandle(void *address) {
    ENTER();
    drain(current_device);
    pthread_mutex_lock(&global);
    struct range *range = range_at(address, IPC_RANGE);
    struct range gone = range ? *range : (struct range){0};
    if (range)
        remove_range(range);
    pthread_mutex_unlock(&global);
    if (!range)
        return answer(INVALID_VALUE);
    munmap(gone.shadow, gone.size);
    munmap(address, gone.size);
    return SUCCESS;
}
