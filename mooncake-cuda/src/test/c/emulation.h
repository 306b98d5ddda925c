/*
 * An emulated CUDA runtime over host memory, loaded in place of libcudart so that the real bindings run without a GPU.
 *
 *   device memory   a window of addresses that nobody may touch (PROT_NONE: a host access is SIGSEGV, as with a GPU); its bytes stand in a
 *                   memory file, mapped a second time where only this library writes ("shadow")
 *   stream          a queue with one worker thread; operations run in order, after their delay
 *   event           a place in a stream's queue
 *   sticky error    an error of an operation; from then on every call of the device answers with it
 *   virtual clock   on demand operations take no time but that of a clock which tests turn on: see clock.c
 *
 * Not emulated: kernels (tests put a gate and a memset in their place), graphs, cuMem* but dma-bufs (driver.c), managed memory.
 */
#ifndef EMULATION_H
#define EMULATION_H

#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define API __attribute__((visibility("default")))

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_DIRECTION = 21,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    UNINITIALIZED = 201,
    INVALID_HANDLE = 400,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    PEER_ALREADY_ON = 704,
    PEER_OFF = 705,
    HOST_REGISTERED = 712,
    HOST_NOT_REGISTERED = 713,
    LAUNCH_FAILURE = 719,
};

enum { MAX_DEVICES = 4 };
#define WINDOW (64ull << 30)
#define PAGE 4096ull

/* ---- memory ---- */

enum range_kind { DEVICE_RANGE, HOST_ALLOCATED, HOST_PINNED, IPC_RANGE };

struct range {
    struct range *next;
    enum range_kind kind;
    int device;
    uint64_t address, size;
    char *shadow; /* where its bytes really stand */
};

/* A rectangle: rows of width bytes; one row for a plain copy. */
struct place {
    uint64_t address;
    size_t pitch;
};

/* ---- streams ---- */

enum op_kind { COPY, SET, HOST_CALL, WAIT, EVENT, FREE, GATE };

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int open;
};

struct event;
struct stream;

struct op {
    struct op *next;
    enum op_kind kind;
    uint64_t number;
    struct place to, from;
    size_t width, height;
    int value;
    void (*function)(void *);
    void *argument;
    struct stream *other;
    uint64_t other_number;
    struct event *event;
    struct gate *gate;
};

struct stream {
    uint32_t magic;
    int device, blocking, stopped;
    uint64_t submitted, completed;
    struct op *head, *tail;
    uint64_t due_ns; /* of the head, on the virtual clock; 0 = it does not wait for that */
    pthread_mutex_t lock;
    pthread_cond_t arrived, done;
    struct stream *next;
};

struct event {
    uint32_t magic;
    int timing;
    pthread_mutex_t lock;
    struct stream *stream; /* null = never recorded */
    uint64_t number;
    struct timespec time;
};

/* ---- devices ---- */

struct device {
    uint64_t base, used, next_free, limit;
    uint64_t before; /* of used: what was left allocated at the last reset, as memory of a lost device is */
    int file;
    char *shadow;
    int sticky; /* atomic */
    pthread_rwlock_t copying; /* read: while bytes land */
    int peers;  /* who its peer access is enabled to */
    int cannot; /* who it cannot access */
    struct stream *legacy;
};

struct settings {
    long latency_us, bytes_per_us, strict;
    long copies_until_failure, calls_until_failure; /* -1 = never */
    int copy_error, call_error;
};

struct statistics {
    uint64_t allocations, frees, copies, bytes, pageable, unsafe_frees, calls, flushes;
};

/* Ranges, devices' numbers and lists, the list of streams. Taken before any stream's lock. */
extern pthread_mutex_t global;
extern struct device devices[MAX_DEVICES];

static inline uint64_t in_use(const struct device *d) { return d->used - d->before; }
extern int device_count;
extern struct settings settings;
extern struct statistics statistics;
extern struct range *ranges;
extern struct stream *streams;
extern __thread int current_device;

void count(uint64_t *counter, uint64_t by);
int begin(int device); /* every call begins with it: the error that it is to answer with at once, or 0 */
int answer(int error);
int sticky(int device);
void stick(int device, int error);

/* With the lock held. */
struct range *range_of(uint64_t address, size_t size);
struct range *range_at(void *address, enum range_kind kind);
struct range *add_range(enum range_kind kind, int device, uint64_t address, uint64_t size, char *shadow);
void remove_range(struct range *range);

/* Where bytes really stand; null for device addresses at which nothing is allocated. */
char *host_address(uint64_t address, size_t size, int *device, int *pinned);
void release_device_range(struct range *range);

struct op *new_op(enum op_kind kind);
struct stream *stream_of(void *handle);
uint64_t submit(struct stream *stream, struct op *op);
void wait_for(struct stream *stream, uint64_t number);
void drain(int device);
int has_passed(struct stream *stream, uint64_t number);

/* ---- the clock ---- */

void take_time(struct stream *stream, size_t bytes);
/* A thread of the test's waits: on virtual time it turns the clock on itself. */
void wait_outside(struct stream *stream, uint64_t number);
struct timespec clock_now(void);
void emulationClock(int on);
void emulationWithoutDmaBufs(int without);
int is_in_use(const struct range *range);

/* What a stream or an event belongs to decides which device's loss a call tells, whatever the thread's is. */
int device_of_stream(void *handle);

#define ENTER_ON(device)               \
    do {                               \
        int failed_ = begin(device);   \
        if (failed_)                   \
            return answer(failed_);    \
    } while (0)

#define ENTER() ENTER_ON(current_device)

#endif
