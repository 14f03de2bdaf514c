// CUDA's functions beyond the C library, for kernels to call. Right to about one ULP of double: computed in long
// double, which on x86 and Arm Linux has at least 11 more bits. (Where long double is double: to a few ULPs.)
#include <cfenv>
#include <cmath>
#include <limits>

typedef long double L;
static const L PI = 3.14159265358979323846264338327950288L, SQRT2 = 1.41421356237309504880168872420969808L,
               TWO_OVER_SQRT_PI = 1.12837916709551257389615890312154517L;
static const double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN(), INFINITE = std::numeric_limits<double>::infinity();
#define EXPORT extern "C"

// exp(x * x) * erfc(x) for x >= 0 by the continued fraction, for x so large that the product is 0 * infinity.
static L erfcx_large(L x) {
    L f = x;
    for (int k = 60; k > 0; k--) f = x + (k / 2.0L) / f;
    return TWO_OVER_SQRT_PI / 2 / f;
}

EXPORT double sim_erfcx(double x) {
    if (x < 10) return static_cast<double>(expl(static_cast<L>(x) * x) * erfcl(x));
    return static_cast<double>(erfcx_large(x));
}

EXPORT double sim_normcdf(double x) { return static_cast<double>(0.5L * erfcl(-static_cast<L>(x) / SQRT2)); }

// The t with erf(t) = p, 0 <= p <= 0.5, by Halley's method.
static L inverse_erf(L p) {
    L t = p / TWO_OVER_SQRT_PI * (1 + 0.27L * p * p);
    for (int i = 0; i < 8; i++) {
        const L step = (erfl(t) - p) / (TWO_OVER_SQRT_PI * expl(-t * t));
        t -= step / (1 + t * step);
        if (fabsl(step) <= 1e-18L * t) break;
    }
    return t;
}

// The t with erfc(t) = q, 0 < q <= 1. Small q: Newton's method on log(erfc), which is nearly a parabola.
static L inverse_erfc(L q) {
    if (q >= 0.5L) return inverse_erf(1 - q);
    const L w = -logl(q);
    L t = sqrtl(w > 2 ? w - 0.5L * logl(PI * w) : 0.5L * w);
    for (int i = 0; i < 20; i++) {
        const L e = erfcl(t), step = logl(e / q) * e / (TWO_OVER_SQRT_PI * expl(-t * t));
        t += step;
        if (fabsl(step) <= 1e-18L * fabsl(t)) break;
    }
    return t;
}

EXPORT double sim_erfcinv(double y) {
    if (!(y >= 0 && y <= 2)) return NOT_A_NUMBER;
    if (y == 0) return INFINITE;
    if (y == 2) return -INFINITE;
    return static_cast<double>(y <= 1 ? inverse_erfc(y) : -inverse_erfc(2 - static_cast<L>(y)));
}

EXPORT double sim_erfinv(double y) {
    if (!(y >= -1 && y <= 1)) return NOT_A_NUMBER;
    if (fabs(y) == 1) return y * INFINITE;
    const L size = fabsl(static_cast<L>(y)), t = size <= 0.5L ? inverse_erf(size) : inverse_erfc(1 - size);
    return static_cast<double>(std::signbit(y) ? -t : t);
}

EXPORT double sim_normcdfinv(double p) {
    if (!(p >= 0 && p <= 1)) return NOT_A_NUMBER;
    if (p == 0) return -INFINITE;
    if (p == 1) return INFINITE;
    const L t = p <= 0.5 ? -inverse_erfc(2 * static_cast<L>(p)) : inverse_erfc(2 * (1 - static_cast<L>(p)));
    return static_cast<double>(SQRT2 * t);
}

EXPORT double sim_rcbrt(double x) { return static_cast<double>(1 / cbrtl(x)); }

// x in half turns: the part beyond whole turns is exact.
EXPORT double sim_sinpi(double x) {
    if (!std::isfinite(x)) return NOT_A_NUMBER;
    L r = fmodl(fabsl(x), 2);
    const bool below = r >= 1;
    if (below) r -= 1;
    if (r > 0.5L) r = 1 - r;
    const double s = static_cast<double>(r <= 0.25L ? sinl(PI * r) : cosl(PI * (0.5L - r)));
    if (s == 0) return copysign(0.0, x);
    return std::signbit(x) != below ? -s : s;
}

EXPORT double sim_cospi(double x) {
    if (!std::isfinite(x)) return NOT_A_NUMBER;
    L r = fmodl(fabsl(x), 2);
    if (r > 1) r = 2 - r;
    const bool negative = r > 0.5L;
    if (negative) r = 1 - r;
    const double c = static_cast<double>(r <= 0.25L ? cosl(PI * r) : sinl(PI * (0.5L - r)));
    return negative ? -c : c;
}

#ifdef __APPLE__
#define BESSEL(name) name
#define BESSEL_CAST(x) (x)
#else
#define BESSEL(name) name##l
#define BESSEL_CAST(x) static_cast<L>(x)
#endif
EXPORT double sim_j0(double x) { return static_cast<double>(BESSEL(j0)(BESSEL_CAST(x))); }
EXPORT double sim_j1(double x) { return static_cast<double>(BESSEL(j1)(BESSEL_CAST(x))); }
EXPORT double sim_y0(double x) { return x < 0 ? NOT_A_NUMBER : static_cast<double>(BESSEL(y0)(BESSEL_CAST(x))); }
EXPORT double sim_y1(double x) { return x < 0 ? NOT_A_NUMBER : static_cast<double>(BESSEL(y1)(BESSEL_CAST(x))); }
EXPORT double sim_jn(int n, double x) { return n < 0 ? NOT_A_NUMBER : static_cast<double>(BESSEL(jn)(n, BESSEL_CAST(x))); }
EXPORT double sim_yn(int n, double x) { return n < 0 || x < 0 ? NOT_A_NUMBER : static_cast<double>(BESSEL(yn)(n, BESSEL_CAST(x))); }

// I0 and I1: the power series (all terms positive), beyond 30 the asymptotic one.
static L bessel_i(int order, L x) {
    if (x > 30) {
        const L mu = 4.0L * order * order;
        L term = 1, sum = 1;
        for (int k = 1; k < 40; k++) {
            const L next = -term * (mu - (2 * k - 1) * (2 * k - 1)) / (k * 8 * x);
            if (fabsl(next) > fabsl(term)) break;
            sum += term = next;
        }
        return expl(x / 2) / sqrtl(2 * PI * x) * sum * expl(x / 2);
    }
    const L q = x * x / 4;
    L term = order ? x / 2 : 1, sum = term;
    for (int k = 1; k < 400 && term > sum * 1e-21L; k++) sum += term *= q / (static_cast<L>(k) * (k + order));
    return sum;
}

EXPORT double sim_cyl_bessel_i0(double x) { return std::isinf(x) ? INFINITE : static_cast<double>(bessel_i(0, fabsl(x))); }
EXPORT double sim_cyl_bessel_i1(double x) {
    if (std::isinf(x)) return x;
    const double r = static_cast<double>(bessel_i(1, fabsl(x)));
    return x < 0 ? -r : r;
}

static L length(const L* p, int n) {
    L most = 0, sum = 0;
    bool nan = false;
    for (int i = 0; i < n; i++) {
        if (std::isinf(p[i])) return INFINITE;
        nan |= std::isnan(p[i]);
        most = fmaxl(most, fabsl(p[i]));
    }
    if (nan) return NOT_A_NUMBER;
    if (most == 0) return 0;
    for (int i = 0; i < n; i++) sum += p[i] / most * (p[i] / most);
    return most * sqrtl(sum);
}

EXPORT double sim_rhypot(double x, double y) { const L p[] = {x, y}; return static_cast<double>(1 / length(p, 2)); }
EXPORT double sim_norm3d(double a, double b, double c) { const L p[] = {a, b, c}; return static_cast<double>(length(p, 3)); }
EXPORT double sim_rnorm3d(double a, double b, double c) { const L p[] = {a, b, c}; return static_cast<double>(1 / length(p, 3)); }
EXPORT double sim_norm4d(double a, double b, double c, double d) { const L p[] = {a, b, c, d}; return static_cast<double>(length(p, 4)); }
EXPORT double sim_rnorm4d(double a, double b, double c, double d) { const L p[] = {a, b, c, d}; return static_cast<double>(1 / length(p, 4)); }
template <typename T> static double length_of(int n, const T* p) {
    L sum = 0;
    for (int i = 0; i < n; i++) { const L pair[] = {sum, static_cast<L>(p[i])}; sum = length(pair, 2); }
    return static_cast<double>(sum);
}
EXPORT double sim_norm(int n, const double* p) { return length_of(n, p); }
EXPORT double sim_normf(int n, const float* p) { return length_of(n, p); }

// Arithmetic with the rounding stated. `volatile` keeps the operation between the two changes of mode.
EXPORT double sim_dadd_rn(double x, double y) { volatile double r = x + y; return r; }
EXPORT double sim_dsub_rn(double x, double y) { volatile double r = x - y; return r; }
EXPORT double sim_dmul_rn(double x, double y) { volatile double r = x * y; return r; }
#define ROUNDED(type, name, mode, parameters, vx, expression)    \
    EXPORT type sim_##name parameters {                          \
        const int before = fegetround();                         \
        fesetround(mode);                                        \
        volatile auto v = vx;                                    \
        volatile type r = static_cast<type>(expression);         \
        fesetround(before);                                      \
        return r;                                                \
    }
#define DIRECTED(s, mode)                                                                   \
    ROUNDED(float, fadd_##s, mode, (float x, float y), x, v + y)                            \
    ROUNDED(float, fsub_##s, mode, (float x, float y), x, v - y)                            \
    ROUNDED(float, fmul_##s, mode, (float x, float y), x, v * y)                            \
    ROUNDED(float, fdiv_##s, mode, (float x, float y), x, v / y)                            \
    ROUNDED(float, frcp_##s, mode, (float x), x, 1.0f / v)                                  \
    ROUNDED(float, fsqrt_##s, mode, (float x), x, sqrtf(v))                                 \
    ROUNDED(float, fmaf_##s, mode, (float x, float y, float z), x, fmaf(v, y, z))           \
    ROUNDED(double, fma_##s, mode, (double x, double y, double z), x, fma(v, y, z))         \
    ROUNDED(double, dadd_##s, mode, (double x, double y), x, v + y)                         \
    ROUNDED(double, dsub_##s, mode, (double x, double y), x, v - y)                         \
    ROUNDED(double, dmul_##s, mode, (double x, double y), x, v * y)                         \
    ROUNDED(double, ddiv_##s, mode, (double x, double y), x, v / y)                         \
    ROUNDED(double, drcp_##s, mode, (double x), x, 1.0 / v)                                 \
    ROUNDED(double, dsqrt_##s, mode, (double x), x, sqrt(v))                                \
    ROUNDED(float, double2float_##s, mode, (double x), x, v)                                \
    ROUNDED(float, int2float_##s, mode, (int x), x, v)                                      \
    ROUNDED(float, uint2float_##s, mode, (unsigned int x), x, v)                            \
    ROUNDED(float, ll2float_##s, mode, (long long x), x, v)                                 \
    ROUNDED(float, ull2float_##s, mode, (unsigned long long x), x, v)                       \
    ROUNDED(double, ll2double_##s, mode, (long long x), x, v)                               \
    ROUNDED(double, ull2double_##s, mode, (unsigned long long x), x, v)
DIRECTED(rd, FE_DOWNWARD)
DIRECTED(ru, FE_UPWARD)
DIRECTED(rz, FE_TOWARDZERO)
