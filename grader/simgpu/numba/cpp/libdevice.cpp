// NVIDIA's libdevice for kernels that run on the host: the functions that numba's kernels call for arithmetic.
// The C library's functions are within CUDA's documented errors; the "fast" ones here are the exact ones.
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "half.h"

extern "C" {                         // of native/cpp/special.cpp
double sim_erfinv(double);
double sim_erfcinv(double);
double sim_erfcx(double);
double sim_normcdf(double);
}
constexpr long double PI = 3.14159265358979323846264338327950288L, SQRT2 = 1.41421356237309504880168872420969808L;

#define NV extern "C"
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

// ------------------------------------------------------------------ of the C library, double and float

#define UNARY(name) \
    NV f64 __nv_##name(f64 x) { return name(x); } \
    NV f32 __nv_##name##f(f32 x) { return name##f(x); }
#define BINARY(name) \
    NV f64 __nv_##name(f64 x, f64 y) { return name(x, y); } \
    NV f32 __nv_##name##f(f32 x, f32 y) { return name##f(x, y); }
UNARY(acos) UNARY(acosh) UNARY(asin) UNARY(asinh) UNARY(atan) UNARY(atanh) UNARY(cbrt) UNARY(ceil) UNARY(cos)
UNARY(cosh) UNARY(erf) UNARY(erfc) UNARY(exp) UNARY(exp2) UNARY(expm1) UNARY(fabs) UNARY(floor) UNARY(lgamma)
UNARY(log) UNARY(log10) UNARY(log1p) UNARY(log2) UNARY(logb) UNARY(nearbyint) UNARY(rint) UNARY(round) UNARY(sin)
UNARY(sinh) UNARY(sqrt) UNARY(tan) UNARY(tanh) UNARY(tgamma) UNARY(trunc)
BINARY(atan2) BINARY(copysign) BINARY(fdim) BINARY(fmax) BINARY(fmin) BINARY(fmod) BINARY(hypot) BINARY(nextafter)
BINARY(pow) BINARY(remainder)

// ------------------------------------------------------------------ through double

#define THROUGH_DOUBLE(name, expression) \
    NV f64 __nv_##name(f64 x) { return expression; } \
    NV f32 __nv_##name##f(f32 given) { f64 x = given; return static_cast<f32>(expression); }
static f64 power_of_ten(f64 x) { return static_cast<f64>(powl(10, x)); }
static f64 sine_pi(f64 x) { x = fmod(x, 2.0); return x == 0 ? x : fmod(x, 1.0) == 0 ? 0.0 : static_cast<f64>(sinl(PI * x)); }
static f64 cosine_pi(f64 x) { x = fmod(fabs(x), 2.0); return x == 0.5 || x == 1.5 ? 0.0 : static_cast<f64>(cosl(PI * x)); }
THROUGH_DOUBLE(exp10, power_of_ten(x))
THROUGH_DOUBLE(rsqrt, static_cast<f64>(1 / sqrtl(x)))
THROUGH_DOUBLE(rcbrt, static_cast<f64>(1 / cbrtl(x)))
THROUGH_DOUBLE(sinpi, sine_pi(x))
THROUGH_DOUBLE(cospi, cosine_pi(x))
THROUGH_DOUBLE(j0, j0(x))
THROUGH_DOUBLE(j1, j1(x))
THROUGH_DOUBLE(y0, y0(x))
THROUGH_DOUBLE(y1, y1(x))
THROUGH_DOUBLE(erfinv, sim_erfinv(x))
THROUGH_DOUBLE(erfcinv, sim_erfcinv(x))
THROUGH_DOUBLE(erfcx, sim_erfcx(x))
THROUGH_DOUBLE(normcdf, sim_normcdf(x))
THROUGH_DOUBLE(normcdfinv, -static_cast<f64>(SQRT2) * sim_erfcinv(2 * x))
NV f64 __nv_jn(i32 n, f64 x) { return jn(n, x); }
NV f32 __nv_jnf(i32 n, f32 x) { return static_cast<f32>(jn(n, x)); }
NV f64 __nv_yn(i32 n, f64 x) { return yn(n, x); }
NV f32 __nv_ynf(i32 n, f32 x) { return static_cast<f32>(yn(n, x)); }

// ------------------------------------------------------------------ several results, integers beside

#define PARTS(suffix, F) \
    NV F __nv_fma##suffix(F x, F y, F z) { return std::fma(x, y, z); } \
    NV F __nv_frexp##suffix(F x, i32* e) { int n; F m = std::frexp(x, &n); *e = n; return m; } \
    NV F __nv_modf##suffix(F x, F* whole) { F w; F part = std::modf(x, &w); *whole = w; return part; } \
    NV F __nv_remquo##suffix(F x, F y, i32* q) { int n; F r = std::remquo(x, y, &n); *q = n; return r; } \
    NV void __nv_sincos##suffix(F x, F* s, F* c) { *s = std::sin(x); *c = std::cos(x); } \
    NV void __nv_sincospi##suffix(F x, F* s, F* c) { *s = static_cast<F>(sine_pi(x)); *c = static_cast<F>(cosine_pi(x)); } \
    NV F __nv_ldexp##suffix(F x, i32 n) { return std::ldexp(x, n); } \
    NV F __nv_scalbn##suffix(F x, i32 n) { return std::scalbn(x, n); } \
    NV F __nv_powi##suffix(F x, i32 n) { return static_cast<F>(std::pow(static_cast<f64>(x), n)); } \
    NV i32 __nv_ilogb##suffix(F x) { return std::ilogb(x); } \
    NV i64 __nv_llrint##suffix(F x) { return std::llrint(x); } \
    NV i64 __nv_llround##suffix(F x) { return std::llround(x); }
PARTS(, f64) PARTS(f, f32)
NV i32 __nv_isfinited(f64 x) { return std::isfinite(x); }
NV i32 __nv_finitef(f32 x) { return std::isfinite(x); }
NV i32 __nv_isinfd(f64 x) { return std::isinf(x); }
NV i32 __nv_isinff(f32 x) { return std::isinf(x); }
NV i32 __nv_isnand(f64 x) { return std::isnan(x); }
NV i32 __nv_isnanf(f32 x) { return std::isnan(x); }
NV i32 __nv_signbitd(f64 x) { return std::signbit(x); }
NV i32 __nv_signbitf(f32 x) { return std::signbit(x); }
NV f32 __nv_saturatef(f32 x) { return !(x > 0) ? 0 : x < 1 ? x : 1; }

// ------------------------------------------------------------------ fast float functions

NV f32 __nv_fast_cosf(f32 x) { return cosf(x); }
NV f32 __nv_fast_sinf(f32 x) { return sinf(x); }
NV f32 __nv_fast_tanf(f32 x) { return tanf(x); }
NV f32 __nv_fast_expf(f32 x) { return expf(x); }
NV f32 __nv_fast_exp10f(f32 x) { return static_cast<f32>(power_of_ten(x)); }
NV f32 __nv_fast_logf(f32 x) { return logf(x); }
NV f32 __nv_fast_log2f(f32 x) { return log2f(x); }
NV f32 __nv_fast_log10f(f32 x) { return log10f(x); }
NV f32 __nv_fast_powf(f32 x, f32 y) { return powf(x, y); }
NV f32 __nv_fast_fdividef(f32 x, f32 y) { return x / y; }
NV void __nv_fast_sincosf(f32 x, f32* s, f32* c) { *s = sinf(x); *c = cosf(x); }

// ------------------------------------------------------------------ a given rounding

struct Rounding {
    int before = fegetround();
    explicit Rounding(int mode) { fesetround(mode); }
    ~Rounding() { fesetround(before); }
};
template <class T> static T opaque(T x) { volatile T v = x; return v; }
#define ROUNDED(name, R, takes, expression) \
    NV R __nv_##name##_rn takes { Rounding r(FE_TONEAREST); return opaque<R>(expression); } \
    NV R __nv_##name##_rz takes { Rounding r(FE_TOWARDZERO); return opaque<R>(expression); } \
    NV R __nv_##name##_ru takes { Rounding r(FE_UPWARD); return opaque<R>(expression); } \
    NV R __nv_##name##_rd takes { Rounding r(FE_DOWNWARD); return opaque<R>(expression); }
ROUNDED(dadd, f64, (f64 x, f64 y), opaque(x) + opaque(y))
ROUNDED(dmul, f64, (f64 x, f64 y), opaque(x) * opaque(y))
ROUNDED(ddiv, f64, (f64 x, f64 y), opaque(x) / opaque(y))
ROUNDED(drcp, f64, (f64 x), 1 / opaque(x))
ROUNDED(dsqrt, f64, (f64 x), std::sqrt(opaque(x)))
ROUNDED(fma, f64, (f64 x, f64 y, f64 z), std::fma(opaque(x), opaque(y), opaque(z)))
ROUNDED(fadd, f32, (f32 x, f32 y), opaque(x) + opaque(y))
ROUNDED(fsub, f32, (f32 x, f32 y), opaque(x) - opaque(y))
ROUNDED(fmul, f32, (f32 x, f32 y), opaque(x) * opaque(y))
ROUNDED(fdiv, f32, (f32 x, f32 y), opaque(x) / opaque(y))
ROUNDED(frcp, f32, (f32 x), 1 / opaque(x))
ROUNDED(fsqrt, f32, (f32 x), std::sqrt(opaque(x)))
ROUNDED(fmaf, f32, (f32 x, f32 y, f32 z), std::fma(opaque(x), opaque(y), opaque(z)))
ROUNDED(double2float, f32, (f64 x), static_cast<f32>(opaque(x)))
ROUNDED(int2float, f32, (i32 x), static_cast<f32>(opaque(x)))
ROUNDED(uint2float, f32, (u32 x), static_cast<f32>(opaque(x)))
ROUNDED(ll2float, f32, (i64 x), static_cast<f32>(opaque(x)))
ROUNDED(ull2float, f32, (u64 x), static_cast<f32>(opaque(x)))
ROUNDED(ll2double, f64, (i64 x), static_cast<f64>(opaque(x)))
ROUNDED(ull2double, f64, (u64 x), static_cast<f64>(opaque(x)))
NV f32 __nv_frsqrt_rn(f32 x) { return static_cast<f32>(1 / std::sqrt(static_cast<f64>(x))); }
NV f64 __nv_int2double_rn(i32 x) { return x; }
NV f64 __nv_uint2double_rn(u32 x) { return x; }

// A float as an integer: rounded, then held within the type's limits; NaN is 0 (64 bits: the lowest bit pattern).
template <class I, class F> static I to_integer(F x, int mode) {
    Rounding r(mode);
    const F whole = opaque(std::nearbyint(opaque(x)));
    if (whole != whole) return sizeof(I) == 8 ? static_cast<I>(u64{1} << 63) : 0;
    const F limit = std::ldexp(F(1), std::numeric_limits<I>::digits);
    if (whole >= limit) return std::numeric_limits<I>::max();
    if (whole < static_cast<F>(std::numeric_limits<I>::min())) return std::numeric_limits<I>::min();
    return static_cast<I>(whole);
}
#define TO_INTEGER(name, I, F) \
    NV I __nv_##name##_rn(F x) { return to_integer<I>(x, FE_TONEAREST); } \
    NV I __nv_##name##_rz(F x) { return to_integer<I>(x, FE_TOWARDZERO); } \
    NV I __nv_##name##_ru(F x) { return to_integer<I>(x, FE_UPWARD); } \
    NV I __nv_##name##_rd(F x) { return to_integer<I>(x, FE_DOWNWARD); }
TO_INTEGER(double2int, i32, f64) TO_INTEGER(double2uint, u32, f64) TO_INTEGER(double2ll, i64, f64)
TO_INTEGER(double2ull, u64, f64) TO_INTEGER(float2int, i32, f32) TO_INTEGER(float2uint, u32, f32)
TO_INTEGER(float2ll, i64, f32) TO_INTEGER(float2ull, u64, f32)

// ------------------------------------------------------------------ bits

template <class To, class From> static To same_bits(From x) { To y; memcpy(&y, &x, sizeof y); return y; }
NV i64 __nv_double_as_longlong(f64 x) { return same_bits<i64>(x); }
NV f64 __nv_longlong_as_double(i64 x) { return same_bits<f64>(x); }
NV i32 __nv_float_as_int(f32 x) { return same_bits<i32>(x); }
NV f32 __nv_int_as_float(i32 x) { return same_bits<f32>(x); }
NV i32 __nv_double2hiint(f64 x) { return static_cast<i32>(same_bits<u64>(x) >> 32); }
NV i32 __nv_double2loint(f64 x) { return static_cast<i32>(same_bits<u64>(x)); }
NV f64 __nv_hiloint2double(i32 hi, i32 lo) { return same_bits<f64>(static_cast<u64>(static_cast<u32>(hi)) << 32 | static_cast<u32>(lo)); }
NV i32 __nv_popc(u32 x) { return __builtin_popcount(x); }
NV i32 __nv_popcll(u64 x) { return __builtin_popcountll(x); }
NV i32 __nv_clz(u32 x) { return x ? __builtin_clz(x) : 32; }
NV i32 __nv_clzll(u64 x) { return x ? __builtin_clzll(x) : 64; }
NV i32 __nv_ffs(u32 x) { return __builtin_ffs(static_cast<i32>(x)); }
NV i32 __nv_ffsll(u64 x) { return __builtin_ffsll(static_cast<i64>(x)); }
template <class U> static U reversed(U x) { U y = 0; for (unsigned i = 0; i < 8 * sizeof x; i++) y |= (x >> i & 1) << (8 * sizeof x - 1 - i); return y; }
NV u32 __nv_brev(u32 x) { return reversed(x); }
NV u64 __nv_brevll(u64 x) { return reversed(x); }
NV u32 __nv_byte_perm(u32 x, u32 y, u32 selectors) {
    const u64 bytes = static_cast<u64>(y) << 32 | x;
    u32 result = 0;
    for (int i = 0; i < 4; i++) result |= static_cast<u32>(bytes >> 8 * (selectors >> 4 * i & 7) & 255) << 8 * i;
    return result;
}

// ------------------------------------------------------------------ integers

NV i32 __nv_abs(i32 x) { return x < 0 ? static_cast<i32>(-static_cast<u32>(x)) : x; }
NV i64 __nv_llabs(i64 x) { return x < 0 ? static_cast<i64>(-static_cast<u64>(x)) : x; }
NV i32 __nv_max(i32 x, i32 y) { return x > y ? x : y; }
NV i32 __nv_min(i32 x, i32 y) { return x < y ? x : y; }
NV u32 __nv_umax(u32 x, u32 y) { return x > y ? x : y; }
NV u32 __nv_umin(u32 x, u32 y) { return x < y ? x : y; }
NV i64 __nv_llmax(i64 x, i64 y) { return x > y ? x : y; }
NV i64 __nv_llmin(i64 x, i64 y) { return x < y ? x : y; }
NV u64 __nv_ullmax(u64 x, u64 y) { return x > y ? x : y; }
NV u64 __nv_ullmin(u64 x, u64 y) { return x < y ? x : y; }
NV i32 __nv_mulhi(i32 x, i32 y) { return static_cast<i32>(static_cast<i64>(x) * y >> 32); }
NV u32 __nv_umulhi(u32 x, u32 y) { return static_cast<u32>(static_cast<u64>(x) * y >> 32); }
NV i64 __nv_mul64hi(i64 x, i64 y) { return static_cast<i64>(static_cast<__int128>(x) * y >> 64); }
NV u64 __nv_umul64hi(u64 x, u64 y) { return static_cast<u64>(static_cast<unsigned __int128>(x) * y >> 64); }
NV i32 __nv_mul24(i32 x, i32 y) { return static_cast<i32>(static_cast<i64>(static_cast<i32>(static_cast<u32>(x) << 8) >> 8) * (static_cast<i32>(static_cast<u32>(y) << 8) >> 8)); }
NV u32 __nv_umul24(u32 x, u32 y) { return (x & 0xffffff) * (y & 0xffffff); }
NV i32 __nv_hadd(i32 x, i32 y) { return static_cast<i32>((static_cast<i64>(x) + y) >> 1); }
NV i32 __nv_rhadd(i32 x, i32 y) { return static_cast<i32>((static_cast<i64>(x) + y + 1) >> 1); }
NV u32 __nv_uhadd(u32 x, u32 y) { return static_cast<u32>((static_cast<u64>(x) + y) >> 1); }
NV u32 __nv_urhadd(u32 x, u32 y) { return static_cast<u32>((static_cast<u64>(x) + y + 1) >> 1); }
NV u32 __nv_sad(i32 x, i32 y, u32 z) { return z + static_cast<u32>(x > y ? static_cast<i64>(x) - y : static_cast<i64>(y) - x); }
NV u32 __nv_usad(u32 x, u32 y, u32 z) { return z + (x > y ? x - y : y - x); }
