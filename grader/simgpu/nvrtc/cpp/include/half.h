// __half and __nv_bfloat16 as cuda_fp16.h and cuda_bf16.h have them: 16 bits in memory, float in arithmetic, each
// operation rounded once. (PyTorch turns the operators and implicit conversions off for run-time compilation.)
#pragma once

struct __half_raw { unsigned short x; };
struct __nv_bfloat16_raw { unsigned short x; };

static inline float __grid_half_to_float(unsigned short h) {
    const unsigned int size = (unsigned int)(h & 0x7fff) << 13;
    const float scaled = __uint_as_float(size) * 0x1p112f;
    unsigned int bits = __float_as_uint(scaled);
    if (scaled >= 65536.0f) bits |= 0x7f800000;
    return __uint_as_float(bits | (unsigned int)(h & 0x8000) << 16);
}
static inline unsigned short __grid_float_to_half(float f) {
    const unsigned int bits = __float_as_uint(f), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > 0x7f800000) return 0x7fff;
    if (size >= 0x47800000) return (unsigned short)(sign | 0x7c00);
    if (size < 0x38800000) return (unsigned short)(sign | (__float_as_uint(__uint_as_float(size) + 0.5f) - __float_as_uint(0.5f)));
    return (unsigned short)(sign | ((size + 0xc8000fffu + (size >> 13 & 1)) >> 13));
}
static inline float __grid_bfloat16_to_float(unsigned short h) { return __uint_as_float((unsigned int)h << 16); }
static inline unsigned short __grid_float_to_bfloat16(float f) {
    const unsigned int bits = __float_as_uint(f);
    return (unsigned short)((bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// type, its pair, the short names in conversions, the raw type, to float, from float
#define __GRID_SHORT_FLOAT(T, T2, name, name2, raw, widen, narrow)                                                    \
    struct alignas(2) T {                                                                                             \
        unsigned short __x;                                                                                           \
        T() = default;                                                                                                \
        T(raw r) : __x(r.x) {}                                                                                        \
        explicit T(float f) : __x(narrow(f)) {}                                                                       \
        explicit T(double f) : __x(narrow((float)f)) {}                                                               \
        explicit T(int i) : __x(narrow((float)i)) {}                                                                  \
        explicit operator float() const { return widen(__x); }                                                        \
        operator raw() const { return {__x}; }                                                                        \
    };                                                                                                                \
    struct alignas(4) T2 {                                                                                            \
        T x, y;                                                                                                       \
        T2() = default;                                                                                               \
        T2(T a, T b) : x(a), y(b) {}                                                                                  \
    };                                                                                                                \
    static inline float __##name##2float(T h) { return widen(h.__x); }                                                \
    static inline T __float2##name(float f) { return T(f); }                                                          \
    static inline T __float2##name##_rn(float f) { return T(f); }                                                     \
    static inline T __double2##name(double f) { return T(f); }                                                        \
    static inline T __int2##name##_rn(int i) { return T(i); }                                                         \
    static inline int __##name##2int_rz(T h) { return __float2int_rz(widen(h.__x)); }                                 \
    static inline int __##name##2int_rn(T h) { return __float2int_rn(widen(h.__x)); }                                 \
    static inline unsigned short __##name##_as_ushort(T h) { return h.__x; }                                          \
    static inline T __ushort_as_##name(unsigned short x) { return T(raw{x}); }                                        \
    static inline T __hadd(T a, T b) { return T(widen(a.__x) + widen(b.__x)); }                                       \
    static inline T __hsub(T a, T b) { return T(widen(a.__x) - widen(b.__x)); }                                       \
    static inline T __hmul(T a, T b) { return T(widen(a.__x) * widen(b.__x)); }                                       \
    static inline T __hdiv(T a, T b) { return T(widen(a.__x) / widen(b.__x)); }                                       \
    static inline T __hfma(T a, T b, T c) { return T((double)widen(a.__x) * widen(b.__x) + widen(c.__x)); }           \
    static inline T __hneg(T a) { return T(raw{(unsigned short)(a.__x ^ 0x8000)}); }                                  \
    static inline T __habs(T a) { return T(raw{(unsigned short)(a.__x & 0x7fff)}); }                                  \
    static inline T __hmax(T a, T b) { return T(fmaxf(widen(a.__x), widen(b.__x))); }                                 \
    static inline T __hmin(T a, T b) { return T(fminf(widen(a.__x), widen(b.__x))); }                                 \
    static inline bool __heq(T a, T b) { return widen(a.__x) == widen(b.__x); }                                       \
    static inline bool __hne(T a, T b) { return widen(a.__x) != widen(b.__x); }                                       \
    static inline bool __hlt(T a, T b) { return widen(a.__x) < widen(b.__x); }                                        \
    static inline bool __hle(T a, T b) { return widen(a.__x) <= widen(b.__x); }                                       \
    static inline bool __hgt(T a, T b) { return widen(a.__x) > widen(b.__x); }                                        \
    static inline bool __hge(T a, T b) { return widen(a.__x) >= widen(b.__x); }                                       \
    static inline bool __hisnan(T a) { return isnan(widen(a.__x)); }                                                  \
    static inline T hexp(T a) { return T(expf(widen(a.__x))); }                                                       \
    static inline T hlog(T a) { return T(logf(widen(a.__x))); }                                                       \
    static inline T hsqrt(T a) { return T(sqrtf(widen(a.__x))); }                                                     \
    static inline T hrsqrt(T a) { return T(rsqrtf(widen(a.__x))); }                                                   \
    static inline T htanh(T a) { return T(tanhf(widen(a.__x))); }                                                     \
    static inline T2 __halves2##name2(T a, T b) { return {a, b}; }                                                    \
    static inline T2 __##name##2##name2(T a) { return {a, a}; }                                                       \
    static inline T2 make_##name2(T a, T b) { return {a, b}; }                                                        \
    static inline T __low2##name(T2 a) { return a.x; }                                                                \
    static inline T __high2##name(T2 a) { return a.y; }                                                               \
    static inline T2 __floats2##name2##_rn(float a, float b) { return {T(a), T(b)}; }                                 \
    static inline T2 __float22##name2##_rn(float2 a) { return {T(a.x), T(a.y)}; }                                     \
    static inline float2 __##name2##2float2(T2 a) { return {widen(a.x.__x), widen(a.y.__x)}; }                        \
    static inline T2 __hadd2(T2 a, T2 b) { return {__hadd(a.x, b.x), __hadd(a.y, b.y)}; }                             \
    static inline T2 __hsub2(T2 a, T2 b) { return {__hsub(a.x, b.x), __hsub(a.y, b.y)}; }                             \
    static inline T2 __hmul2(T2 a, T2 b) { return {__hmul(a.x, b.x), __hmul(a.y, b.y)}; }                             \
    static inline T2 __hfma2(T2 a, T2 b, T2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }             \
    static inline T2 __hmax2(T2 a, T2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                             \
    static inline T2 __hmin2(T2 a, T2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
