/* Streams and their workers, events. */
#include "emulation.h"

#include <stdlib.h>
#include <string.h>

enum { STREAM_MAGIC = 0x5742, EVENT_MAGIC = 0xe7e7, NON_BLOCKING = 1, DISABLE_TIMING = 2 };

struct stream *streams;

struct op *new_op(enum op_kind kind) {
    struct op *op = calloc(1, sizeof *op);
    op->kind = kind;
    return op;
}

/* ---- the worker ---- */

static int fails_now(void) {
    return __atomic_load_n(&settings.copies_until_failure, __ATOMIC_ACQUIRE) >= 0 &&
           __atomic_sub_fetch(&settings.copies_until_failure, 1, __ATOMIC_ACQ_REL) == -1;
}

static size_t span(struct place place, size_t width, size_t height) { return (height - 1) * place.pitch + width; }

/* What the device is lost by, if it is. */
static int move(const struct op *op) {
    int device, pinned;
    if (fails_now())
        return settings.copy_error;
    char *to = host_address(op->to.address, span(op->to, op->width, op->height), &device, &pinned);
    char *from = op->kind == SET
        ? to
        : host_address(op->from.address, span(op->from, op->width, op->height), &device, &pinned);
    if (!to || !from) /* freed between submission and execution */
        return ILLEGAL_ADDRESS;
    for (size_t row = 0; row < op->height; row++) {
        if (op->kind == SET)
            memset(to + row * op->to.pitch, op->value, op->width);
        else
            memcpy(to + row * op->to.pitch, from + row * op->from.pitch, op->width);
    }
    count(&statistics.copies, 1);
    count(&statistics.bytes, op->width * op->height);
    return SUCCESS;
}

/* Once anybody has been told that a device is lost, nothing of it lands any more: see stick(). */
static void move_unless_lost(struct stream *stream, const struct op *op) {
    int device = stream->device;
    if (sticky(device))
        return;
    take_time(stream, op->width * op->height);
    pthread_rwlock_rdlock(&devices[device].copying);
    int error = sticky(device) ? SUCCESS : move(op);
    pthread_rwlock_unlock(&devices[device].copying);
    if (error)
        stick(device, error);
}

static void pass(struct gate *gate) {
    pthread_mutex_lock(&gate->lock);
    while (!gate->open)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void run(struct stream *stream, struct op *op) {
    switch (op->kind) {
    case COPY:
    case SET:
        move_unless_lost(stream, op);
        break;
    case HOST_CALL:
        op->function(op->argument);
        break;
    case WAIT:
        wait_for(op->other, op->other_number);
        break;
    case EVENT:
        pthread_mutex_lock(&op->event->lock);
        op->event->time = clock_now();
        pthread_mutex_unlock(&op->event->lock);
        break;
    case FREE: {
        pthread_mutex_lock(&global);
        struct range *range = range_at((void *)op->to.address, DEVICE_RANGE);
        pthread_mutex_unlock(&global);
        if (range)
            release_device_range(range);
        break;
    }
    case GATE:
        pass(op->gate);
        break;
    }
}

static void *work(void *argument) {
    struct stream *stream = argument;
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (!stream->head && !stream->stopped)
            pthread_cond_wait(&stream->arrived, &stream->lock);
        struct op *op = stream->head;
        if (!op)
            break;
        pthread_mutex_unlock(&stream->lock);
        run(stream, op);
        pthread_mutex_lock(&stream->lock);
        stream->head = op->next;
        if (!stream->head)
            stream->tail = NULL;
        stream->completed = op->number;
        stream->due_ns = 0;
        free(op);
        pthread_cond_broadcast(&stream->done);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

void wait_for(struct stream *stream, uint64_t number) {
    pthread_mutex_lock(&stream->lock);
    while (stream->completed < number)
        pthread_cond_wait(&stream->done, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
}

int has_passed(struct stream *stream, uint64_t number) {
    pthread_mutex_lock(&stream->lock);
    int passed = stream->completed >= number;
    pthread_mutex_unlock(&stream->lock);
    return passed;
}

static uint64_t submitted(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    uint64_t number = stream->submitted;
    pthread_mutex_unlock(&stream->lock);
    return number;
}

/* ---- submitting ---- */

/* The global lock is held. Streams are never freed: a late use of a destroyed one is seen. */
static struct stream *new_stream(int device, int blocking) {
    struct stream *stream = calloc(1, sizeof *stream);
    stream->magic = STREAM_MAGIC;
    stream->device = device;
    stream->blocking = blocking;
    pthread_mutex_init(&stream->lock, 0);
    pthread_cond_init(&stream->arrived, 0);
    pthread_cond_init(&stream->done, 0);
    stream->next = streams;
    streams = stream;
    pthread_t thread;
    if (pthread_create(&thread, 0, work, stream))
        abort();
    pthread_detach(thread);
    return stream;
}

static struct stream *legacy_stream(int device) {
    pthread_mutex_lock(&global);
    if (!devices[device].legacy)
        devices[device].legacy = new_stream(device, 0);
    struct stream *stream = devices[device].legacy;
    pthread_mutex_unlock(&global);
    return stream;
}

struct stream *stream_of(void *handle) {
    if (!handle || handle == (void *)1)
        return legacy_stream(current_device);
    struct stream *stream = handle;
    return __atomic_load_n(&stream->magic, __ATOMIC_ACQUIRE) == STREAM_MAGIC ? stream : NULL;
}

static uint64_t push(struct stream *stream, struct op *op) {
    pthread_mutex_lock(&stream->lock);
    uint64_t number = op->number = ++stream->submitted;
    if (stream->tail)
        stream->tail->next = op;
    else
        stream->head = op;
    stream->tail = op;
    pthread_cond_signal(&stream->arrived);
    pthread_mutex_unlock(&stream->lock);
    return number;
}

static void wait_in_stream(struct stream *stream, struct stream *other, uint64_t number) {
    if (has_passed(other, number))
        return;
    struct op *op = new_op(WAIT);
    op->other = other;
    op->other_number = number;
    push(stream, op);
}

/* The legacy default stream and the blocking ones of its device wait for each other. */
uint64_t submit(struct stream *stream, struct op *op) {
    pthread_mutex_lock(&global);
    struct stream *legacy = devices[stream->device].legacy, *all = streams;
    pthread_mutex_unlock(&global);
    if (stream == legacy) {
        for (; all; all = all->next)
            if (all->blocking && all->device == stream->device)
                wait_in_stream(stream, all, submitted(all));
    } else if (stream->blocking && legacy) {
        wait_in_stream(stream, legacy, submitted(legacy));
    }
    return push(stream, op);
}

void drain(int device) {
    pthread_mutex_lock(&global);
    struct stream *all = streams;
    pthread_mutex_unlock(&global);
    for (; all; all = all->next)
        if (all->device == device)
            wait_outside(all, submitted(all));
}

static int touches(const struct range *range, struct place place) {
    return place.address >= range->address && place.address < range->address + range->size;
}

int is_in_use(const struct range *range) {
    int used = 0;
    for (struct stream *all = streams; all; all = all->next) {
        pthread_mutex_lock(&all->lock);
        for (struct op *op = all->head; op; op = op->next)
            if ((op->kind == COPY && (touches(range, op->to) || touches(range, op->from))) ||
                (op->kind == SET && touches(range, op->to)))
                used = 1;
        pthread_mutex_unlock(&all->lock);
    }
    return used;
}

int device_of_stream(void *handle) {
    struct stream *stream = handle ? stream_of(handle) : NULL;
    return stream ? stream->device : current_device;
}

/* ---- the interface ---- */

API int cudaStreamCreateWithFlags(void **out, unsigned flags) {
    ENTER();
    pthread_mutex_lock(&global);
    *out = new_stream(current_device, !(flags & NON_BLOCKING));
    pthread_mutex_unlock(&global);
    return SUCCESS;
}

API int cudaStreamCreate(void **out) { return cudaStreamCreateWithFlags(out, 0); }

API int cudaStreamCreateWithPriority(void **out, unsigned flags, int priority) {
    (void)priority;
    return cudaStreamCreateWithFlags(out, flags);
}

/* What is queued still runs. */
API int cudaStreamDestroy(void *handle) {
    ENTER();
    struct stream *stream = stream_of(handle);
    if (!stream || stream == devices[current_device].legacy)
        return answer(INVALID_HANDLE);
    pthread_mutex_lock(&stream->lock);
    __atomic_store_n(&stream->magic, 0xdead, __ATOMIC_RELEASE);
    stream->stopped = 1;
    pthread_cond_signal(&stream->arrived);
    pthread_mutex_unlock(&stream->lock);
    return SUCCESS;
}

API int cudaStreamSynchronize(void *handle) {
    ENTER_ON(device_of_stream(handle));
    struct stream *stream = stream_of(handle);
    if (!stream)
        return answer(INVALID_HANDLE);
    wait_outside(stream, submitted(stream));
    return answer(sticky(stream->device));
}

static int readiness(struct stream *stream, uint64_t number) {
    int passed = has_passed(stream, number);
    int error = sticky(stream->device);
    return answer(error ? error : passed ? SUCCESS : NOT_READY);
}

API int cudaStreamQuery(void *handle) {
    ENTER_ON(device_of_stream(handle));
    struct stream *stream = stream_of(handle);
    return stream ? readiness(stream, submitted(stream)) : answer(INVALID_HANDLE);
}

API int cudaLaunchHostFunc(void *handle, void (*function)(void *), void *argument) {
    ENTER_ON(device_of_stream(handle));
    struct stream *stream = stream_of(handle);
    if (!stream)
        return answer(INVALID_HANDLE);
    struct op *op = new_op(HOST_CALL);
    op->function = function;
    op->argument = argument;
    submit(stream, op);
    return SUCCESS;
}

API int cudaEventCreateWithFlags(void **out, unsigned flags) {
    ENTER();
    struct event *event = calloc(1, sizeof *event);
    event->magic = EVENT_MAGIC;
    event->timing = !(flags & DISABLE_TIMING);
    pthread_mutex_init(&event->lock, 0);
    *out = event;
    return SUCCESS;
}

API int cudaEventCreate(void **out) { return cudaEventCreateWithFlags(out, 0); }

static struct event *event_of(void *handle) {
    struct event *event = handle;
    return event && __atomic_load_n(&event->magic, __ATOMIC_ACQUIRE) == EVENT_MAGIC ? event : NULL;
}

/* Where it was recorded last; null = nowhere. */
static struct stream *recorded(struct event *event, uint64_t *number) {
    pthread_mutex_lock(&event->lock);
    struct stream *stream = event->stream;
    *number = event->number;
    pthread_mutex_unlock(&event->lock);
    return stream;
}

static int device_of_event(void *handle) {
    struct event *event = event_of(handle);
    uint64_t number;
    struct stream *stream = event ? recorded(event, &number) : NULL;
    return stream ? stream->device : current_device;
}

/* Events are never freed: a late use is seen. */
API int cudaEventDestroy(void *handle) {
    ENTER();
    struct event *event = event_of(handle);
    if (!event)
        return answer(INVALID_HANDLE);
    __atomic_store_n(&event->magic, 0, __ATOMIC_RELEASE);
    return SUCCESS;
}

API int cudaEventRecord(void *handle, void *stream_handle) {
    ENTER_ON(device_of_stream(stream_handle));
    struct event *event = event_of(handle);
    struct stream *stream = stream_of(stream_handle);
    if (!event || !stream)
        return answer(INVALID_HANDLE);
    struct op *op = new_op(EVENT);
    op->event = event;
    uint64_t number = submit(stream, op);
    pthread_mutex_lock(&event->lock);
    event->stream = stream;
    event->number = number;
    pthread_mutex_unlock(&event->lock);
    return SUCCESS;
}

API int cudaEventQuery(void *handle) {
    ENTER_ON(device_of_event(handle));
    struct event *event = event_of(handle);
    if (!event)
        return answer(INVALID_HANDLE);
    uint64_t number;
    struct stream *stream = recorded(event, &number);
    return stream ? readiness(stream, number) : SUCCESS;
}

API int cudaEventSynchronize(void *handle) {
    ENTER_ON(device_of_event(handle));
    struct event *event = event_of(handle);
    if (!event)
        return answer(INVALID_HANDLE);
    uint64_t number;
    struct stream *stream = recorded(event, &number);
    if (!stream)
        return SUCCESS;
    wait_outside(stream, number);
    return answer(sticky(stream->device));
}

/* As the real one: nothing is waited for when the event was not recorded yet. */
API int cudaStreamWaitEvent(void *handle, void *event_handle, unsigned flags) {
    (void)flags;
    ENTER_ON(device_of_stream(handle));
    struct event *event = event_of(event_handle);
    struct stream *stream = stream_of(handle);
    if (!event || !stream)
        return answer(INVALID_HANDLE);
    uint64_t number;
    struct stream *other = recorded(event, &number);
    if (other)
        wait_in_stream(stream, other, number);
    return SUCCESS;
}

API int cudaEventElapsedTime(float *milliseconds, void *first, void *last) {
    ENTER();
    struct event *a = event_of(first), *b = event_of(last);
    if (!a || !b || !a->timing || !b->timing || !a->stream || !b->stream)
        return answer(INVALID_HANDLE);
    int error = cudaEventQuery(first);
    if (!error)
        error = cudaEventQuery(last);
    if (error)
        return error;
    *milliseconds = (float)((double)(b->time.tv_sec - a->time.tv_sec) * 1e3 +
                            (double)(b->time.tv_nsec - a->time.tv_nsec) / 1e6);
    return SUCCESS;
}
