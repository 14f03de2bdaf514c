// One launch: every element of the outputs, in linear order, on this thread and the workers.
#include "guard.h"

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>

namespace {

constexpr int MAX_OPERANDS = 8, MAX_DIMS = 64, MAX_WORKERS = 64;
constexpr int64_t BLOCK = 1024;      // elements gathered or converted at a time: the buffers stay in the L1/L2 cache
constexpr int64_t CHUNK = 1 << 15;   // a worker is not worth waking for fewer elements

// How the elements of an operand lie in memory, against what the kernel computes in. 1..16: as they are, so many bytes.
enum Kind { HALF = 32, BFLOAT16 = 33, COMPLEX_HALF = 34 };

int64_t bytes_in_memory(int64_t kind) { return kind <= 16 ? kind : kind == COMPLEX_HALF ? 4 : 2; }

struct Input {
    char* data;
    int64_t kind, linear;            // linear: element i is the i-th in memory
    const int64_t* strides;          // bytes, fastest dimension first
};

struct Output {
    char* data;
    int64_t kind;
};

using Run = void (*)(int64_t n, char* const* in, char* const* out, const char* extra, const int64_t* position);

struct Job {
    Run run;
    int64_t n, inputs, outputs, dims, threads, main_thread, vector, work;
    const int64_t* shape;            // fastest dimension first
    Input in[MAX_OPERANDS];
    Output out[MAX_OPERANDS];
    const char* extra;
};

float as_float(uint32_t bits) { float f; memcpy(&f, &bits, 4); return f; }
uint32_t as_bits(float f) { uint32_t bits; memcpy(&bits, &f, 4); return bits; }

float half_to_float(uint16_t h) {
    uint32_t bits = as_bits(as_float(static_cast<uint32_t>(h & 0x7fff) << 13) * as_float(0x77800000));
    if (as_float(bits) >= 65536.0f) bits |= 0x7f800000;
    return as_float(bits | static_cast<uint32_t>(h & 0x8000) << 16);
}

uint16_t float_to_half(float f) {
    const uint32_t bits = as_bits(f), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return sign | 0x7fff;
    if (size >= 0x47800000) return sign | 0x7c00;
    if (size < 0x38800000) return sign | (as_bits(as_float(size) + 0.5f) - as_bits(0.5f));  // denormal: the adder rounds
    return sign | (size + 0xc8000fff + (size >> 13 & 1)) >> 13;
}

float bfloat16_to_float(uint16_t h) { return as_float(static_cast<uint32_t>(h) << 16); }

uint16_t float_to_bfloat16(float f) {
    const uint32_t bits = as_bits(f);
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

#ifdef __F16C__
typedef float Floats __attribute__((vector_size(32)));
typedef short Halves __attribute__((vector_size(16)));
#endif

void halves_to_floats(const uint16_t* from, float* to, int64_t n) {
    int64_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) {
        Halves h;
        memcpy(&h, from + i, 16);
        const Floats f = __builtin_ia32_vcvtph2ps256(h);
        memcpy(to + i, &f, 32);
    }
#endif
    for (; i < n; i++) to[i] = half_to_float(from[i]);
}

void floats_to_halves(const float* from, uint16_t* to, int64_t n) {
    int64_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) {
        Floats f;
        memcpy(&f, from + i, 32);
        const Halves h = __builtin_ia32_vcvtps2ph256(f, 0);
        memcpy(to + i, &h, 16);
    }
#endif
    for (; i < n; i++) to[i] = float_to_half(from[i]);
}

void widen(int64_t kind, const char* from, char* to, int64_t n) {
    const uint16_t* h = reinterpret_cast<const uint16_t*>(from);
    float* f = reinterpret_cast<float*>(to);
    if (kind == HALF) halves_to_floats(h, f, n);
    else if (kind == COMPLEX_HALF) halves_to_floats(h, f, 2 * n);
    else for (int64_t i = 0; i < n; i++) f[i] = bfloat16_to_float(h[i]);
}

void narrow(int64_t kind, const char* from, char* to, int64_t n) {
    const float* f = reinterpret_cast<const float*>(from);
    uint16_t* h = reinterpret_cast<uint16_t*>(to);
    if (kind == HALF) floats_to_halves(f, h, n);
    else if (kind == COMPLEX_HALF) floats_to_halves(f, h, 2 * n);
    else for (int64_t i = 0; i < n; i++) h[i] = float_to_bfloat16(f[i]);
}

struct Sixteen { uint64_t low, high; };

template <typename E>
void copy_strided(const char* from, int64_t stride, char* to, int64_t n) {
    E* out = reinterpret_cast<E*>(to);
    if (stride == 0) {
        const E one = *reinterpret_cast<const E*>(from);
        for (int64_t i = 0; i < n; i++) out[i] = one;
    } else {
        for (int64_t i = 0; i < n; i++) out[i] = *reinterpret_cast<const E*>(from + i * stride);
    }
}

void copy_run(int64_t size, const char* from, int64_t stride, char* to, int64_t n) {
    switch (size) {
        case 1: return copy_strided<uint8_t>(from, stride, to, n);
        case 2: return copy_strided<uint16_t>(from, stride, to, n);
        case 4: return copy_strided<uint32_t>(from, stride, to, n);
        case 8: return copy_strided<uint64_t>(from, stride, to, n);
        default: return copy_strided<Sixteen>(from, stride, to, n);
    }
}

// Elements first .. first + n of a strided operand, side by side.
void gather(const Job& job, const Input& in, int64_t first, int64_t n, char* to) {
    const int64_t size = bytes_in_memory(in.kind);
    int64_t at[MAX_DIMS], rest = first, offset = 0;
    for (int64_t d = 0; d < job.dims; d++) {
        at[d] = rest % job.shape[d];
        rest /= job.shape[d];
        offset += at[d] * in.strides[d];
    }
    while (n > 0) {
        const int64_t left = job.shape[0] - at[0], run = left < n ? left : n;
        copy_run(size, in.data + offset, in.strides[0], to, run);
        to += run * size;
        n -= run;
        at[0] += run;
        offset += run * in.strides[0];
        for (int64_t d = 0; d + 1 < job.dims && at[d] == job.shape[d]; d++) {
            offset += in.strides[d + 1] - at[d] * in.strides[d];
            at[d] = 0;
            at[d + 1]++;
        }
    }
}

struct Part {                        // what one thread does
    const Job* job;
    int64_t first, last;
    char* space;                     // room for MAX_OPERANDS + 1 inputs and as many outputs of BLOCK elements
};

constexpr int64_t SLOT = BLOCK * 16, SPACE = (2 * MAX_OPERANDS + 1) * SLOT;

void run_part(void* argument) {
    const Part& part = *static_cast<Part*>(argument);
    const Job& job = *part.job;
    bool direct = true;
    for (int64_t k = 0; k < job.inputs; k++) direct &= job.in[k].linear && job.in[k].kind <= 16;
    for (int64_t k = 0; k < job.outputs; k++) direct &= job.out[k].kind <= 16;
    const int64_t step = direct ? part.last - part.first : BLOCK;
    for (int64_t first = part.first; first < part.last; first += step) {
        const int64_t n = part.last - first < step ? part.last - first : step;
        char *in[MAX_OPERANDS], *out[MAX_OPERANDS], *slot = part.space;
        for (int64_t k = 0; k < job.inputs; k++, slot += SLOT) {
            const Input& input = job.in[k];
            const int64_t size = bytes_in_memory(input.kind);
            in[k] = input.data + first * size;
            if (!input.linear) {
                char* to = input.kind <= 16 ? slot : part.space + 2 * MAX_OPERANDS * SLOT;
                gather(job, input, first, n, to);
                in[k] = to;
            }
            if (input.kind > 16) {
                widen(input.kind, in[k], slot, n);
                in[k] = slot;
            }
        }
        for (int64_t k = 0; k < job.outputs; k++, slot += SLOT)
            out[k] = job.out[k].kind <= 16 ? job.out[k].data + first * job.out[k].kind : slot;
        const int64_t position[] = {first, job.n, job.vector, job.work};
        job.run(n, in, out, job.extra, position);
        for (int64_t k = 0; k < job.outputs; k++)
            if (job.out[k].kind > 16) narrow(job.out[k].kind, out[k], job.out[k].data + first * bytes_in_memory(job.out[k].kind), n);
    }
}

// The workers. One launch has them at a time; another that comes meanwhile runs on its own thread alone.
struct Worker {
    Part part;
    Guard* guard;
    int outcome;
    bool busy;
    char* space;
};

pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER, taken = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t wake = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
Worker workers[MAX_WORKERS];
int started = 0;

void* work(void* argument) {
    Worker& me = *static_cast<Worker*>(argument);
    stack_for_signals();
    pthread_mutex_lock(&pool_lock);
    for (;;) {
        while (!me.busy) pthread_cond_wait(&wake, &pool_lock);
        pthread_mutex_unlock(&pool_lock);
        const int outcome = guarded(run_part, &me.part, *me.guard);
        pthread_mutex_lock(&pool_lock);
        me.outcome = outcome;
        me.busy = false;
        pthread_cond_broadcast(&done);
    }
    return nullptr;
}

void after_fork() {                  // the child has none of the threads, and the locks in whatever state they were
    started = 0;
    memset(workers, 0, sizeof workers);
    pool_lock = taken = PTHREAD_MUTEX_INITIALIZER;
    wake = done = PTHREAD_COND_INITIALIZER;
}

void start_workers(int wanted) {
    static bool registered = false;
    if (!registered) pthread_atfork(nullptr, nullptr, after_fork);
    registered = true;
    sigset_t all, mine;              // signals of the process go to threads of Python, not to workers
    sigfillset(&all);
    for (int sig : GUARD_SIGNALS) sigdelset(&all, sig);
    pthread_sigmask(SIG_SETMASK, &all, &mine);
    for (; started < wanted; started++) {
        Worker& w = workers[started];
        w.space = static_cast<char*>(malloc(SPACE));
        pthread_t id;
        if (!w.space || pthread_create(&id, nullptr, work, &w)) { free(w.space); break; }
        pthread_detach(id);
    }
    pthread_sigmask(SIG_SETMASK, &mine, nullptr);
}

int run_on_many(Job& job, int parts, char* space) {
    const int64_t each = (job.n / parts + BLOCK - 1) / BLOCK * BLOCK;
    Guard guards[MAX_WORKERS];
    int used = 0;
    pthread_mutex_lock(&pool_lock);
    start_workers(parts - 1);
    for (int64_t first = each; used < started && first < job.n; first += each, used++) {
        Worker& w = workers[used];
        const bool last = used + 1 == started || first + each >= job.n;
        w.part = {&job, first, last ? job.n : first + each, w.space};
        w.guard = &guards[used];
        w.busy = true;
    }
    pthread_cond_broadcast(&wake);
    pthread_mutex_unlock(&pool_lock);

    Part mine = {&job, 0, used ? each : job.n, space};
    Guard guard;
    int outcome = guarded(run_part, &mine, guard);
    pthread_mutex_lock(&pool_lock);
    for (;;) {
        int busy = 0, failed = outcome;
        for (int k = 0; k < used; k++) {
            busy += workers[k].busy;
            if (!workers[k].busy && workers[k].outcome) failed = workers[k].outcome;
        }
        if (job.main_thread && interrupted()) failed = outcome = INTERRUPTED;
        if (guard.stop) failed = outcome = INTERRUPTED;
        if (failed) for (int k = 0; k < used; k++) {
            guards[k].stop = 1;
            if (workers[k].busy && guards[k].armed) kick(guards[k]);
        }
        if (!busy) break;
        timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += failed ? 2000000 : 20000000;
        if (until.tv_nsec >= 1000000000) { until.tv_sec++; until.tv_nsec -= 1000000000; }
        pthread_cond_timedwait(&done, &pool_lock, &until);
    }
    for (int k = 0; k < used; k++)
        if (workers[k].outcome && (outcome == OK || outcome == INTERRUPTED) && workers[k].outcome != INTERRUPTED) outcome = workers[k].outcome;
    pthread_mutex_unlock(&pool_lock);
    return outcome;
}

}  // namespace

// `words`: run, n, inputs, outputs, dims, threads, main_thread, vector, work; the shape; for each input data, kind,
// linear and strides; for each output data and kind; then 16 bytes for each extra argument. Returns an Outcome.
extern "C" int sim_launch(const int64_t* words) {
    Job job;
    job.run = reinterpret_cast<Run>(*words++);
    job.n = *words++;
    job.inputs = *words++;
    job.outputs = *words++;
    job.dims = *words++;
    job.threads = *words++;
    job.main_thread = *words++;
    job.vector = *words++;
    job.work = *words++;
    job.shape = words;
    words += job.dims;
    for (int64_t k = 0; k < job.inputs; k++, words += 3 + job.dims)
        job.in[k] = {reinterpret_cast<char*>(words[0]), words[1], words[2], words + 3};
    for (int64_t k = 0; k < job.outputs; k++, words += 2) job.out[k] = {reinterpret_cast<char*>(words[0]), words[1]};
    job.extra = reinterpret_cast<const char*>(words);

    int64_t parts = job.n / CHUNK;
    if (parts > job.threads) parts = job.threads;
    if (parts > MAX_WORKERS) parts = MAX_WORKERS;
    static thread_local char* space = nullptr;
    if (!space) space = static_cast<char*>(malloc(SPACE));
    stack_for_signals();
    handlers_acquire(job.main_thread);
    int outcome;
    if (parts > 1 && pthread_mutex_trylock(&taken) == 0) {
        outcome = run_on_many(job, static_cast<int>(parts), space);
        pthread_mutex_unlock(&taken);
    } else {
        Part all = {&job, 0, job.n, space};
        Guard guard;
        outcome = guarded(run_part, &all, guard);
    }
    if (job.main_thread && interrupted()) outcome = INTERRUPTED;
    handlers_release(job.main_thread);
    return outcome;
}
