/* Tests of the emulated runtime itself, meant to run under -fsanitize=thread. Exit code 0 and "ok" when all hold. */
#include "emulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 1 << 16, ROUNDS = 40, THREADS = 6, TO_HOST = 2, ANY = 4, HANDLE_BYTES = 64 };

struct handle {
    char bytes[HANDLE_BYTES];
};

int cudaSetDevice(int);
int cudaDeviceCanAccessPeer(int *, int, int);
int cudaDeviceEnablePeerAccess(int, unsigned);
int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaHostAlloc(void **, size_t, unsigned);
int cudaFreeHost(void *);
int cudaHostRegister(void *, size_t, unsigned);
int cudaHostUnregister(void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, int, void *);
int cudaMemset(void *, int, size_t);
int cudaMemsetAsync(void *, int, size_t, void *);
int cudaStreamCreateWithFlags(void **, unsigned);
int cudaStreamDestroy(void *);
int cudaStreamSynchronize(void *);
int cudaStreamQuery(void *);
int cudaStreamWaitEvent(void *, void *, unsigned);
int cudaEventCreateWithFlags(void **, unsigned);
int cudaEventRecord(void *, void *);
int cudaEventQuery(void *);
int cudaEventSynchronize(void *);
int cudaEventElapsedTime(float *, void *, void *);
int cudaIpcGetMemHandle(struct handle *, void *);
int cudaIpcOpenMemHandle(void **, struct handle, unsigned);
int cudaIpcCloseMemHandle(void *);
void emulationReset(int);
void emulationDelay(long, long);
long emulationNext(void);
void emulationAdvance(long);
void emulationMemory(int, long);
void emulationStrict(int);
void emulationNoPeer(int, int);
void emulationFailCopy(long, int);
void emulationFailCall(long, int);
void *emulationGate(void *);
void emulationOpen(void *);

int cuMemGetHandleForAddressRange(void *, uint64_t, size_t, int, unsigned long long);
void *emulationResolve(int, uint64_t, uint64_t);

static void expect(int wanted, int got, const char *what, int line) {
    if (wanted != got) {
        printf("line %d: %s is %d, not %d\n", line, what, got, wanted);
        exit(1);
    }
}

#define EXPECT(wanted, call) expect(wanted, call, #call, __LINE__)
#define DO(call) EXPECT(SUCCESS, call)

static void *new_stream(void) {
    void *stream;
    DO(cudaStreamCreateWithFlags(&stream, 1));
    return stream;
}

static void *new_event(void) {
    void *event;
    DO(cudaEventCreateWithFlags(&event, 2));
    return event;
}

/* Copies through two device buffers come out as they went in, with several threads on two devices. */
static void *round_trips(void *number) {
    int id = (int)(long)number;
    DO(cudaSetDevice(id % 2));
    void *stream = new_stream(), *event = new_event(), *in, *out;
    DO(cudaHostAlloc(&in, SIZE, 0));
    DO(cudaHostAlloc(&out, SIZE, 0));
    for (int i = 0; i < ROUNDS; i++) {
        void *first, *second;
        DO(cudaMalloc(&first, SIZE));
        DO(cudaMalloc(&second, SIZE));
        memset(in, i + id, SIZE);
        memset(out, 0, SIZE);
        DO(cudaMemcpyAsync(first, in, SIZE, ANY, stream));
        DO(cudaMemcpyAsync(second, first, SIZE, ANY, stream));
        DO(cudaMemcpyAsync(out, second, SIZE, TO_HOST, stream));
        DO(cudaEventRecord(event, stream));
        int state;
        while ((state = cudaEventQuery(event)) == NOT_READY) {
        }
        DO(state);
        EXPECT(0, memcmp(in, out, SIZE));
        DO(cudaFree(first));
        DO(cudaFree(second));
    }
    DO(cudaStreamDestroy(stream));
    DO(cudaFreeHost(in));
    DO(cudaFreeHost(out));
    return NULL;
}

/* A stream waits for the event of another that a gate holds up; pinned memory is read when the copy runs, not when it is queued. */
static void order(void) {
    void *a = new_stream(), *b = new_stream(), *event = new_event(), *device, *host;
    DO(cudaHostAlloc(&host, SIZE, 0));
    DO(cudaMalloc(&device, SIZE));
    DO(cudaStreamWaitEvent(b, event, 0)); /* never recorded: waits for nothing */
    DO(cudaStreamSynchronize(b));
    void *gate = emulationGate(a);
    memset(host, 1, SIZE);
    DO(cudaMemcpyAsync(device, host, SIZE, ANY, a));
    DO(cudaEventRecord(event, a));
    DO(cudaStreamWaitEvent(b, event, 0));
    DO(cudaMemcpyAsync(host, device, 16, ANY, b));
    EXPECT(NOT_READY, cudaEventQuery(event));
    EXPECT(NOT_READY, cudaStreamQuery(b));
    memset(host, 2, SIZE);
    emulationOpen(gate);
    DO(cudaStreamSynchronize(b));
    EXPECT(2, *(char *)host);
    DO(cudaFree(device));
}

static void rectangles(void) {
    void *stream = new_stream(), *device;
    char *host;
    DO(cudaHostAlloc((void **)&host, SIZE, 0));
    DO(cudaMalloc(&device, SIZE));
    DO(cudaMemset(device, 0, SIZE));
    for (int i = 0; i < 300; i++)
        host[i] = (char)i;
    DO(cudaMemcpy2DAsync((char *)device + 10, 1000, host, 100, 100, 3, ANY, stream));
    DO(cudaMemcpyAsync(host, device, SIZE, ANY, stream));
    DO(cudaStreamSynchronize(stream));
    for (int row = 0; row < 3; row++)
        for (int i = 0; i < 100; i++)
            EXPECT((char)(row * 100 + i), host[row * 1000 + 10 + i]);
    EXPECT(0, host[110]);
    EXPECT(12, cudaMemcpy2DAsync(device, 99, host, 100, 100, 3, ANY, stream));
    EXPECT(INVALID_VALUE, cudaMemcpy2DAsync(device, 30000, host, 100, 100, 4, ANY, stream));
    DO(cudaFree(device));
}

static void limits(void) {
    void *device;
    char *host = malloc(SIZE);
    emulationReset(3);
    DO(cudaSetDevice(2));
    emulationMemory(2, SIZE);
    EXPECT(OUT_OF_MEMORY, cudaMalloc(&device, SIZE + 1));
    DO(cudaMalloc(&device, SIZE));
    EXPECT(OUT_OF_MEMORY, cudaMalloc(&device, 1));
    DO(cudaHostRegister(host, SIZE, 0));
    EXPECT(HOST_REGISTERED, cudaHostRegister(host + 10, 10, 0));
    DO(cudaHostUnregister(host));
    EXPECT(HOST_NOT_REGISTERED, cudaHostUnregister(host));
    free(host);
}

static void peers(void) {
    int can;
    DO(cudaDeviceCanAccessPeer(&can, 0, 1));
    EXPECT(1, can);
    DO(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT(PEER_ALREADY_ON, cudaDeviceEnablePeerAccess(1, 0));
    emulationReset(2);
    emulationNoPeer(0, 1);
    DO(cudaDeviceCanAccessPeer(&can, 0, 1));
    EXPECT(0, can);
    EXPECT(INVALID_DEVICE, cudaDeviceEnablePeerAccess(1, 0));
}

/* A copy that fails has its device answer so from then on, and no other device. */
static void failures(void) {
    void *stream = new_stream(), *device;
    DO(cudaMalloc(&device, SIZE));
    emulationFailCall(1, OUT_OF_MEMORY);
    DO(cudaMemsetAsync(device, 1, 1, stream));
    EXPECT(OUT_OF_MEMORY, cudaMemsetAsync(device, 1, 1, stream));
    DO(cudaMemsetAsync(device, 1, 1, stream));
    /* What was queued before is not the one that fails. */
    DO(cudaStreamSynchronize(stream));
    emulationFailCopy(1, LAUNCH_FAILURE);
    /* Both are queued before the first one can fail. */
    void *gate = emulationGate(stream);
    DO(cudaMemsetAsync(device, 1, SIZE, stream));
    DO(cudaMemsetAsync(device, 2, SIZE, stream));
    emulationOpen(gate);
    EXPECT(LAUNCH_FAILURE, cudaStreamSynchronize(stream));
    EXPECT(LAUNCH_FAILURE, cudaMalloc(&device, 1));
    DO(cudaSetDevice(1));
    DO(cudaMalloc(&device, 1));
    EXPECT(LAUNCH_FAILURE, cudaSetDevice(0));
    emulationReset(2);
}

/* Freed while a queued copy still uses it: waits, or in strict mode the copy fails. */
static void freed_too_early(int strict) {
    emulationStrict(strict);
    void *stream = new_stream(), *device, *host;
    DO(cudaMalloc(&device, SIZE));
    DO(cudaHostAlloc(&host, SIZE, 0));
    void *gate = emulationGate(stream);
    DO(cudaMemcpyAsync(host, device, SIZE, ANY, stream));
    if (!strict)
        emulationOpen(gate);
    DO(cudaFree(device));
    if (strict)
        emulationOpen(gate);
    EXPECT(strict ? ILLEGAL_ADDRESS : SUCCESS, cudaStreamSynchronize(stream));
    emulationReset(2);
}

/* Two streams go on side by side, one that waits for the other after it, and who waits outside turns the clock on. */
static void virtual_time(void) {
    enum { RATE = 1000, TOOK_NS = SIZE };
    void *a = new_stream(), *b = new_stream(), *c = new_stream(), *device, *begun, *ended, *between;
    char *host;
    float milliseconds;
    emulationReset(2);
    DO(cudaSetDevice(0));
    DO(cudaMalloc(&device, 2 * SIZE));
    DO(cudaHostAlloc((void **)&host, SIZE, 0));
    DO(cudaEventCreateWithFlags(&begun, 0));
    DO(cudaEventCreateWithFlags(&ended, 0));
    DO(cudaEventCreateWithFlags(&between, 0));
    emulationClock(1);
    emulationDelay(0, RATE);
    EXPECT(-1, (int)emulationNext());
    DO(cudaEventRecord(begun, c));
    DO(cudaMemcpyAsync(device, host, SIZE, ANY, a));
    DO(cudaEventRecord(between, a));
    DO(cudaMemcpyAsync((char *)device + SIZE, host, SIZE, ANY, b));
    DO(cudaStreamWaitEvent(c, between, 0));
    DO(cudaMemcpyAsync(host, device, SIZE, ANY, c));
    DO(cudaEventRecord(ended, c));
    EXPECT(1 + TOOK_NS, (int)emulationNext());
    EXPECT(NOT_READY, cudaStreamQuery(a));
    emulationAdvance(TOOK_NS);
    EXPECT(NOT_READY, cudaStreamQuery(a));
    emulationAdvance(TOOK_NS + 1);
    DO(cudaStreamQuery(a));
    DO(cudaStreamQuery(b));
    EXPECT(NOT_READY, cudaStreamQuery(c));
    EXPECT(1 + 2 * TOOK_NS, (int)emulationNext());
    DO(cudaStreamSynchronize(c));
    EXPECT(-1, (int)emulationNext());
    DO(cudaEventElapsedTime(&milliseconds, begun, ended));
    EXPECT(2 * TOOK_NS, (int)(milliseconds * 1e6f + 0.5f));
    DO(cudaFree(device));
    DO(cudaFreeHost(host));
    emulationReset(2);
}

/* Another process reads and writes the same memory, and never the exporter itself. */
static int child(int pipe) {
    struct handle handle;
    void *memory;
    char bytes[16];
    if (read(pipe, &handle, sizeof handle) != sizeof handle)
        return 2;
    DO(cudaIpcOpenMemHandle(&memory, handle, 1));
    DO(cudaMemcpy(bytes, memory, sizeof bytes, TO_HOST));
    int right = bytes[0] == 0x5a && bytes[15] == 0x5a;
    DO(cudaMemset(memory, 0x77, sizeof bytes));
    DO(cudaIpcCloseMemHandle(memory));
    return right ? 0 : 3;
}

static void processes(int pipe, pid_t process) {
    void *device, *opened;
    struct handle handle;
    char bytes[16];
    int status;
    DO(cudaMalloc(&device, PAGE));
    DO(cudaMemset(device, 0x5a, PAGE));
    DO(cudaIpcGetMemHandle(&handle, (char *)device + 100)); /* the handle is the whole allocation's */
    EXPECT(UNINITIALIZED, cudaIpcOpenMemHandle(&opened, handle, 1));
    EXPECT((int)sizeof handle, (int)write(pipe, &handle, sizeof handle));
    waitpid(process, &status, 0);
    EXPECT(0, WEXITSTATUS(status));
    DO(cudaMemcpy(bytes, device, sizeof bytes, ANY));
    EXPECT(0x77, bytes[0]);
    DO(cudaFree(device));
}

static void *exporting(void *memory) {
    for (int i = 0; i < ROUNDS; i++) {
        int fd;
        DO(cuMemGetHandleForAddressRange(&fd, (uint64_t)memory, SIZE, 1, 0));
        EXPECT(1, emulationResolve(fd, SIZE - 1, 1) != 0);
        EXPECT(0, close(fd));
    }
    return 0;
}

/* A descriptor is of the range that was asked for, until it is closed. */
static void dma_bufs(void) {
    void *memory, *other;
    int fd;
    DO(cudaMalloc(&memory, SIZE));
    DO(cudaMalloc(&other, SIZE));
    DO(cudaMemset((char *)memory + PAGE + 5, 0x31, 1));
    EXPECT(1, cuMemGetHandleForAddressRange(&fd, (uint64_t)memory + 512, PAGE, 1, 0));
    EXPECT(1, cuMemGetHandleForAddressRange(&fd, (uint64_t)memory, SIZE + PAGE, 1, 0));
    DO(cuMemGetHandleForAddressRange(&fd, (uint64_t)memory + PAGE, SIZE - PAGE, 1, 0));
    char *bytes = emulationResolve(fd, 5, 1);
    EXPECT(0x31, *bytes);
    EXPECT(1, emulationResolve(fd, 0, SIZE) == 0);
    EXPECT(0, close(fd));
    EXPECT(1, emulationResolve(fd, 0, 1) == 0);
    emulationWithoutDmaBufs(1);
    EXPECT(801, cuMemGetHandleForAddressRange(&fd, (uint64_t)memory, SIZE, 1, 0));
    emulationWithoutDmaBufs(0);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, exporting, i ? memory : other);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    DO(cudaFree(memory));
    DO(cudaFree(other));
}

int main(void) {
    int pipes[2];
    if (pipe(pipes))
        return 1;
    pid_t process = fork(); /* before there is any thread */
    if (process == 0)
        _exit(child(pipes[0]));
    processes(pipes[1], process);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, round_trips, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    order();
    rectangles();
    peers();
    failures();
    freed_too_early(0);
    freed_too_early(1);
    limits();
    virtual_time();
    dma_bufs();
    puts("ok");
    return 0;
}
