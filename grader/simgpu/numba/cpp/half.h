// float16 arithmetic of the package numba-cuda, whose kernels call it by the names that NVIDIA's C++ header gives it.
// Numbers are 16 bits; all is computed in double and rounded once, as exact as the device or better.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

typedef uint16_t half_bits;
static inline double wide(const half_bits* x) { _Float16 h; memcpy(&h, x, 2); return static_cast<double>(h); }
static inline int give(half_bits* to, double x) { const _Float16 h = static_cast<_Float16>(x); memcpy(to, &h, 2); return 0; }

#define HALF_1(mangled, expression) \
    extern "C" int mangled##_nbst(half_bits* to, const half_bits* x_) { const double x = wide(x_); return give(to, expression); }
#define HALF_2(mangled, expression) \
    extern "C" int mangled##_nbst(half_bits* to, const half_bits* x_, const half_bits* y_) { \
        const double x = wide(x_), y = wide(y_); return give(to, expression); }
#define HALF_COMPARE(mangled, expression) \
    extern "C" int mangled##_nbst(bool* to, const half_bits* x_, const half_bits* y_) { \
        const double x = wide(x_), y = wide(y_); *to = expression; return 0; }
#define HALF_IN_PLACE(mangled, expression) \
    extern "C" int mangled##_nbst(half_bits* to, half_bits* x_, const half_bits* y_) { \
        const double x = wide(x_), y = wide(y_); give(x_, expression); return give(to, expression); }

// + - * / and their in-place forms, then comparisons: operators, and functions with names
HALF_2(_ZplRK6__halfS1_, x + y) HALF_2(_ZmiRK6__halfS1_, x - y) HALF_2(_ZmlRK6__halfS1_, x * y) HALF_2(_ZdvRK6__halfS1_, x / y)
HALF_IN_PLACE(_ZpLR6__halfRKS_, x + y) HALF_IN_PLACE(_ZmIR6__halfRKS_, x - y)
HALF_IN_PLACE(_ZmLR6__halfRKS_, x * y) HALF_IN_PLACE(_ZdVR6__halfRKS_, x / y)
HALF_1(_ZngRK6__half, -x) HALF_1(_ZpsRK6__half, x)
HALF_COMPARE(_ZeqRK6__halfS1_, x == y) HALF_COMPARE(_ZneRK6__halfS1_, x != y) HALF_COMPARE(_ZgtRK6__halfS1_, x > y)
HALF_COMPARE(_ZltRK6__halfS1_, x < y) HALF_COMPARE(_ZgeRK6__halfS1_, x >= y) HALF_COMPARE(_ZleRK6__halfS1_, x <= y)
HALF_2(_ZL6__hadd6__halfS_, x + y) HALF_2(_ZL6__hsub6__halfS_, x - y) HALF_2(_ZL6__hmul6__halfS_, x * y) HALF_2(_ZL6__hdiv6__halfS_, x / y)
HALF_1(_ZL6__hneg6__half, -x) HALF_1(_ZL6__habs6__half, std::fabs(x))
HALF_COMPARE(_ZL5__heq6__halfS_, x == y) HALF_COMPARE(_ZL5__hne6__halfS_, x != y) HALF_COMPARE(_ZL5__hgt6__halfS_, x > y)
HALF_COMPARE(_ZL5__hlt6__halfS_, x < y) HALF_COMPARE(_ZL5__hge6__halfS_, x >= y) HALF_COMPARE(_ZL5__hle6__halfS_, x <= y)
HALF_2(_ZL6__hmax6__halfS_, std::fmax(x, y)) HALF_2(_ZL6__hmin6__halfS_, std::fmin(x, y))
extern "C" int _ZL6__hfma6__halfS_S__nbst(half_bits* to, const half_bits* x, const half_bits* y, const half_bits* z) {
    return give(to, std::fma(wide(x), wide(y), wide(z)));
}

// functions
HALF_1(_ZL4hsin6__half, std::sin(x)) HALF_1(_ZL4hcos6__half, std::cos(x)) HALF_1(_ZL4hexp6__half, std::exp(x))
HALF_1(_ZL5hexp26__half, std::exp2(x)) HALF_1(_ZL6hexp106__half, std::pow(10.0, x)) HALF_1(_ZL4hlog6__half, std::log(x))
HALF_1(_ZL5hlog26__half, std::log2(x)) HALF_1(_ZL6hlog106__half, std::log10(x)) HALF_1(_ZL5hsqrt6__half, std::sqrt(x))
HALF_1(_ZL6hrsqrt6__half, 1 / std::sqrt(x)) HALF_1(_ZL4hrcp6__half, 1 / x) HALF_1(_ZL5hceil6__half, std::ceil(x))
HALF_1(_ZL6hfloor6__half, std::floor(x)) HALF_1(_ZL6htrunc6__half, std::trunc(x)) HALF_1(_ZL5hrint6__half, std::nearbyint(x))
HALF_1(_ZL5htanh6__half, std::tanh(x)) HALF_1(_ZL12htanh_approx6__half, std::tanh(x))

// the built-in target calls functions by wrappers of its own
#define HALF_WRAPPER(name, expression) \
    extern "C" int __numba_wrapper_##name(half_bits* to, half_bits x_) { const double x = wide(&x_); return give(to, expression); }
HALF_WRAPPER(hsin, std::sin(x)) HALF_WRAPPER(hcos, std::cos(x)) HALF_WRAPPER(hlog, std::log(x)) HALF_WRAPPER(hlog10, std::log10(x))
HALF_WRAPPER(hlog2, std::log2(x)) HALF_WRAPPER(hexp, std::exp(x)) HALF_WRAPPER(hexp10, std::pow(10.0, x)) HALF_WRAPPER(hexp2, std::exp2(x))
HALF_WRAPPER(hsqrt, std::sqrt(x)) HALF_WRAPPER(hrsqrt, 1 / std::sqrt(x)) HALF_WRAPPER(hfloor, std::floor(x)) HALF_WRAPPER(hceil, std::ceil(x))
HALF_WRAPPER(hrcp, 1 / x) HALF_WRAPPER(hrint, std::nearbyint(x)) HALF_WRAPPER(htrunc, std::trunc(x))
extern "C" int __numba_wrapper_hdiv(half_bits* to, half_bits x, half_bits y) { return give(to, wide(&x) / wide(&y)); }
