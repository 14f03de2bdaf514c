// std::complex as complex kernels find it: its own small class (the standard one would bring std::max with it).
// The formulas are those that PyTorch compiles for a GPU, so that they lose digits in the same places.
namespace std {

template <bool value_> struct __truth { static const bool value = value_; };
typedef __truth<true> true_type;
typedef __truth<false> false_type;
template <typename A, typename B> struct is_same : false_type {};
template <typename A> struct is_same<A, A> : true_type {};
template <typename T> struct is_integral : __truth<__sim::is_integer<T>> {};
template <typename T> struct is_floating_point : __truth<__sim::is_float<T>> {};
template <typename T> struct is_arithmetic : __truth<__sim::is_number<T>> {};
template <bool condition, typename T = void> struct enable_if : __sim::only_if<condition, T> {};
template <bool condition, typename T = void> using enable_if_t = typename enable_if<condition, T>::type;

template <typename T> class complex;
template <typename T> complex<T> operator*(const complex<T>& x, const complex<T>& y);
template <typename T> complex<T> operator/(const complex<T>& x, const complex<T>& y);

template <typename T>
class complex {
    T re, im;

public:
    typedef T value_type;
    constexpr complex(T real = T(), T imag = T()) : re(real), im(imag) {}
    // To more digits implicitly, to fewer only if asked for.
    template <typename U, typename = enable_if_t<(sizeof(U) < sizeof(T))>>
    constexpr complex(const complex<U>& z) : re(z.real()), im(z.imag()) {}
    template <typename U, typename = enable_if_t<(sizeof(U) > sizeof(T))>, typename = void>
    explicit constexpr complex(const complex<U>& z) : re(z.real()), im(z.imag()) {}
    constexpr T real() const { return re; }
    constexpr T imag() const { return im; }
    void real(T value) { re = value; }
    void imag(T value) { im = value; }
    constexpr operator bool() const { return re || im; }

    complex& operator=(T x) { re = x; im = T(); return *this; }
    complex& operator+=(T x) { re += x; return *this; }
    complex& operator-=(T x) { re -= x; return *this; }
    complex& operator*=(T x) { re *= x; im *= x; return *this; }
    complex& operator/=(T x) { re /= x; im /= x; return *this; }
    template <typename U> complex& operator=(const complex<U>& z) { re = z.real(); im = z.imag(); return *this; }
    template <typename U> complex& operator+=(const complex<U>& z) { re += z.real(); im += z.imag(); return *this; }
    template <typename U> complex& operator-=(const complex<U>& z) { re -= z.real(); im -= z.imag(); return *this; }
    template <typename U> complex& operator*=(const complex<U>& z) { return *this = *this * complex(z.real(), z.imag()); }
    template <typename U> complex& operator/=(const complex<U>& z) { return *this = *this / complex(z.real(), z.imag()); }
};

template <typename T> inline complex<T> operator+(const complex<T>& x, const complex<T>& y) { return {x.real() + y.real(), x.imag() + y.imag()}; }
template <typename T> inline complex<T> operator+(const complex<T>& x, const T& y) { return {x.real() + y, x.imag()}; }
template <typename T> inline complex<T> operator+(const T& x, const complex<T>& y) { return {x + y.real(), y.imag()}; }
template <typename T> inline complex<T> operator-(const complex<T>& x, const complex<T>& y) { return {x.real() - y.real(), x.imag() - y.imag()}; }
template <typename T> inline complex<T> operator-(const complex<T>& x, const T& y) { return {x.real() - y, x.imag()}; }
template <typename T> inline complex<T> operator-(const T& x, const complex<T>& y) { return {x - y.real(), -y.imag()}; }
template <typename T> inline complex<T> operator*(const complex<T>& x, const T& y) { return {x.real() * y, x.imag() * y}; }
template <typename T> inline complex<T> operator*(const T& x, const complex<T>& y) { return {x * y.real(), x * y.imag()}; }
template <typename T> inline complex<T> operator/(const complex<T>& x, const T& y) { return {x.real() / y, x.imag() / y}; }
template <typename T> inline complex<T> operator/(const T& x, const complex<T>& y) { return complex<T>(x) / y; }
template <typename T> inline complex<T> operator+(const complex<T>& x) { return x; }
template <typename T> inline complex<T> operator-(const complex<T>& x) { return {-x.real(), -x.imag()}; }
template <typename T> inline constexpr bool operator==(const complex<T>& x, const complex<T>& y) { return x.real() == y.real() && x.imag() == y.imag(); }
template <typename T> inline constexpr bool operator==(const complex<T>& x, const T& y) { return x.real() == y && x.imag() == 0; }
template <typename T> inline constexpr bool operator==(const T& x, const complex<T>& y) { return y == x; }
template <typename T> inline constexpr bool operator!=(const complex<T>& x, const complex<T>& y) { return !(x == y); }
template <typename T> inline constexpr bool operator!=(const complex<T>& x, const T& y) { return !(x == y); }
template <typename T> inline constexpr bool operator!=(const T& x, const complex<T>& y) { return !(x == y); }

// An infinity becomes +-1, anything else +-0 (Annex G of the C standard).
template <typename T> inline T __boxed(T x) { return copysign(isinf(x) ? T(1) : T(0), x); }
template <typename T> inline T __no_nan(T x) { return isnan(x) ? copysign(T(0), x) : x; }

template <typename T>
complex<T> operator*(const complex<T>& z, const complex<T>& w) {
    T a = z.real(), b = z.imag(), c = w.real(), d = w.imag();
    const T ac = a * c, bd = b * d, ad = a * d, bc = b * c;
    T x = ac - bd, y = ad + bc;
    if (isnan(x) && isnan(y)) {
        bool again = false;
        if (isinf(a) || isinf(b)) { a = __boxed(a); b = __boxed(b); c = __no_nan(c); d = __no_nan(d); again = true; }
        if (isinf(c) || isinf(d)) { c = __boxed(c); d = __boxed(d); a = __no_nan(a); b = __no_nan(b); again = true; }
        if (!again && (isinf(ac) || isinf(bd) || isinf(ad) || isinf(bc))) {
            a = __no_nan(a); b = __no_nan(b); c = __no_nan(c); d = __no_nan(d); again = true;
        }
        if (again) { x = T(INFINITY) * (a * c - b * d); y = T(INFINITY) * (a * d + b * c); }
    }
    return {x, y};
}

template <typename T>
complex<T> operator/(const complex<T>& z, const complex<T>& w) {
    int scale = 0;
    T a = z.real(), b = z.imag(), c = w.real(), d = w.imag();
    const T size = logb(fmax(fabs(c), fabs(d)));
    if (isfinite(size)) { scale = int(size); c = scalbn(c, -scale); d = scalbn(d, -scale); }
    const T below = c * c + d * d;
    T x = scalbn((a * c + b * d) / below, -scale), y = scalbn((b * c - a * d) / below, -scale);
    if (isnan(x) && isnan(y)) {
        if (below == T(0) && (!isnan(a) || !isnan(b))) {
            x = copysign(T(INFINITY), c) * a;
            y = copysign(T(INFINITY), c) * b;
        } else if ((isinf(a) || isinf(b)) && isfinite(c) && isfinite(d)) {
            a = __boxed(a); b = __boxed(b);
            x = T(INFINITY) * (a * c + b * d);
            y = T(INFINITY) * (b * c - a * d);
        } else if (isinf(size) && size > T(0) && isfinite(a) && isfinite(b)) {
            c = __boxed(c); d = __boxed(d);
            x = T(0) * (a * c + b * d);
            y = T(0) * (b * c - a * d);
        }
    }
    return {x, y};
}

template <typename T> inline constexpr T real(const complex<T>& z) { return z.real(); }
template <typename T> inline constexpr T imag(const complex<T>& z) { return z.imag(); }
template <typename T> using __real_type = typename __sim::only_if<__sim::is_number<T>, typename __sim::either<__sim::is_integer<T>, double, T>::type>::type;
template <typename T> inline constexpr __real_type<T> real(T x) { return x; }
template <typename T> inline constexpr __real_type<T> imag(T) { return 0; }
template <typename T> inline T abs(const complex<T>& z) { return hypot(z.real(), z.imag()); }
template <typename T> inline T arg(const complex<T>& z) { return atan2(z.imag(), z.real()); }
template <typename T> inline __real_type<T> arg(T x) { return atan2(__real_type<T>(0), __real_type<T>(x)); }
template <typename T> inline T norm(const complex<T>& z) {
    if (isinf(z.real())) return abs(z.real());
    if (isinf(z.imag())) return abs(z.imag());
    return z.real() * z.real() + z.imag() * z.imag();
}
template <typename T> inline __real_type<T> norm(T x) { return __real_type<T>(x) * x; }
template <typename T> inline complex<T> conj(const complex<T>& z) { return {z.real(), -z.imag()}; }
template <typename T> inline complex<__real_type<T>> conj(T x) { return complex<__real_type<T>>(x); }
template <typename T> inline complex<T> proj(const complex<T>& z) {
    return isinf(z.real()) || isinf(z.imag()) ? complex<T>(INFINITY, copysign(T(0), z.imag())) : z;
}
template <typename T> inline bool isnan(const complex<T>& z) { return isnan(z.real()) || isnan(z.imag()); }
template <typename T> inline bool isinf(const complex<T>& z) { return isinf(z.real()) || isinf(z.imag()); }
template <typename T> inline bool isfinite(const complex<T>& z) { return isfinite(z.real()) && isfinite(z.imag()); }

template <typename T>
complex<T> polar(const T& radius, const T& angle = T()) {
    if (isnan(radius) || signbit(radius)) return {T(NAN), T(NAN)};
    if (isnan(angle)) return isinf(radius) ? complex<T>(radius, angle) : complex<T>(angle, angle);
    if (isinf(angle)) return isinf(radius) ? complex<T>(radius, T(NAN)) : complex<T>(T(NAN), T(NAN));
    const T x = radius * cos(angle), y = radius * sin(angle);
    return {isnan(x) ? T(0) : x, isnan(y) ? T(0) : y};
}

template <typename T> inline complex<T> log(const complex<T>& z) { return {log(abs(z)), arg(z)}; }
template <typename T> inline complex<T> log10(const complex<T>& z) { return log(z) / log(T(10)); }
template <typename T> inline complex<T> log2(const complex<T>& z) { return log(z) / log(T(2)); }

template <typename T>
complex<T> sqrt(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (isinf(y)) return {T(INFINITY), y};
    if (isinf(x)) {
        if (x > T(0)) return {x, isnan(y) ? y : copysign(T(0), y)};
        return {isnan(y) ? y : T(0), copysign(x, y)};
    }
    return polar(sqrt(abs(z)), arg(z) / T(2));
}

template <typename T>
complex<T> exp(const complex<T>& z) {
    const T x = z.real();
    T y = z.imag();
    if (y == 0) return {exp(x), copysign(T(0), y)};
    if (isinf(x)) {
        if (x < T(0)) {
            if (!isfinite(y)) y = T(1);
        } else if (!isfinite(y)) {
            return {x, isinf(y) ? T(NAN) : y};
        }
    }
    const T e = exp(x);
    return {e * cos(y), e * sin(y)};
}

template <typename T> inline complex<T> pow(const complex<T>& x, const complex<T>& y) { return exp(y * log(x)); }
template <typename A, typename B> using __wider = decltype(__real_type<A>() + __real_type<B>());
template <typename T, typename U> inline complex<__wider<T, U>> pow(const complex<T>& x, const complex<U>& y) {
    typedef complex<__wider<T, U>> C;
    return pow(C(x), C(y));
}
template <typename T, typename U> inline complex<__wider<T, U>> pow(const complex<T>& x, const U& y) {
    typedef complex<__wider<T, U>> C;
    return pow(C(x), C(y));
}
template <typename T, typename U> inline complex<__wider<T, U>> pow(const T& x, const complex<U>& y) {
    typedef complex<__wider<T, U>> C;
    return pow(C(x), C(y));
}

template <typename T> inline complex<T> __square(const complex<T>& z) {
    return {(z.real() - z.imag()) * (z.real() + z.imag()), T(2) * z.real() * z.imag()};
}
#define __SIM_PI T(3.141592653589793)

template <typename T>
complex<T> asinh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (isinf(x)) {
        if (isnan(y)) return z;
        return {x, copysign(isinf(y) ? __SIM_PI * T(0.25) : T(0), y)};
    }
    if (isnan(x)) {
        if (isinf(y)) return {y, x};
        return y == 0 ? z : complex<T>(x, x);
    }
    if (isinf(y)) return {copysign(y, x), copysign(__SIM_PI / T(2), y)};
    const complex<T> r = log(z + sqrt(__square(z) + T(1)));
    return {copysign(r.real(), x), copysign(r.imag(), y)};
}

template <typename T>
complex<T> acosh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (isinf(x)) {
        if (isnan(y)) return {abs(x), y};
        if (isinf(y)) return {abs(x), copysign(__SIM_PI * (x > 0 ? T(0.25) : T(0.75)), y)};
        return {abs(x), copysign(x < 0 ? __SIM_PI : T(0), y)};
    }
    if (isnan(x)) return isinf(y) ? complex<T>(abs(y), x) : complex<T>(x, x);
    if (isinf(y)) return {abs(y), copysign(__SIM_PI / T(2), y)};
    const complex<T> r = log(z + sqrt(__square(z) - T(1)));
    return {copysign(r.real(), T(0)), copysign(r.imag(), y)};
}

template <typename T>
complex<T> atanh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (isinf(y)) return {copysign(T(0), x), copysign(__SIM_PI / T(2), y)};
    if (isnan(y)) return isinf(x) || x == 0 ? complex<T>(copysign(T(0), x), y) : complex<T>(y, y);
    if (isnan(x)) return {x, x};
    if (isinf(x)) return {copysign(T(0), x), copysign(__SIM_PI / T(2), y)};
    if (abs(x) == T(1) && y == T(0)) return {copysign(T(INFINITY), x), copysign(T(0), y)};
    const complex<T> r = log((T(1) + z) / (T(1) - z)) / T(2);
    return {copysign(r.real(), x), copysign(r.imag(), y)};
}

template <typename T>
complex<T> sinh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if ((isinf(x) || x == 0) && !isfinite(y)) return {x, T(NAN)};
    if (y == 0 && !isfinite(x)) return z;
    return {sinh(x) * cos(y), cosh(x) * sin(y)};
}

template <typename T>
complex<T> cosh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (isinf(x) && !isfinite(y)) return {abs(x), T(NAN)};
    if (x == 0 && !isfinite(y)) return {T(NAN), x};
    if (x == 0 && y == 0) return {T(1), y};
    if (y == 0 && !isfinite(x)) return {abs(x), y};
    return {cosh(x) * cos(y), sinh(x) * sin(y)};
}

template <typename T>
complex<T> tanh(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (isinf(x)) return {copysign(T(1), x), isfinite(y) ? copysign(T(0), sin(T(2) * y)) : T(0)};
    if (isnan(x) && y == 0) return z;
    const T x2 = T(2) * x, y2 = T(2) * y, below = cosh(x2) + cos(y2), above = sinh(x2);
    if (isinf(above) && isinf(below)) return {above > T(0) ? T(1) : T(-1), y2 > T(0) ? T(0) : T(-0.)};
    return {above / below, sin(y2) / below};
}

// The others by turning the argument a quarter: f(z) = -i g(iz).
template <typename T> inline complex<T> __turned(const complex<T>& z) { return {-z.imag(), z.real()}; }
template <typename T> inline complex<T> __turned_back(const complex<T>& z) { return {z.imag(), -z.real()}; }
template <typename T> complex<T> asin(const complex<T>& z) { return __turned_back(asinh(__turned(z))); }
template <typename T> complex<T> atan(const complex<T>& z) { return __turned_back(atanh(__turned(z))); }
template <typename T> complex<T> sin(const complex<T>& z) { return __turned_back(sinh(__turned(z))); }
template <typename T> complex<T> cos(const complex<T>& z) { return cosh(__turned(z)); }
template <typename T> complex<T> tan(const complex<T>& z) { return __turned_back(tanh(__turned(z))); }

template <typename T>
complex<T> acos(const complex<T>& z) {
    const T x = z.real(), y = z.imag();
    if (isinf(x)) {
        if (isnan(y)) return {y, x};
        if (isinf(y)) return {(x < T(0) ? T(0.75) : T(0.25)) * __SIM_PI, -y};
        if (x < T(0)) return {__SIM_PI, signbit(y) ? -x : x};
        return {T(0), signbit(y) ? x : -x};
    }
    if (isnan(x)) return isinf(y) ? complex<T>(x, -y) : complex<T>(x, x);
    if (isinf(y) || (x == 0 && (y == 0 || isnan(y)))) return {__SIM_PI / T(2), -y};
    const complex<T> r = log(z + sqrt(__square(z) - T(1)));
    return {abs(r.imag()), signbit(y) ? abs(r.real()) : -abs(r.real())};
}

}  // namespace std
