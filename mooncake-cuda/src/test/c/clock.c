/*
 * How long operations take: real time, or that of a clock which stands still until somebody turns it on.
 *
 *   a worker     takes an operation up at the time that the clock shows, and waits until it shows when that ends
 *   settled      every worker waits: for the clock, for an operation of another stream, at a closed gate, or for work
 *   turned on    from one end to the next, settled in between: so what came first ends first, whatever the threads did
 *
 * So the same operations end in the same order and at the same times on every machine. One thread submits and turns the clock on.
 */
#include "emulation.h"

#include <sched.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int is_virtual; /* with the lock held, as the time is */
static uint64_t now_ns;

enum { NS_PER_US = 1000 };
static const uint64_t NS_PER_S = 1000000000ull;

/* 0 = the time is real. */
static uint64_t begin_waiting(uint64_t ns) {
    pthread_mutex_lock(&lock);
    uint64_t due = is_virtual ? now_ns + ns : 0;
    pthread_mutex_unlock(&lock);
    return due;
}

static void set_due(struct stream *stream, uint64_t due_ns) {
    pthread_mutex_lock(&stream->lock);
    stream->due_ns = due_ns;
    pthread_mutex_unlock(&stream->lock);
}

void take_time(struct stream *stream, size_t bytes) {
    long rate = __atomic_load_n(&settings.bytes_per_us, __ATOMIC_RELAXED);
    uint64_t ns = (uint64_t)__atomic_load_n(&settings.latency_us, __ATOMIC_RELAXED) * NS_PER_US +
                  (rate ? (uint64_t)bytes * NS_PER_US / (uint64_t)rate : 0);
    if (!ns)
        return;
    uint64_t due = begin_waiting(ns);
    if (!due) {
        struct timespec time = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
        nanosleep(&time, 0);
        return;
    }
    set_due(stream, due);
    pthread_mutex_lock(&lock);
    while (is_virtual && now_ns < due)
        pthread_cond_wait(&turned, &lock);
    pthread_mutex_unlock(&lock);
}

struct timespec clock_now(void) {
    struct timespec time;
    pthread_mutex_lock(&lock);
    if (is_virtual)
        time = (struct timespec){(time_t)(now_ns / NS_PER_S), (long)(now_ns % NS_PER_S)};
    else
        clock_gettime(CLOCK_MONOTONIC, &time);
    pthread_mutex_unlock(&lock);
    return time;
}

static void turn(uint64_t to_ns) {
    pthread_mutex_lock(&lock);
    now_ns = to_ns > now_ns ? to_ns : now_ns;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&lock);
}

/* The stream's worker has something to do now; else when it has on the clock, or never. */
static int is_busy(struct stream *stream, uint64_t now, uint64_t *next) {
    pthread_mutex_lock(&stream->lock);
    struct op *op = stream->head;
    uint64_t due = stream->due_ns;
    struct stream *other = op && op->kind == WAIT ? op->other : NULL;
    uint64_t number = other ? op->other_number : 0;
    struct gate *gate = op && op->kind == GATE ? op->gate : NULL;
    pthread_mutex_unlock(&stream->lock);
    if (!op)
        return 0;
    if (other)
        return has_passed(other, number);
    if (gate) {
        pthread_mutex_lock(&gate->lock);
        int open = gate->open;
        pthread_mutex_unlock(&gate->lock);
        return open;
    }
    if (due <= now)
        return 1;
    *next = due < *next ? due : *next;
    return 0;
}

/* How many operations have ended: a look at all streams counts only if none has meanwhile. */
static uint64_t ended(struct stream *all) {
    uint64_t sum = 0;
    for (; all; all = all->next) {
        pthread_mutex_lock(&all->lock);
        sum += all->completed;
        pthread_mutex_unlock(&all->lock);
    }
    return sum;
}

/* When the next operation ends; UINT64_MAX when none waits for the clock. */
static uint64_t settle(uint64_t now) {
    pthread_mutex_lock(&global);
    struct stream *all = streams;
    pthread_mutex_unlock(&global);
    for (;;) {
        uint64_t before = ended(all), next = UINT64_MAX;
        int busy = 0;
        for (struct stream *each = all; each && !busy; each = each->next)
            busy = is_busy(each, now, &next);
        if (!busy && ended(all) == before)
            return next;
        sched_yield();
    }
}

static int shows(uint64_t *now) {
    pthread_mutex_lock(&lock);
    *now = now_ns;
    int shown = is_virtual;
    pthread_mutex_unlock(&lock);
    return shown;
}

void wait_outside(struct stream *stream, uint64_t number) {
    uint64_t now;
    while (shows(&now) && !has_passed(stream, number)) {
        uint64_t next = settle(now);
        if (has_passed(stream, number))
            return;
        if (next == UINT64_MAX)
            sched_yield(); /* at a gate, which another thread opens */
        else
            turn(next);
    }
    wait_for(stream, number);
}

/* ---- for tests ---- */

/* From now on time is virtual, or real again. While nothing runs. */
API void emulationClock(int on) {
    pthread_mutex_lock(&lock);
    is_virtual = on;
    now_ns = 1;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&lock);
}

/* When the next operation ends, of all that were submitted; -1 when none waits for the clock. Everything that is due has ended then. */
API long emulationNext(void) {
    uint64_t now;
    shows(&now);
    uint64_t next = settle(now);
    return next == UINT64_MAX ? -1 : (long)next;
}

/* Turns the clock on: everything that is due by then has ended when this returns. */
API void emulationAdvance(long to_ns) {
    for (long next; (next = emulationNext()) >= 0 && next <= to_ns;)
        turn((uint64_t)next);
    turn((uint64_t)to_ns);
    emulationNext();
}
