// CUDA's intrinsics (names that begin with two underscores) and its functions beyond the C library.
// Those that need more than a line are in special.cpp, compiled once for all kernels.

// double f(double...) and float ff(float...) from one double function in special.cpp.
#define __SIM_SPECIAL1(name)                                                            \
    extern "C" __SIM_PURE double __sim_##name(double) asm(__SIM_NAME("sim_" #name));    \
    static inline double name(double x) { return __sim_##name(x); }                     \
    static inline float name(float x) { return (float)__sim_##name(x); }                \
    static inline float name##f(float x) { return (float)__sim_##name(x); }
#define __SIM_SPECIAL(name, parameters, arguments, fparameters)                              \
    extern "C" __SIM_PURE double __sim_##name parameters asm(__SIM_NAME("sim_" #name));      \
    static inline double name parameters { return __sim_##name arguments; }                  \
    static inline float name fparameters { return (float)__sim_##name arguments; }           \
    static inline float name##f fparameters { return (float)__sim_##name arguments; }
__SIM_SPECIAL1(erfinv) __SIM_SPECIAL1(erfcinv) __SIM_SPECIAL1(erfcx) __SIM_SPECIAL1(normcdf) __SIM_SPECIAL1(normcdfinv)
__SIM_SPECIAL1(rcbrt) __SIM_SPECIAL1(sinpi) __SIM_SPECIAL1(cospi) __SIM_SPECIAL1(j0) __SIM_SPECIAL1(j1)
__SIM_SPECIAL1(y0) __SIM_SPECIAL1(y1) __SIM_SPECIAL1(cyl_bessel_i0) __SIM_SPECIAL1(cyl_bessel_i1)
__SIM_SPECIAL(jn, (int n, double x), (n, x), (int n, float x))
__SIM_SPECIAL(yn, (int n, double x), (n, x), (int n, float x))
__SIM_SPECIAL(rhypot, (double x, double y), (x, y), (float x, float y))
__SIM_SPECIAL(norm3d, (double a, double b, double c), (a, b, c), (float a, float b, float c))
__SIM_SPECIAL(rnorm3d, (double a, double b, double c), (a, b, c), (float a, float b, float c))
__SIM_SPECIAL(norm4d, (double a, double b, double c, double d), (a, b, c, d), (float a, float b, float c, float d))
__SIM_SPECIAL(rnorm4d, (double a, double b, double c, double d), (a, b, c, d), (float a, float b, float c, float d))
extern "C" __attribute__((nothrow)) double __sim_norm(int, const double*) asm(__SIM_NAME("sim_norm"));
extern "C" __attribute__((nothrow)) double __sim_normf(int, const float*) asm(__SIM_NAME("sim_normf"));
static inline double norm(int n, const double* p) { return __sim_norm(n, p); }
static inline float norm(int n, const float* p) { return (float)__sim_normf(n, p); }
static inline float normf(int n, const float* p) { return norm(n, p); }
static inline double rnorm(int n, const double* p) { return 1.0 / __sim_norm(n, p); }
static inline float rnorm(int n, const float* p) { return (float)(1.0 / __sim_normf(n, p)); }
static inline float rnormf(int n, const float* p) { return rnorm(n, p); }
static inline void sincospi(double x, double* s, double* c) { *s = sinpi(x); *c = cospi(x); }
static inline void sincospi(float x, float* s, float* c) { *s = sinpi(x); *c = cospi(x); }
static inline void sincospif(float x, float* s, float* c) { *s = sinpi(x); *c = cospi(x); }

// Fast versions: here simply the exact ones.
#define __SIM_FAST(name) static inline float __##name##f(float x) { return name(x); }
__SIM_FAST(exp) __SIM_FAST(exp10) __SIM_FAST(log) __SIM_FAST(log2) __SIM_FAST(log10) __SIM_FAST(sin) __SIM_FAST(cos)
__SIM_FAST(tan) __SIM_FAST(tanh)
static inline float __powf(float x, float y) { return pow(x, y); }
static inline void __sincosf(float x, float* s, float* c) { *s = sin(x); *c = cos(x); }
static inline float __fdividef(float x, float y) {
    const float size = fabs(y);
    return size > 0x1p126f && size < __builtin_inff() ? (isinf(x) ? __builtin_nanf("") : copysign(0.0f, x) * copysign(1.0f, y)) : x / y;
}
static inline float __saturatef(float x) { return x >= 1.0f ? 1.0f : x > 0.0f ? x : 0.0f; }

// Rounding stated. To nearest, float: through double, which rounds once and cannot be fused with its neighbours.
static inline float __fadd_rn(float x, float y) { return (float)((double)x + (double)y); }
static inline float __fsub_rn(float x, float y) { return (float)((double)x - (double)y); }
static inline float __fmul_rn(float x, float y) { return (float)((double)x * (double)y); }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
static inline float __frsqrt_rn(float x) { return rsqrt(x); }
static inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
static inline double __ddiv_rn(double x, double y) { return x / y; }
static inline double __drcp_rn(double x) { return 1.0 / x; }
static inline double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
#define __SIM_ROUNDED(type, name, parameters) extern "C" __SIM_PURE type __##name parameters asm(__SIM_NAME("sim_" #name));
__SIM_ROUNDED(double, dadd_rn, (double, double)) __SIM_ROUNDED(double, dsub_rn, (double, double)) __SIM_ROUNDED(double, dmul_rn, (double, double))
#define __SIM_DIRECTED(mode)                                                                                          \
    __SIM_ROUNDED(float, fadd_##mode, (float, float)) __SIM_ROUNDED(float, fsub_##mode, (float, float))               \
    __SIM_ROUNDED(float, fmul_##mode, (float, float)) __SIM_ROUNDED(float, fdiv_##mode, (float, float))               \
    __SIM_ROUNDED(float, frcp_##mode, (float)) __SIM_ROUNDED(float, fsqrt_##mode, (float))                            \
    __SIM_ROUNDED(float, fmaf_##mode, (float, float, float)) __SIM_ROUNDED(double, fma_##mode, (double, double, double)) \
    __SIM_ROUNDED(double, dadd_##mode, (double, double)) __SIM_ROUNDED(double, dsub_##mode, (double, double))         \
    __SIM_ROUNDED(double, dmul_##mode, (double, double)) __SIM_ROUNDED(double, ddiv_##mode, (double, double))         \
    __SIM_ROUNDED(double, drcp_##mode, (double)) __SIM_ROUNDED(double, dsqrt_##mode, (double))                        \
    __SIM_ROUNDED(float, double2float_##mode, (double)) __SIM_ROUNDED(float, int2float_##mode, (int))                 \
    __SIM_ROUNDED(float, uint2float_##mode, (unsigned int)) __SIM_ROUNDED(float, ll2float_##mode, (long long))        \
    __SIM_ROUNDED(float, ull2float_##mode, (unsigned long long)) __SIM_ROUNDED(double, ll2double_##mode, (long long)) \
    __SIM_ROUNDED(double, ull2double_##mode, (unsigned long long))
__SIM_DIRECTED(rd) __SIM_DIRECTED(ru) __SIM_DIRECTED(rz)

// Conversions.
#define __SIM_CONVERT(from, type, suffix, round) \
    static inline type __##from##2##suffix(from x) { return __sim::saturate<type>(round(x)); }
#define __SIM_CONVERT4(from, type, to)                                                              \
    __SIM_CONVERT(from, type, to##_rn, rint) __SIM_CONVERT(from, type, to##_rz, trunc)              \
    __SIM_CONVERT(from, type, to##_rd, floor) __SIM_CONVERT(from, type, to##_ru, ceil)
__SIM_CONVERT4(float, int, int) __SIM_CONVERT4(float, unsigned int, uint)
__SIM_CONVERT4(float, long long, ll) __SIM_CONVERT4(float, unsigned long long, ull)
__SIM_CONVERT4(double, int, int) __SIM_CONVERT4(double, unsigned int, uint)
__SIM_CONVERT4(double, long long, ll) __SIM_CONVERT4(double, unsigned long long, ull)
static inline float __double2float_rn(double x) { return (float)x; }
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __uint2float_rn(unsigned int x) { return (float)x; }
static inline float __ll2float_rn(long long x) { return (float)x; }
static inline float __ull2float_rn(unsigned long long x) { return (float)x; }
static inline double __int2double_rn(int x) { return (double)x; }
static inline double __uint2double_rn(unsigned int x) { return (double)x; }
static inline double __ll2double_rn(long long x) { return (double)x; }
static inline double __ull2double_rn(unsigned long long x) { return (double)x; }
#define __SIM_REINTERPRET(name, to, from) \
    static inline to name(from x) { to r; __builtin_memcpy(&r, &x, sizeof r); return r; }
__SIM_REINTERPRET(__float_as_int, int, float) __SIM_REINTERPRET(__float_as_uint, unsigned int, float)
__SIM_REINTERPRET(__int_as_float, float, int) __SIM_REINTERPRET(__uint_as_float, float, unsigned int)
__SIM_REINTERPRET(__double_as_longlong, long long, double) __SIM_REINTERPRET(__longlong_as_double, double, long long)
static inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
static inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
static inline double __hiloint2double(int hi, int lo) { return __longlong_as_double((long long)hi << 32 | (unsigned int)lo); }

// Bits and integers.
static inline int __popc(unsigned int x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned long long __brevll(unsigned long long x) {
    x = (x >> 1 & 0x5555555555555555ull) | (x & 0x5555555555555555ull) << 1;
    x = (x >> 2 & 0x3333333333333333ull) | (x & 0x3333333333333333ull) << 2;
    x = (x >> 4 & 0x0f0f0f0f0f0f0f0full) | (x & 0x0f0f0f0f0f0f0f0full) << 4;
    return __builtin_bswap64(x);
}
static inline unsigned int __brev(unsigned int x) { return (unsigned int)(__brevll(x) >> 32); }
static inline int __mul24(int x, int y) { return (x << 8 >> 8) * (y << 8 >> 8); }
static inline unsigned int __umul24(unsigned int x, unsigned int y) { return (x & 0xffffff) * (y & 0xffffff); }
static inline int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
static inline unsigned int __umulhi(unsigned int x, unsigned int y) { return (unsigned int)((unsigned long long)x * y >> 32); }
__extension__ typedef __int128 __sim_int128;
__extension__ typedef unsigned __int128 __sim_uint128;
static inline long long __mul64hi(long long x, long long y) { return (long long)((__sim_int128)x * y >> 64); }
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) { return (unsigned long long)((__sim_uint128)x * y >> 64); }
static inline unsigned int __sad(int x, int y, unsigned int z) { return z + (x > y ? (unsigned int)x - y : (unsigned int)y - x); }
static inline unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) { return z + (x > y ? x - y : y - x); }
static inline int __hadd(int x, int y) { return (int)(((long long)x + y) >> 1); }
static inline int __rhadd(int x, int y) { return (int)(((long long)x + y + 1) >> 1); }
static inline unsigned int __uhadd(unsigned int x, unsigned int y) { return (unsigned int)(((unsigned long long)x + y) >> 1); }
static inline unsigned int __urhadd(unsigned int x, unsigned int y) { return (unsigned int)(((unsigned long long)x + y + 1) >> 1); }
static inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
    const unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned int r = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned int pick = selector >> 4 * i & 15;
        unsigned int byte = (unsigned int)(bytes >> 8 * (pick & 7)) & 255;
        if (pick & 8) byte = byte & 128 ? 255 : 0;
        r |= byte << 8 * i;
    }
    return r;
}
static inline unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int n) {
    return (unsigned int)((((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32);
}
static inline unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int n) {
    return (unsigned int)(((unsigned long long)hi << 32 | lo) >> (n & 31));
}
static inline unsigned int __funnelshift_lc(unsigned int lo, unsigned int hi, unsigned int n) {
    return n >= 32 ? lo : __funnelshift_l(lo, hi, n);
}
static inline unsigned int __funnelshift_rc(unsigned int lo, unsigned int hi, unsigned int n) {
    return n >= 32 ? hi : __funnelshift_r(lo, hi, n);
}
