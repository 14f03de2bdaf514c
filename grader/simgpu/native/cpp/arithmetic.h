// Integer arithmetic and conversions as a GPU does them where C++ leaves the result open.
//
//   division by zero   all ones (64 bits whose upper halves are zero: the lower 32 ones); the remainder likewise, but the
//                      dividend where the quotient of the same two operands is computed as well (it is a - b * (a / b))
//   INT_MIN / -1       INT_MIN, remainder 0
//   shift counts       taken as unsigned 32 bits; from the width on everything is shifted out
//   float to integer   saturates at 32 or 64 bits, and smaller types take the low bits of 32; NaN gives 0, but the least
//                      integer for 64 bits, and 0x80000000 from double
//
// The operators themselves cannot be changed for built-in types. Kernel text is rewritten instead: `a / b` becomes
// `a * __sim::over * b`, which has the same precedence and associativity and reaches the overloads below.
namespace __sim {

template <bool, typename A, typename B> struct either { typedef A type; };
template <typename A, typename B> struct either<false, A, B> { typedef B type; };
template <bool, typename T = void> struct only_if {};
template <typename T> struct only_if<true, T> { typedef T type; };

template <typename T> constexpr bool is_integer = false;
template <typename T> constexpr bool is_float = false;
template <typename T> constexpr bool is_bool = false;
template <> constexpr bool is_bool<bool> = true;
template <> constexpr bool is_float<float> = true;
template <> constexpr bool is_float<double> = true;
template <> constexpr bool is_integer<bool> = true;
template <> constexpr bool is_integer<char> = true;
template <> constexpr bool is_integer<signed char> = true;
template <> constexpr bool is_integer<unsigned char> = true;
template <> constexpr bool is_integer<short> = true;
template <> constexpr bool is_integer<unsigned short> = true;
template <> constexpr bool is_integer<int> = true;
template <> constexpr bool is_integer<unsigned int> = true;
template <> constexpr bool is_integer<long> = true;
template <> constexpr bool is_integer<unsigned long> = true;
template <> constexpr bool is_integer<long long> = true;
template <> constexpr bool is_integer<unsigned long long> = true;
template <typename T> constexpr bool is_number = is_integer<T> || is_float<T>;
template <typename T> constexpr bool is_signed = T(-1) < T(0);

// float or double `x` as integer type I.
template <typename I, typename F>
constexpr I saturate(F x) {
    constexpr bool wide = sizeof(I) == 8, nan_is_zero = !wide && sizeof(F) == 4;
    if constexpr (is_signed<I>) {
        typedef typename either<wide, long long, int>::type L;
        constexpr L least = L(1ull << (sizeof(L) * 8 - 1)), most = ~least;
        L r = x >= -F(least) ? most : x < F(least) ? least : x != x ? (nan_is_zero ? L(0) : least) : L(x);
        return I(r);
    } else {
        typedef typename either<wide, unsigned long long, unsigned int>::type U;
        constexpr U top = U(1) << (sizeof(U) * 8 - 1);
        U r = x >= F(top) * F(2) ? ~U(0) : x <= F(-1) ? U(0) : x != x ? (nan_is_zero ? U(0) : top) : U(x > F(0) ? x : F(0));
        return I(r);
    }
}

// What `T(v)` and `(T)v` give on the device.
template <typename T, typename V>
constexpr T convert(const V& v) {
    if constexpr (is_integer<T> && is_float<V>) {
        if constexpr (is_bool<T>) return v != V(0);
        else return saturate<T>(v);
    } else return static_cast<T>(v);
}

// `to<int>(v)` for `int(v)`; for types that are no integers, the type itself.
template <typename T>
struct To {
    T value;
    constexpr To() : value() {}
    template <typename V, typename = typename only_if<is_number<V>>::type> constexpr To(V v) : value(convert<T>(v)) {}
    constexpr operator T() const { return value; }
};
template <typename T> using to = typename either<is_integer<T>, To<T>, T>::type;

// `into<int>() |= v` for the implicit conversion of `int i = v`.
template <typename T> struct into {};
template <typename T, typename V>
constexpr auto operator|=(into<T>, const V& v) -> typename either<is_integer<T> && is_float<V>, T, V>::type {
    if constexpr (is_integer<T> && is_float<V>) return convert<T>(v);
    else return v;
}

// R: the type of the result; least: how many of its bits a zero divisor sets at least (fewer than all of them between
// two unsigned types that are smaller than int, for which the GPU's compiler takes a smaller division).
template <int least, typename R>
constexpr R quotient(R a, R b) {
    if (b == 0 && least < 32) return R((1 << least) - 1);
    if (b == 0) return sizeof(R) == 8 && (static_cast<unsigned long long>(a) >> 31) >> 1 == 0 ? R(0xffffffffull) : R(~R(0));
    if (is_signed<R> && b == R(-1)) return R(0 - static_cast<unsigned long long>(a));
    return a / b;
}
template <typename A, typename B>
constexpr int least_bits = is_signed<A> || is_signed<B> || sizeof(A) >= 4 || sizeof(B) >= 4 ? 32 : 8 * (sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B));
template <bool paired, int least, typename R>
constexpr R remainder_(R a, R b) {
    if (b == 0) return paired ? a : quotient<least>(a, b);
    if (is_signed<R> && b == R(-1)) return 0;
    return a % b;
}
template <typename R, typename C> constexpr R left(R a, C count) {
    const unsigned int n = static_cast<unsigned int>(count);
    return n >= sizeof(R) * 8 ? R(0) : a << n;
}
template <typename R, typename C> constexpr R right(R a, C count) {
    const unsigned int n = static_cast<unsigned int>(count), most = sizeof(R) * 8 - 1;
    if (is_signed<R>) return a >> (n > most ? most : n);
    return n > most ? R(0) : a >> n;
}

struct Over {}; struct Rem {}; struct RemPaired {}; struct Left {}; struct Right {};
constexpr Over over; constexpr Rem rem; constexpr RemPaired rem_paired; constexpr Left shl; constexpr Right shr;
template <typename A, typename Op> struct Pending { A a; };

template <typename A> constexpr Pending<A, Over> operator*(const A& a, Over) { return {a}; }
template <typename A> constexpr Pending<A, Rem> operator*(const A& a, Rem) { return {a}; }
template <typename A> constexpr Pending<A, RemPaired> operator*(const A& a, RemPaired) { return {a}; }
template <typename A> constexpr Pending<A, Left> operator<<(const A& a, Left) { return {a}; }
template <typename A> constexpr Pending<A, Right> operator>>(const A& a, Right) { return {a}; }

template <typename A, typename B> constexpr auto operator*(Pending<A, Over> p, const B& b) -> decltype(p.a / b) {
    typedef decltype(p.a / b) R;
    if constexpr (is_integer<A> && is_integer<B>) return quotient<least_bits<A, B>, R>(p.a, b);
    else return p.a / b;
}
template <typename A, typename B> constexpr auto operator*(Pending<A, Rem> p, const B& b) -> decltype(p.a % b) {
    typedef decltype(p.a % b) R;
    if constexpr (is_integer<A> && is_integer<B>) return remainder_<false, least_bits<A, B>, R>(p.a, b);
    else return p.a % b;
}
template <typename A, typename B> constexpr auto operator*(Pending<A, RemPaired> p, const B& b) -> decltype(p.a % b) {
    typedef decltype(p.a % b) R;
    if constexpr (is_integer<A> && is_integer<B>) return remainder_<true, least_bits<A, B>, R>(p.a, b);
    else return p.a % b;
}
template <typename A, typename B> constexpr auto operator<<(Pending<A, Left> p, const B& b) -> decltype(p.a << b) {
    typedef decltype(p.a << b) R;
    if constexpr (is_integer<A> && is_integer<B>) return left<R>(p.a, b);
    else return p.a << b;
}
template <typename A, typename B> constexpr auto operator>>(Pending<A, Right> p, const B& b) -> decltype(p.a >> b) {
    typedef decltype(p.a >> b) R;
    if constexpr (is_integer<A> && is_integer<B>) return right<R>(p.a, b);
    else return p.a >> b;
}

// `a /= b` becomes `a *= __sim::over_by |= b`.
template <typename Op> struct By {};
constexpr By<Over> over_by; constexpr By<Rem> rem_by; constexpr By<RemPaired> rem_paired_by; constexpr By<Left> shl_by; constexpr By<Right> shr_by;
template <typename B, typename Op> struct Operand { B b; };
template <typename B, typename Op> constexpr Operand<B, Op> operator|=(By<Op>, const B& b) { return {b}; }
template <typename A, typename B> constexpr A& operator*=(A& a, Operand<B, Over> o) {
    if constexpr (is_number<A> && is_number<B>) a = convert<A>(a * over * o.b);
    else a /= o.b;
    return a;
}
template <typename A, typename B> constexpr auto operator*=(A& a, Operand<B, Rem> o) -> decltype(a %= o.b) {
    return a = convert<A>(a * rem * o.b);
}
template <typename A, typename B> constexpr auto operator*=(A& a, Operand<B, RemPaired> o) -> decltype(a %= o.b) {
    return a = convert<A>(a * rem_paired * o.b);
}
template <typename A, typename B> constexpr auto operator*=(A& a, Operand<B, Left> o) -> decltype(a <<= o.b) {
    return a = convert<A>(a << shl << o.b);
}
template <typename A, typename B> constexpr auto operator*=(A& a, Operand<B, Right> o) -> decltype(a >>= o.b) {
    return a = convert<A>(a >> shr >> o.b);
}

// A keyword argument on its way into a parameter of integer type.
template <typename V> struct Argument {
    V value;
    template <typename T, typename = typename only_if<is_number<T>>::type> operator T() const { return convert<T>(value); }
};

// A result that the kernel did not write: what would stand out.
template <typename T> constexpr T unwritten() {
    if constexpr (is_float<T>) return T(__builtin_nan(""));
    else if constexpr (is_integer<T>) return T(0xa5a5a5a5a5a5a5a5ull);
    else return T(__builtin_nanf(""), __builtin_nanf(""));
}

// What the kernel returned, as the type of the output.
template <typename T, typename V> inline T result(const V& v) {
    if constexpr (is_number<T> && is_number<V>) return convert<T>(v);
    else { T r = v; return r; }
}

}  // namespace __sim
