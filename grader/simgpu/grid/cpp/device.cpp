// The functions of CUDA C++ that concern more than one thread. They are called from the learner's own lines, so
// that the return address says which.
#include "launch.h"

#define HERE reinterpret_cast<uint64_t>(__builtin_return_address(0))
#define EXPORT __attribute__((noinline))

namespace {
template <typename T, typename F>
inline T changed(T* p, uint64_t site, F f) {
    grid_atomic(reinterpret_cast<uint64_t>(p), sizeof(T), site);
    const T old = *p;
    *p = f(old);
    return old;
}
}  // namespace

#define ATOMIC_OP(name, T, expression) EXPORT T name(T* p, T v) { return changed(p, HERE, [v](T old) -> T { return expression; }); }
#define ATOMIC_INTEGERS(name, expression) \
    ATOMIC_OP(name, int, expression) ATOMIC_OP(name, unsigned int, expression) ATOMIC_OP(name, unsigned long long, expression)
ATOMIC_OP(atomicAdd, int, static_cast<int>(static_cast<unsigned int>(old) + v))
ATOMIC_OP(atomicAdd, unsigned int, old + v)
ATOMIC_OP(atomicAdd, unsigned long long, old + v)
ATOMIC_OP(atomicAdd, float, old + v)
ATOMIC_OP(atomicAdd, double, old + v)
ATOMIC_OP(atomicSub, int, static_cast<int>(static_cast<unsigned int>(old) - v))
ATOMIC_OP(atomicSub, unsigned int, old - v)
ATOMIC_INTEGERS(atomicExch, ((void)old, v))
ATOMIC_OP(atomicExch, float, ((void)old, v))
ATOMIC_INTEGERS(atomicMin, old < v ? old : v)
ATOMIC_OP(atomicMin, long long, old < v ? old : v)
ATOMIC_INTEGERS(atomicMax, old > v ? old : v)
ATOMIC_OP(atomicMax, long long, old > v ? old : v)
ATOMIC_INTEGERS(atomicAnd, old & v)
ATOMIC_INTEGERS(atomicOr, old | v)
ATOMIC_INTEGERS(atomicXor, old ^ v)
ATOMIC_OP(atomicInc, unsigned int, old >= v ? 0 : old + 1)
ATOMIC_OP(atomicDec, unsigned int, old == 0 || old > v ? v : old - 1)

#define COMPARE_AND_SWAP(T)                                                      \
    EXPORT T atomicCAS(T* p, T expected, T v) {                                  \
        grid_compare_and_swap(reinterpret_cast<uint64_t>(p), sizeof(T), HERE);   \
        const T old = *p;                                                        \
        if (old == expected) *p = v;                                             \
        return old;                                                              \
    }
COMPARE_AND_SWAP(int) COMPARE_AND_SWAP(unsigned int) COMPARE_AND_SWAP(unsigned long long) COMPARE_AND_SWAP(unsigned short)

extern "C" int sim_printf(const char*, ...);

[[noreturn]] void __grid_assertion(const char* condition, const char* file, int line, const char* function) {
    const int32_t *b = grid_state.block, *t = grid_state.thread;
    sim_printf("%s:%d: %s: block: [%d,%d,%d], thread: [%d,%d,%d] Assertion `%s` failed.\n", file, line, function,
               b[0], b[1], b[2], t[0], t[1], t[2], condition);
    leave_launch(ASSERTED);
}

// The heap that kernels allocate from: 8 MiB, as a GPU's by default. It is empty again at each launch.
constexpr size_t HEAP = 8u << 20;
alignas(128) char grid_heap[HEAP];
size_t heap_used = 0;

extern "C" {
void* grid_malloc(size_t n) {
    const size_t size = (n + 15) / 16 * 16;
    if (n > HEAP || size > HEAP - heap_used) return nullptr;
    heap_used += size;
    return grid_heap + heap_used - size;
}
void grid_free(void*) {}

unsigned int grid_coordinate(int which) { return reinterpret_cast<const int32_t*>(&grid_state)[which]; }

void __syncthreads() { grid_barrier(HERE); }
int __syncthreads_count(int predicate) { return grid_barrier_count(predicate, HERE); }
int __syncthreads_or(int predicate) { return grid_barrier_count(predicate, HERE) != 0; }
int __syncthreads_and(int predicate) {
    const int count = grid_barrier_count(predicate, HERE);
    return count == grid_barrier_threads();
}
void __syncwarp(unsigned int mask) { grid_warp_sync(mask, HERE); }
unsigned int __activemask() { return grid_active_mask(HERE); }
void __threadfence() { grid_fence(); }
void __threadfence_block() {}
void __threadfence_system() { grid_fence(); }

// The value that lane `source` gives; its own if that lane gives none.
uint64_t grid_shuffle(uint32_t mask, uint64_t value, int source) {
    uint32_t lanes;
    const uint64_t* given = grid_warp_exchange(mask, value, &lanes, HERE);
    return source >= 0 && source < WARP_SIZE && (lanes >> source & 1) ? given[source] : value;
}

uint32_t grid_ballot(uint32_t mask, int predicate) {
    uint32_t lanes, votes = 0;
    const uint64_t* given = grid_warp_exchange(mask, predicate != 0, &lanes, HERE);
    for (int i = 0; i < WARP_SIZE; i++)
        if (lanes >> i & 1) votes |= static_cast<uint32_t>(given[i]) << i;
    return votes;
}

// How many of the lanes that met voted otherwise: 0 if all agree.
uint32_t grid_dissent(uint32_t mask, int predicate) {
    uint32_t lanes, against = 0;
    const uint64_t* given = grid_warp_exchange(mask, predicate != 0, &lanes, HERE);
    for (int i = 0; i < WARP_SIZE; i++)
        if (lanes >> i & 1) against += !given[i];
    return against;
}

// The lanes that gave the same value; `*all`: did every lane that met?
uint32_t grid_match(uint32_t mask, uint64_t value, bool* all) {
    uint32_t lanes, same = 0;
    const uint64_t* given = grid_warp_exchange(mask, value, &lanes, HERE);
    for (int i = 0; i < WARP_SIZE; i++)
        if ((lanes >> i & 1) && given[i] == value) same |= 1u << i;
    *all = same == lanes;
    return same;
}

enum { ADD, MIN, MAX, UMIN, UMAX, AND, OR, XOR };
uint32_t grid_reduce(uint32_t mask, uint32_t value, int op) {
    uint32_t lanes, r = value;
    const uint64_t* given = grid_warp_exchange(mask, value, &lanes, HERE);
    for (int i = 0; i < WARP_SIZE; i++) {
        if (!(lanes >> i & 1) || i == grid_state.lane) continue;
        const uint32_t v = static_cast<uint32_t>(given[i]);
        const int32_t a = static_cast<int32_t>(r), b = static_cast<int32_t>(v);
        switch (op) {
            case ADD: r += v; break;
            case MIN: r = a < b ? r : v; break;
            case MAX: r = a > b ? r : v; break;
            case UMIN: r = r < v ? r : v; break;
            case UMAX: r = r > v ? r : v; break;
            case AND: r &= v; break;
            case OR: r |= v; break;
            default: r ^= v;
        }
    }
    return r;
}
}
