// CUDA's mathematical functions for float and double.
//
// float is computed in double and rounded once (half an ULP), through the vector variants of the C library where it
// has them: a loop over such a call is vectorised without -ffast-math. double takes the C library's double function
// where that is right to one ULP, else its long double one.
#if __SIM_VECTOR >= 1
#define __SIM_V1 __attribute__((simd("notinbranch"), const, nothrow))
#else
#define __SIM_V1 __attribute__((const, nothrow))
#endif
#if __SIM_VECTOR >= 2
#define __SIM_V2 __SIM_V1
#else
#define __SIM_V2 __attribute__((const, nothrow))
#endif
#define __SIM_PURE __attribute__((const, nothrow))

#define __SIM_FUNCTION1(name, vector, symbol, wide, type)                                    \
    extern "C" vector double __sim_v_##name(double) asm(__SIM_NAME(symbol));                 \
    extern "C" __SIM_PURE type __sim_w_##name(type) asm(__SIM_NAME(wide));                   \
    static inline double name(double x) { return (double)__sim_w_##name(x); }                \
    static inline float name(float x) { return (float)__sim_v_##name((double)x); }           \
    static inline float name##f(float x) { return name(x); }
#define __SIM_FUNCTION2(name, vector, symbol, wide, type)                                    \
    extern "C" vector double __sim_v_##name(double, double) asm(__SIM_NAME(symbol));         \
    extern "C" __SIM_PURE type __sim_w_##name(type, type) asm(__SIM_NAME(wide));             \
    static inline double name(double x, double y) { return (double)__sim_w_##name(x, y); }   \
    static inline float name(float x, float y) { return (float)__sim_v_##name((double)x, (double)y); } \
    static inline float name##f(float x, float y) { return name(x, y); }
#define __SIM_DOUBLE(n, v, name) __SIM_FUNCTION##n(name, v, #name, #name, double)
#define __SIM_LONG(n, v, name) __SIM_FUNCTION##n(name, v, #name, #name "l", long double)

__SIM_DOUBLE(1, __SIM_V1, exp)
__SIM_DOUBLE(1, __SIM_V1, log)
__SIM_DOUBLE(1, __SIM_V1, sin)
__SIM_DOUBLE(1, __SIM_V1, cos)
__SIM_DOUBLE(2, __SIM_V1, pow)
__SIM_DOUBLE(1, __SIM_V2, acos)
__SIM_DOUBLE(1, __SIM_V2, asin)
__SIM_DOUBLE(1, __SIM_V2, atan)
__SIM_DOUBLE(1, __SIM_V2, tan)
__SIM_DOUBLE(1, __SIM_V2, exp2)
__SIM_DOUBLE(1, __SIM_V2, expm1)
__SIM_DOUBLE(1, __SIM_V2, log1p)
__SIM_DOUBLE(1, __SIM_V2, log2)
__SIM_DOUBLE(1, __SIM_V2, erf)
__SIM_DOUBLE(2, __SIM_V2, atan2)
__SIM_DOUBLE(2, __SIM_V2, hypot)
__SIM_LONG(1, __SIM_V2, acosh)
__SIM_LONG(1, __SIM_V2, asinh)
__SIM_LONG(1, __SIM_V2, atanh)
__SIM_LONG(1, __SIM_V2, cbrt)
__SIM_LONG(1, __SIM_V2, cosh)
__SIM_LONG(1, __SIM_V2, sinh)
__SIM_LONG(1, __SIM_V2, tanh)
__SIM_LONG(1, __SIM_V2, erfc)
__SIM_LONG(1, __SIM_V2, log10)
__SIM_LONG(1, __SIM_PURE, tgamma)
__SIM_LONG(1, __SIM_PURE, lgamma)
#ifdef __APPLE__
__SIM_FUNCTION1(exp10, __SIM_PURE, "__exp10", "__exp10", double)
#else
__SIM_LONG(1, __SIM_V2, exp10)
#endif

// One instruction or a few.
#define __SIM_BUILTIN1(name)                                                \
    static inline double name(double x) { return __builtin_##name(x); }     \
    static inline float name(float x) { return __builtin_##name##f(x); }    \
    static inline float name##f(float x) { return __builtin_##name##f(x); }
#define __SIM_BUILTIN2(name)                                                                    \
    static inline double name(double x, double y) { return __builtin_##name(x, y); }            \
    static inline float name(float x, float y) { return __builtin_##name##f(x, y); }            \
    static inline float name##f(float x, float y) { return __builtin_##name##f(x, y); }
__SIM_BUILTIN1(fabs) __SIM_BUILTIN1(sqrt) __SIM_BUILTIN1(floor) __SIM_BUILTIN1(ceil) __SIM_BUILTIN1(trunc)
__SIM_BUILTIN1(rint) __SIM_BUILTIN1(nearbyint) __SIM_BUILTIN1(round) __SIM_BUILTIN1(logb)
__SIM_BUILTIN2(fmod) __SIM_BUILTIN2(remainder) __SIM_BUILTIN2(copysign) __SIM_BUILTIN2(nextafter)

static inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
static inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

// The greater; the other if one is NaN; +0 above -0.
static inline float fmax(float x, float y) {
    float r = x > y || y != y ? x : y;
    return x == y ? (__builtin_signbitf(x) ? y : x) : r;
}
static inline double fmax(double x, double y) {
    double r = x > y || y != y ? x : y;
    return x == y ? (__builtin_signbit(x) ? y : x) : r;
}
static inline float fmin(float x, float y) {
    float r = x < y || y != y ? x : y;
    return x == y ? (__builtin_signbitf(x) ? x : y) : r;
}
static inline double fmin(double x, double y) {
    double r = x < y || y != y ? x : y;
    return x == y ? (__builtin_signbit(x) ? x : y) : r;
}
static inline float fmaxf(float x, float y) { return fmax(x, y); }
static inline float fminf(float x, float y) { return fmin(x, y); }
static inline double fdim(double x, double y) { return x <= y ? 0.0 : x - y; }
static inline float fdim(float x, float y) { return x <= y ? 0.0f : x - y; }
static inline float fdimf(float x, float y) { return fdim(x, y); }

#define __SIM_MINMAX(type, a, b)                                                \
    static inline type max(a x, b y) { return (type)x > (type)y ? (type)x : (type)y; } \
    static inline type min(a x, b y) { return (type)x < (type)y ? (type)x : (type)y; }
#define __SIM_MINMAX_MIXED(u, s) __SIM_MINMAX(s, s, s) __SIM_MINMAX(u, u, u) __SIM_MINMAX(u, u, s) __SIM_MINMAX(u, s, u)
__SIM_MINMAX_MIXED(unsigned int, int)
__SIM_MINMAX_MIXED(unsigned long, long)
__SIM_MINMAX_MIXED(unsigned long long, long long)
#define __SIM_FMINMAX(type, a, b)                                       \
    static inline type max(a x, b y) { return fmax((type)x, (type)y); } \
    static inline type min(a x, b y) { return fmin((type)x, (type)y); }
__SIM_FMINMAX(float, float, float) __SIM_FMINMAX(double, double, double)
__SIM_FMINMAX(double, float, double) __SIM_FMINMAX(double, double, float)
static inline unsigned int umin(unsigned int x, unsigned int y) { return min(x, y); }
static inline unsigned int umax(unsigned int x, unsigned int y) { return max(x, y); }
static inline long long llmin(long long x, long long y) { return min(x, y); }
static inline long long llmax(long long x, long long y) { return max(x, y); }
static inline unsigned long long ullmin(unsigned long long x, unsigned long long y) { return min(x, y); }
static inline unsigned long long ullmax(unsigned long long x, unsigned long long y) { return max(x, y); }

static inline float abs(float x) { return __builtin_fabsf(x); }
static inline double abs(double x) { return __builtin_fabs(x); }
static inline int abs(int x) { return x < 0 ? -x : x; }
static inline long abs(long x) { return x < 0 ? -x : x; }
static inline long long abs(long long x) { return x < 0 ? -x : x; }
static inline long labs(long x) { return abs(x); }
static inline long long llabs(long long x) { return abs(x); }

#define __SIM_TEST(name, expression, type) static inline bool name(type x) { return expression; }
__SIM_TEST(isnan, x != x, float) __SIM_TEST(isnan, x != x, double)
__SIM_TEST(isinf, __builtin_fabsf(x) == __builtin_inff(), float) __SIM_TEST(isinf, __builtin_fabs(x) == __builtin_inf(), double)
__SIM_TEST(isfinite, __builtin_fabsf(x) < __builtin_inff(), float) __SIM_TEST(isfinite, __builtin_fabs(x) < __builtin_inf(), double)
__SIM_TEST(signbit, __builtin_signbitf(x) != 0, float) __SIM_TEST(signbit, __builtin_signbit(x) != 0, double)

static inline float pow(float x, int n) { return (float)__sim_v_pow((double)x, (double)n); }
static inline double pow(double x, int n) { return pow(x, (double)n); }
static inline double ldexp(double x, int n) { return __builtin_ldexp(x, n); }
static inline float ldexp(float x, int n) { return __builtin_ldexpf(x, n); }
static inline float ldexpf(float x, int n) { return __builtin_ldexpf(x, n); }
static inline double scalbn(double x, int n) { return __builtin_ldexp(x, n); }
static inline float scalbn(float x, int n) { return __builtin_ldexpf(x, n); }
static inline float scalbnf(float x, int n) { return __builtin_ldexpf(x, n); }
static inline double scalbln(double x, long n) { return __builtin_scalbln(x, n); }
static inline float scalbln(float x, long n) { return __builtin_scalblnf(x, n); }
static inline float scalblnf(float x, long n) { return __builtin_scalblnf(x, n); }
static inline int ilogb(double x) { return __builtin_ilogb(x); }
static inline int ilogb(float x) { return __builtin_ilogbf(x); }
static inline int ilogbf(float x) { return __builtin_ilogbf(x); }
static inline double frexp(double x, int* n) { return __builtin_frexp(x, n); }
static inline float frexp(float x, int* n) { return __builtin_frexpf(x, n); }
static inline float frexpf(float x, int* n) { return __builtin_frexpf(x, n); }
static inline double modf(double x, double* whole) { return __builtin_modf(x, whole); }
static inline float modf(float x, float* whole) { return __builtin_modff(x, whole); }
static inline float modff(float x, float* whole) { return __builtin_modff(x, whole); }
static inline double remquo(double x, double y, int* q) { return __builtin_remquo(x, y, q); }
static inline float remquo(float x, float y, int* q) { return __builtin_remquof(x, y, q); }
static inline float remquof(float x, float y, int* q) { return __builtin_remquof(x, y, q); }
static inline double nan(const char*) { return __builtin_nan(""); }
static inline float nanf(const char*) { return __builtin_nanf(""); }
static inline void sincos(double x, double* s, double* c) { *s = sin(x); *c = cos(x); }
static inline void sincos(float x, float* s, float* c) { *s = sin(x); *c = cos(x); }
static inline void sincosf(float x, float* s, float* c) { *s = sin(x); *c = cos(x); }
static inline float rsqrt(float x) { return (float)(1.0 / __builtin_sqrt((double)x)); }
static inline double rsqrt(double x) { return (double)(1.0L / __builtin_sqrtl((long double)x)); }
static inline float rsqrtf(float x) { return rsqrt(x); }
static inline double fdivide(double x, double y) { return x / y; }
static inline float fdividef(float x, float y) { return x / y; }

#define __SIM_TO_INTEGER(name, type, rounding)                                                    \
    static inline type name(double x) { return __sim::saturate<type>(rounding(x)); }              \
    static inline type name(float x) { return __sim::saturate<type>(rounding(x)); }               \
    static inline type name##f(float x) { return __sim::saturate<type>(rounding(x)); }
__SIM_TO_INTEGER(lrint, long, rint) __SIM_TO_INTEGER(llrint, long long, rint)
__SIM_TO_INTEGER(lround, long, round) __SIM_TO_INTEGER(llround, long long, round)

namespace std {
#define __SIM_BOTH(name) using ::name; using ::name##f;
__SIM_BOTH(acos) __SIM_BOTH(asin) __SIM_BOTH(atan) __SIM_BOTH(atan2) __SIM_BOTH(ceil) __SIM_BOTH(cos) __SIM_BOTH(cosh)
__SIM_BOTH(exp) __SIM_BOTH(fabs) __SIM_BOTH(floor) __SIM_BOTH(fmod) __SIM_BOTH(frexp) __SIM_BOTH(ldexp) __SIM_BOTH(log)
__SIM_BOTH(log10) __SIM_BOTH(modf) __SIM_BOTH(pow) __SIM_BOTH(sin) __SIM_BOTH(sinh) __SIM_BOTH(sqrt) __SIM_BOTH(tan)
__SIM_BOTH(tanh) __SIM_BOTH(acosh) __SIM_BOTH(asinh) __SIM_BOTH(atanh) __SIM_BOTH(cbrt) __SIM_BOTH(copysign) __SIM_BOTH(erf)
__SIM_BOTH(erfc) __SIM_BOTH(exp2) __SIM_BOTH(expm1) __SIM_BOTH(fdim) __SIM_BOTH(fma) __SIM_BOTH(fmax) __SIM_BOTH(fmin)
__SIM_BOTH(hypot) __SIM_BOTH(ilogb) __SIM_BOTH(lgamma) __SIM_BOTH(llrint) __SIM_BOTH(llround) __SIM_BOTH(log1p)
__SIM_BOTH(log2) __SIM_BOTH(logb) __SIM_BOTH(lrint) __SIM_BOTH(lround) __SIM_BOTH(nan) __SIM_BOTH(nearbyint)
__SIM_BOTH(nextafter) __SIM_BOTH(remainder) __SIM_BOTH(remquo) __SIM_BOTH(rint) __SIM_BOTH(round) __SIM_BOTH(scalbln)
__SIM_BOTH(scalbn) __SIM_BOTH(tgamma) __SIM_BOTH(trunc)
using ::abs; using ::signbit; using ::isfinite; using ::isinf; using ::isnan;
}
