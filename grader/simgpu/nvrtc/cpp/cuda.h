// What CUDA C++ finds declared on the host in place of the GPU's compiler: types, coordinates, barriers, atomics, warps.
#pragma once
#include "types.h"

#define __shared__ static __thread  // so that they lie together, apart from all other variables
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __grid_constant__
#define __managed__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __cdecl

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
constexpr int warpSize = 32;

extern "C" char grid_shared_memory[];  // what `extern __shared__` arrays lie in

// Where the running thread is. A thread's coordinates never change: reading them once is enough.
extern "C" __attribute__((const, nothrow)) unsigned int grid_coordinate(int);
static inline uint3 __grid_thread_index() { return {grid_coordinate(0), grid_coordinate(1), grid_coordinate(2)}; }
static inline uint3 __grid_block_index() { return {grid_coordinate(3), grid_coordinate(4), grid_coordinate(5)}; }
static inline dim3 __grid_block_dim() { return {grid_coordinate(6), grid_coordinate(7), grid_coordinate(8)}; }
static inline dim3 __grid_grid_dim() { return {grid_coordinate(9), grid_coordinate(10), grid_coordinate(11)}; }
#define threadIdx (__grid_thread_index())
#define blockIdx (__grid_block_index())
#define blockDim (__grid_block_dim())
#define gridDim (__grid_grid_dim())

extern "C" {
void __syncthreads();
int __syncthreads_count(int);
int __syncthreads_and(int);
int __syncthreads_or(int);
void __syncwarp(unsigned int mask = 0xffffffffu);
unsigned int __activemask();
void __threadfence();
void __threadfence_block();
void __threadfence_system();
}

#define __GRID_ATOMIC(name, T) T name(T*, T);
#define __GRID_ATOMIC_INTEGERS(name) __GRID_ATOMIC(name, int) __GRID_ATOMIC(name, unsigned int) __GRID_ATOMIC(name, unsigned long long)
__GRID_ATOMIC_INTEGERS(atomicAdd) __GRID_ATOMIC(atomicAdd, float) __GRID_ATOMIC(atomicAdd, double)
__GRID_ATOMIC(atomicSub, int) __GRID_ATOMIC(atomicSub, unsigned int)
__GRID_ATOMIC_INTEGERS(atomicExch) __GRID_ATOMIC(atomicExch, float)
__GRID_ATOMIC_INTEGERS(atomicMin) __GRID_ATOMIC(atomicMin, long long)
__GRID_ATOMIC_INTEGERS(atomicMax) __GRID_ATOMIC(atomicMax, long long)
__GRID_ATOMIC_INTEGERS(atomicAnd) __GRID_ATOMIC_INTEGERS(atomicOr) __GRID_ATOMIC_INTEGERS(atomicXor)
__GRID_ATOMIC(atomicInc, unsigned int) __GRID_ATOMIC(atomicDec, unsigned int)
int atomicCAS(int*, int, int);
unsigned int atomicCAS(unsigned int*, unsigned int, unsigned int);
unsigned long long atomicCAS(unsigned long long*, unsigned long long, unsigned long long);
unsigned short atomicCAS(unsigned short*, unsigned short, unsigned short);
#define __GRID_SCOPES(name)                                                                               \
    template <typename T> static inline T name##_block(T* p, T v) { return name(p, v); }                  \
    template <typename T> static inline T name##_system(T* p, T v) { return name(p, v); }
__GRID_SCOPES(atomicAdd) __GRID_SCOPES(atomicSub) __GRID_SCOPES(atomicExch) __GRID_SCOPES(atomicMin) __GRID_SCOPES(atomicMax)
__GRID_SCOPES(atomicAnd) __GRID_SCOPES(atomicOr) __GRID_SCOPES(atomicXor) __GRID_SCOPES(atomicInc) __GRID_SCOPES(atomicDec)

// Loads and stores that name a cache: here plain ones.
#define __GRID_LOAD(name) template <typename T> static inline T name(const T* p) { return *p; }
__GRID_LOAD(__ldg) __GRID_LOAD(__ldca) __GRID_LOAD(__ldcg) __GRID_LOAD(__ldcs) __GRID_LOAD(__ldlu) __GRID_LOAD(__ldcv)
#define __GRID_STORE(name) template <typename T> static inline void name(T* p, T v) { *p = v; }
__GRID_STORE(__stcg) __GRID_STORE(__stcs) __GRID_STORE(__stwb) __GRID_STORE(__stwt)

// Warps.
extern "C" {
unsigned long grid_shuffle(unsigned int mask, unsigned long value, int source);
unsigned int grid_ballot(unsigned int mask, int predicate);
unsigned int grid_dissent(unsigned int mask, int predicate);
unsigned int grid_match(unsigned int mask, unsigned long value, bool* all);
unsigned int grid_reduce(unsigned int mask, unsigned int value, int op);
}
static inline int __grid_lane() { return (int)grid_coordinate(12); }

template <typename T> static inline unsigned long __grid_bits(T v) {
    static_assert(sizeof(T) <= 8, "a shuffle moves 4 or 8 bytes");
    unsigned long bits = 0;
    __builtin_memcpy(&bits, &v, sizeof(T));
    return bits;
}
template <typename T> static inline T __grid_from(unsigned long bits) {
    T v;
    __builtin_memcpy(&v, &bits, sizeof(T));
    return v;
}
#define __GRID_SHUFFLE(T)                                                                                             \
    static inline T __shfl_sync(unsigned int mask, T v, int source, int width = 32) {                                 \
        const int first = __grid_lane() & ~(width - 1);                                                               \
        return __grid_from<T>(grid_shuffle(mask, __grid_bits(v), first + (source & (width - 1))));                    \
    }                                                                                                                 \
    static inline T __shfl_up_sync(unsigned int mask, T v, unsigned int delta, int width = 32) {                      \
        const int lane = __grid_lane(), from = lane - (int)delta;                                                     \
        return __grid_from<T>(grid_shuffle(mask, __grid_bits(v), from < (lane & ~(width - 1)) ? lane : from));        \
    }                                                                                                                 \
    static inline T __shfl_down_sync(unsigned int mask, T v, unsigned int delta, int width = 32) {                    \
        const int lane = __grid_lane(), from = lane + (int)delta;                                                     \
        return __grid_from<T>(grid_shuffle(mask, __grid_bits(v), from > (lane | (width - 1)) ? lane : from));         \
    }                                                                                                                 \
    static inline T __shfl_xor_sync(unsigned int mask, T v, int lanes, int width = 32) {                              \
        const int lane = __grid_lane(), from = lane ^ lanes;                                                          \
        return __grid_from<T>(grid_shuffle(mask, __grid_bits(v), from > (lane | (width - 1)) ? lane : from));         \
    }
__GRID_SHUFFLE(int) __GRID_SHUFFLE(unsigned int) __GRID_SHUFFLE(long) __GRID_SHUFFLE(unsigned long)
__GRID_SHUFFLE(long long) __GRID_SHUFFLE(unsigned long long) __GRID_SHUFFLE(float) __GRID_SHUFFLE(double)

static inline unsigned int __ballot_sync(unsigned int mask, int predicate) { return grid_ballot(mask, predicate); }
static inline int __any_sync(unsigned int mask, int predicate) { return grid_ballot(mask, predicate) != 0; }
static inline int __all_sync(unsigned int mask, int predicate) { return grid_dissent(mask, predicate) == 0; }
#define __GRID_MATCH(T)                                                                       \
    static inline unsigned int __match_any_sync(unsigned int mask, T v) {                     \
        bool all;                                                                             \
        return grid_match(mask, __grid_bits(v), &all);                                        \
    }                                                                                         \
    static inline unsigned int __match_all_sync(unsigned int mask, T v, int* agreed) {        \
        bool all;                                                                             \
        const unsigned int lanes = grid_match(mask, __grid_bits(v), &all);                    \
        *agreed = all;                                                                        \
        return all ? lanes : 0;                                                               \
    }
__GRID_MATCH(int) __GRID_MATCH(unsigned int) __GRID_MATCH(long long) __GRID_MATCH(unsigned long long)
__GRID_MATCH(float) __GRID_MATCH(double)
static inline int __reduce_add_sync(unsigned int mask, int v) { return (int)grid_reduce(mask, v, 0); }
static inline unsigned int __reduce_add_sync(unsigned int mask, unsigned int v) { return grid_reduce(mask, v, 0); }
static inline int __reduce_min_sync(unsigned int mask, int v) { return (int)grid_reduce(mask, v, 1); }
static inline unsigned int __reduce_min_sync(unsigned int mask, unsigned int v) { return grid_reduce(mask, v, 3); }
static inline int __reduce_max_sync(unsigned int mask, int v) { return (int)grid_reduce(mask, v, 2); }
static inline unsigned int __reduce_max_sync(unsigned int mask, unsigned int v) { return grid_reduce(mask, v, 4); }
static inline unsigned int __reduce_and_sync(unsigned int mask, unsigned int v) { return grid_reduce(mask, v, 5); }
static inline unsigned int __reduce_or_sync(unsigned int mask, unsigned int v) { return grid_reduce(mask, v, 6); }
static inline unsigned int __reduce_xor_sync(unsigned int mask, unsigned int v) { return grid_reduce(mask, v, 7); }

// Functions of the C library that the GPU has too; these tell of their accesses.
extern "C" {
void* __tsan_memcpy(void*, const void*, size_t);
void* __tsan_memmove(void*, const void*, size_t);
void* __tsan_memset(void*, int, size_t);
}
extern "C" void* malloc(size_t) asm(__SIM_NAME("grid_malloc"));
extern "C" void free(void*) asm(__SIM_NAME("grid_free"));
void* operator new(size_t n) { return malloc(n); }
void* operator new[](size_t n) { return malloc(n); }
void operator delete(void*) noexcept {}
void operator delete[](void*) noexcept {}
void operator delete(void*, size_t) noexcept {}
void operator delete[](void*, size_t) noexcept {}
#define memcpy __tsan_memcpy
#define memmove __tsan_memmove
#define memset __tsan_memset

static inline long long int clock() { return clock64(); }
static inline unsigned long long __globaltimer() { return (unsigned long long)clock64(); }
static inline void __nanosleep(unsigned int) {}
[[noreturn]] void __grid_assertion(const char* condition, const char* file, int line, const char* function);
#define assert(condition) ((condition) ? (void)0 : __grid_assertion(#condition, __FILE__, __LINE__, __func__))

// How the runtime calls a kernel: with the values that the addresses in `arguments` point to.
struct __grid_parameter { int size, pointer, constant; };
template <typename T> struct __grid_describe { static constexpr __grid_parameter value = {(int)sizeof(T), 0, 0}; };
template <typename T> struct __grid_describe<T*> { static constexpr __grid_parameter value = {(int)sizeof(T*), 1, 0}; };
template <typename T> struct __grid_describe<const T*> { static constexpr __grid_parameter value = {(int)sizeof(T*), 1, 1}; };
template <typename T> struct __grid_describe<T&> { static constexpr __grid_parameter value = {(int)sizeof(T*), 1, 0}; };
template <typename T> struct __grid_describe<const T&> { static constexpr __grid_parameter value = {(int)sizeof(T*), 1, 1}; };
template <typename T> struct __grid_value { static inline __attribute__((always_inline, no_sanitize("thread"))) T& at(void* p) { return *(T*)p; } };
template <typename T> struct __grid_value<T&> { static inline __attribute__((always_inline, no_sanitize("thread"))) T& at(void* p) { return **(T**)p; } };
template <typename T> struct __grid_bare { typedef T type; };
template <typename T> struct __grid_bare<const T> { typedef T type; };
template <typename T> struct __grid_bare<volatile T> { typedef T type; };
template <int...> struct __grid_numbers {};
template <int n, int... rest> struct __grid_count : __grid_count<n - 1, n - 1, rest...> {};
template <int... all> struct __grid_count<0, all...> { typedef __grid_numbers<all...> type; };
template <typename... P> struct __grid_parameters {
    static constexpr int count = sizeof...(P);
    static constexpr __grid_parameter list[sizeof...(P) + 1] = {__grid_describe<typename __grid_bare<P>::type>::value..., {0, 0, 0}};
};
template <typename... P> constexpr __grid_parameters<P...> __grid_parameters_of(void (*)(P...)) { return {}; }
template <typename... P, int... i>
static inline __attribute__((always_inline, no_sanitize("thread"))) void __grid_apply(void (*kernel)(P...), void** arguments, __grid_numbers<i...>) {
    kernel(__grid_value<P>::at(arguments[i])...);
}
template <typename... P>
static inline __attribute__((always_inline, no_sanitize("thread"))) void __grid_call(void (*kernel)(P...), void** arguments) {
    __grid_apply(kernel, arguments, typename __grid_count<sizeof...(P)>::type());
}
