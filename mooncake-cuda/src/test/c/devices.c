/* Devices, errors, and what only tests call. */
#include "emulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

pthread_mutex_t global = PTHREAD_MUTEX_INITIALIZER;
struct device devices[MAX_DEVICES];
int device_count = 2;
struct settings settings = {.copies_until_failure = -1, .calls_until_failure = -1};
struct statistics statistics;
__thread int current_device;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread int last_error;
static int writes_ordered; /* atomic */

enum { DEFAULT_MEMORY_MB = 1024, ATTRIBUTE_MAX_THREADS = 1, ATTRIBUTE_CAN_MAP_HOST = 19, ATTRIBUTE_PCI_BUS = 33,
       ATTRIBUTE_ASYNC_ENGINES = 40, ATTRIBUTE_UNIFIED_ADDRESSING = 41, ATTRIBUTE_MAJOR = 75,
       ATTRIBUTE_DIRECT_RDMA = 116, ATTRIBUTE_RDMA_FLUSH_OPTIONS = 117, ATTRIBUTE_RDMA_WRITES_ORDERING = 118 };

static void make_devices(void) {
    for (int i = 0; i < MAX_DEVICES; i++) {
        struct device *d = &devices[i];
        pthread_rwlock_init(&d->copying, 0);
        d->limit = (uint64_t)DEFAULT_MEMORY_MB << 20;
        d->base = (uint64_t)mmap((void *)(0x7a0000000000ull + (uint64_t)i * WINDOW), WINDOW, PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        d->file = (int)syscall(SYS_memfd_create, "emulated-device", 1 /* close on exec */);
        if (d->file < 0 || ftruncate(d->file, (off_t)WINDOW))
            abort();
        d->shadow = mmap(0, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, d->file, 0);
        if (d->shadow == MAP_FAILED || (void *)d->base == MAP_FAILED)
            abort();
    }
}

void count(uint64_t *counter, uint64_t by) { __atomic_add_fetch(counter, by, __ATOMIC_RELAXED); }

int sticky(int device) { return __atomic_load_n(&devices[device].sticky, __ATOMIC_ACQUIRE); }

/* Waits for copies that are landing just now. */
void stick(int device, int error) {
    pthread_rwlock_wrlock(&devices[device].copying);
    __atomic_store_n(&devices[device].sticky, error, __ATOMIC_RELEASE);
    pthread_rwlock_unlock(&devices[device].copying);
}

static void unstick(int device) { __atomic_store_n(&devices[device].sticky, SUCCESS, __ATOMIC_RELEASE); }

/* Errors after which a context is lost. */
static int is_fatal(int error) { return error == ILLEGAL_ADDRESS || error == LAUNCH_FAILURE; }

int begin(int device) {
    pthread_once(&once, make_devices);
    count(&statistics.calls, 1);
    if (!device_count)
        return NO_DEVICE;
    if (sticky(device))
        return sticky(device);
    if (__atomic_load_n(&settings.calls_until_failure, __ATOMIC_ACQUIRE) >= 0 &&
        __atomic_sub_fetch(&settings.calls_until_failure, 1, __ATOMIC_ACQ_REL) == -1) {
        if (is_fatal(settings.call_error))
            stick(device, settings.call_error);
        return settings.call_error;
    }
    return SUCCESS;
}

int answer(int error) {
    if (error && error != NOT_READY)
        last_error = error;
    return error;
}

static int is_device(int device) { return device >= 0 && device < device_count; }

API int cudaRuntimeGetVersion(int *version) {
    *version = 13000;
    return SUCCESS;
}

API int cudaDriverGetVersion(int *version) {
    *version = 13000;
    return SUCCESS;
}

API int cudaGetDeviceCount(int *number) {
    pthread_once(&once, make_devices);
    *number = device_count;
    return device_count ? SUCCESS : answer(NO_DEVICE);
}

API int cudaGetDevice(int *device) {
    pthread_once(&once, make_devices);
    *device = current_device;
    return SUCCESS;
}

API int cudaSetDevice(int device) {
    pthread_once(&once, make_devices);
    if (!is_device(device))
        return answer(INVALID_DEVICE);
    current_device = device;
    return answer(sticky(device));
}

API int cudaDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER();
    if (!is_device(device))
        return answer(INVALID_DEVICE);
    switch (attribute) {
    case ATTRIBUTE_MAX_THREADS:
        *value = 1024;
        break;
    case ATTRIBUTE_MAJOR:
        *value = 9;
        break;
    case ATTRIBUTE_PCI_BUS:
        *value = device + 1;
        break;
    case ATTRIBUTE_ASYNC_ENGINES:
        *value = 2;
        break;
    case ATTRIBUTE_CAN_MAP_HOST:
    case ATTRIBUTE_UNIFIED_ADDRESSING:
    case ATTRIBUTE_DIRECT_RDMA:
    case ATTRIBUTE_RDMA_FLUSH_OPTIONS:
        *value = 1;
        break;
    case ATTRIBUTE_RDMA_WRITES_ORDERING:
        *value = __atomic_load_n(&writes_ordered, __ATOMIC_RELAXED);
        break;
    default:
        *value = 0;
    }
    return SUCCESS;
}

API int cudaDeviceGetPCIBusId(char *text, int length, int device) {
    ENTER();
    if (!is_device(device))
        return answer(INVALID_DEVICE);
    snprintf(text, (size_t)length, "0000:%02x:00.0", device + 1);
    return SUCCESS;
}

API int cudaDeviceGetByPCIBusId(int *device, const char *text) {
    ENTER();
    unsigned domain, bus;
    if (sscanf(text, "%x:%x:", &domain, &bus) != 2 || bus < 1 || (int)bus > device_count)
        return answer(INVALID_VALUE);
    *device = (int)bus - 1;
    return SUCCESS;
}

API int cudaMemGetInfo(size_t *available, size_t *total) {
    ENTER();
    pthread_mutex_lock(&global);
    *available = devices[current_device].limit - in_use(&devices[current_device]);
    *total = devices[current_device].limit;
    pthread_mutex_unlock(&global);
    return SUCCESS;
}

API int cudaDeviceSynchronize(void) {
    ENTER();
    drain(current_device);
    return answer(sticky(current_device));
}

API int cudaDeviceReset(void) {
    pthread_once(&once, make_devices);
    drain(current_device);
    unstick(current_device);
    last_error = SUCCESS;
    return SUCCESS;
}

API int cudaDeviceFlushGPUDirectRDMAWrites(int target, int scope) {
    (void)target;
    (void)scope;
    ENTER();
    count(&statistics.flushes, 1);
    return SUCCESS;
}

API int cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    ENTER();
    if (!is_device(device) || !is_device(peer))
        return answer(INVALID_DEVICE);
    pthread_mutex_lock(&global);
    *can = device != peer && !(devices[device].cannot & 1 << peer);
    pthread_mutex_unlock(&global);
    return SUCCESS;
}

API int cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    ENTER();
    if (flags)
        return answer(INVALID_VALUE);
    int error = SUCCESS;
    pthread_mutex_lock(&global);
    struct device *d = &devices[current_device];
    if (!is_device(peer) || peer == current_device || d->cannot & 1 << peer)
        error = INVALID_DEVICE;
    else if (d->peers & 1 << peer)
        error = PEER_ALREADY_ON;
    else
        d->peers |= 1 << peer;
    pthread_mutex_unlock(&global);
    return answer(error);
}

API int cudaDeviceDisablePeerAccess(int peer) {
    ENTER();
    pthread_mutex_lock(&global);
    struct device *d = &devices[current_device];
    int on = is_device(peer) && d->peers & 1 << peer;
    d->peers &= on ? ~(1 << peer) : ~0;
    pthread_mutex_unlock(&global);
    return answer(on ? SUCCESS : PEER_OFF);
}

/* ---- errors ---- */

API int cudaGetLastError(void) {
    int error = sticky(current_device) ? sticky(current_device) : last_error;
    last_error = SUCCESS;
    return error;
}

API int cudaPeekAtLastError(void) { return sticky(current_device) ? sticky(current_device) : last_error; }

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {SUCCESS, "cudaSuccess", "no error"},
    {INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
    {OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
    {INVALID_DIRECTION, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {UNINITIALIZED, "cudaErrorDeviceUninitialized", "invalid device context"},
    {INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {NOT_READY, "cudaErrorNotReady", "device not ready"},
    {ILLEGAL_ADDRESS, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {PEER_ALREADY_ON, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {PEER_OFF, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {HOST_REGISTERED, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {HOST_NOT_REGISTERED, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {LAUNCH_FAILURE, "cudaErrorLaunchFailure", "unspecified launch failure"},
};

API const char *cudaGetErrorName(int error) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == error)
            return errors[i].name;
    return "unrecognized error code";
}

API const char *cudaGetErrorString(int error) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == error)
            return errors[i].text;
    return "unrecognized error code";
}

/* ---- for tests ---- */

/* As at first: real time, no delay, no error to come, none that sticks, every peer reachable, strict mode off. */
API void emulationReset(int number) {
    pthread_once(&once, make_devices);
    pthread_mutex_lock(&global);
    device_count = number;
    settings = (struct settings){.copies_until_failure = -1, .calls_until_failure = -1};
    for (int i = 0; i < MAX_DEVICES; i++) {
        devices[i].limit = (uint64_t)DEFAULT_MEMORY_MB << 20;
        devices[i].cannot = devices[i].peers = 0;
        devices[i].before = devices[i].used;
        unstick(i);
    }
    for (struct range *r = ranges, *next; r; r = next) { /* pinned for a device that was lost, which unpins nothing */
        next = r->next;
        if (r->kind == HOST_PINNED)
            remove_range(r);
    }
    pthread_mutex_unlock(&global);
    emulationClock(0);
    emulationWithoutDmaBufs(0);
    writes_ordered = 0;
    last_error = SUCCESS;
}

/* Whether kernels see what cards wrote without a flush. */
API void emulationOrderWrites(int scope) { __atomic_store_n(&writes_ordered, scope, __ATOMIC_RELAXED); }

API void emulationMemory(int device, long bytes) {
    pthread_mutex_lock(&global);
    devices[device].limit = (uint64_t)bytes;
    pthread_mutex_unlock(&global);
}

/* Each operation takes so long from now on; 0 bytes per microsecond = any number. */
API void emulationDelay(long latency_us, long bytes_per_us) {
    __atomic_store_n(&settings.latency_us, latency_us, __ATOMIC_RELAXED);
    __atomic_store_n(&settings.bytes_per_us, bytes_per_us, __ATOMIC_RELAXED);
}

/* Freeing what a queued operation still uses is that operation's error, instead of waiting for it. */
API void emulationStrict(int on) { __atomic_store_n(&settings.strict, on, __ATOMIC_RELAXED); }

API void emulationNoPeer(int device, int peer) {
    pthread_mutex_lock(&global);
    devices[device].cannot |= 1 << peer;
    pthread_mutex_unlock(&global);
}

/* After so many more copies one ends with an error, which sticks. */
API void emulationFailCopy(long after, int error) {
    settings.copy_error = error;
    __atomic_store_n(&settings.copies_until_failure, after, __ATOMIC_RELEASE);
}

/* After so many more calls one answers with an error; it sticks where it is one that loses the context. */
API void emulationFailCall(long after, int error) {
    settings.call_error = error;
    __atomic_store_n(&settings.calls_until_failure, after, __ATOMIC_RELEASE);
}

/* Where the bytes of a device address stand, for a network card's double and for comparing. */
API void *emulationHostAddress(void *address) {
    int device, pinned;
    pthread_once(&once, make_devices);
    return host_address((uint64_t)address, 1, &device, &pinned);
}

API void emulationStatistics(uint64_t *out) {
    const uint64_t *from = (const uint64_t *)&statistics;
    for (size_t i = 0; i < sizeof statistics / sizeof(uint64_t); i++)
        out[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

/* A place in a stream that is passed only when the gate was opened: a kernel that takes as long as the test likes. */
API void *emulationGate(void *handle) {
    struct stream *stream = stream_of(handle);
    struct gate *gate = calloc(1, sizeof *gate);
    pthread_mutex_init(&gate->lock, 0);
    pthread_cond_init(&gate->changed, 0);
    struct op *op = new_op(GATE);
    op->gate = gate;
    submit(stream, op);
    return gate;
}

/* The stream goes on. The gate is not freed: it is small, and whoever opens it may come late. */
API void emulationOpen(void *handle) {
    struct gate *gate = handle;
    pthread_mutex_lock(&gate->lock);
    gate->open = 1;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}
