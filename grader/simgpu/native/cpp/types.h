// What run-time compilation for a GPU knows without any header, besides mathematics. No standard header is included
// anywhere: what the GPU's compiler does not know must not be known here either.
#pragma once
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ 900
#define __device__
#define __host__
#define __global__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

typedef unsigned long size_t;
typedef long ptrdiff_t;
#define NULL 0

// A vector that is stored whole, as the GPU does it, not component by component.
template <typename V> static inline V __sim_whole(const V& v) {
    V whole;
    __builtin_memcpy(&whole, &v, sizeof v);
    return whole;
}
#define __SIM_VECTORS(name, type)                                                                  \
    struct name##1 { type x; };                                                                    \
    struct alignas(2 * sizeof(type)) name##2 { type x, y; };                                       \
    struct name##3 { type x, y, z; };                                                              \
    struct alignas(4 * sizeof(type) < 16 ? 4 * sizeof(type) : 16) name##4 { type x, y, z, w; };    \
    static inline name##1 make_##name##1(type x) { return {x}; }                                   \
    static inline name##2 make_##name##2(type x, type y) { return __sim_whole<name##2>({x, y}); }  \
    static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }             \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return __sim_whole<name##4>({x, y, z, w}); }
__SIM_VECTORS(char, signed char) __SIM_VECTORS(uchar, unsigned char)
__SIM_VECTORS(short, short) __SIM_VECTORS(ushort, unsigned short)
__SIM_VECTORS(int, int) __SIM_VECTORS(uint, unsigned int)
__SIM_VECTORS(long, long) __SIM_VECTORS(ulong, unsigned long)
__SIM_VECTORS(longlong, long long) __SIM_VECTORS(ulonglong, unsigned long long)
__SIM_VECTORS(float, float) __SIM_VECTORS(double, double)

namespace std {
template <typename T> struct remove_reference { typedef T type; };
template <typename T> struct remove_reference<T&> { typedef T type; };
template <typename T> struct remove_reference<T&&> { typedef T type; };
template <typename T> constexpr typename remove_reference<T>::type&& move(T&& x) {
    return static_cast<typename remove_reference<T>::type&&>(x);
}
template <typename T> constexpr T&& forward(typename remove_reference<T>::type& x) { return static_cast<T&&>(x); }
}

#ifdef __APPLE__
#define __SIM_NAME(symbol) "_" symbol
#else
#define __SIM_NAME(symbol) symbol
#endif
extern "C" int printf(const char*, ...) asm(__SIM_NAME("sim_printf"));
extern "C" void __trap() asm(__SIM_NAME("sim_trap"));
extern "C" long long int clock64() asm(__SIM_NAME("sim_clock"));
