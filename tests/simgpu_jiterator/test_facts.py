"""What was seen of torch.cuda.jiterator on a real GPU. These tests pass there and on the simulated one."""

from __future__ import annotations

import math

import pytest
import torch

create = torch.cuda.jiterator._create_jit_fn
create_many = torch.cuda.jiterator._create_multi_output_jit_fn

ADD = "template <typename T> T add(T a, T b) { return a + b; }"
SAME = "template <typename T> T same(T x) { return x; }"


def on(values, dtype=None):
    return torch.tensor(values, dtype=dtype, device="cuda")


# Creation and the order of checks at a call.


def test_a_python_function_is_no_kernel():
    with pytest.raises(TypeError, match="expected string or bytes-like object, got 'function'"):
        create(lambda x: x)


@pytest.mark.parametrize(
    "code",
    [
        "// a comment first\n" + SAME,
        "#include <cmath>\n" + SAME,
        "__device__ float f(float x) { return x; }",
        "float f(float x) { return x; }",
        "template <typename T> T f() { return T(1); }",
        "template <typename T> T& f(T& x) { return x; }",
        "template <typename T> std::complex<float> f(T x) { return x; }",
        "template <typename T> T f(T x) {}",
        "template <typename T> T f(T x) { return x; ",
    ],
)
def test_text_that_the_parser_refuses(code):
    with pytest.raises(Exception, match="Couldn't parse code, please check correctness") as caught:
        create(code)
    assert type(caught.value) is Exception


def test_a_missing_semicolon_is_noticed_only_at_the_call():
    kernel = create("template <typename T> T f(T x) { return x }")
    with pytest.raises(RuntimeError, match="error"):
        kernel(on([1.0]))


def test_nine_inputs():
    with pytest.raises(AssertionError, match="jiterator only supports up to 8 tensor inputs, got 9"):
        create(SAME)(*[on([1.0])] * 9)


def test_nine_inputs_come_before_an_unknown_keyword():
    with pytest.raises(AssertionError, match="up to 8"):
        create(SAME)(*[on([1.0])] * 9, beta=1)


def test_unknown_keyword():
    with pytest.raises(KeyError, match="beta is not declared in function definition"):
        create(SAME)(on([1.0]), beta=2.0)


def test_host_tensors_only():
    with pytest.raises(RuntimeError, match="^CUDAGuardImpl initialized with non-CUDA DeviceType: cpu"):
        create(ADD)(torch.ones(2), torch.ones(2))


@pytest.mark.parametrize("host", [torch.ones(2), torch.tensor(1.0)], ids=["one dimension", "no dimension"])
def test_tensors_on_two_devices(host):
    words = "^Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    with pytest.raises(RuntimeError, match=words):
        create(ADD)(on([1.0, 2.0]), host)
    with pytest.raises(RuntimeError, match=words):
        create(ADD)(host, on([1.0, 2.0]))


def test_shapes_come_before_devices():
    with pytest.raises(
        RuntimeError, match=r"^The size of tensor a \(2\) must match the size of tensor b \(3\)"
    ):
        create(ADD)(on([1.0, 2.0]), torch.ones(3))


def test_empty_results_compile_nothing():
    bad = create("template <typename T> T f(T a, T b) { return no such thing; }")
    empty = torch.zeros(0, device="cuda")
    assert bad(empty, empty).shape == (0,)
    assert bad(torch.zeros(0, 3, device="cuda"), on([1.0, 2.0, 3.0])).shape == (0, 3)


# Values.


def test_integers_are_not_promoted_to_floats():
    kernel = create("template <typename T> T f(T a, T b) { return a / b; }")
    got = kernel(on([7]), on([2]))
    assert got.dtype == torch.int64 and got.tolist() == [3]


def test_a_bool_result_has_the_dtype_of_the_inputs():
    kernel = create("template <typename T> bool f(T x) { return x > T(1); }")
    got = kernel(on([0.0, 1.0, 2.0]))
    assert got.dtype == torch.float32 and got.tolist() == [0.0, 0.0, 1.0]


def test_bool_plus_bool_is_bool():
    got = create(ADD)(on([True, True, False]), on([True, False, False]))
    assert got.dtype == torch.bool and got.tolist() == [True, True, False]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_compute_in_float32(dtype):
    kernel = create("template <typename T> T f(T x) { return exp(x) + tanh(x) + rsqrt(x + T(1)); }")
    assert f"{kernel(on([1.0], dtype)).item():.4f}" == "4.1875"
    big = create("template <typename T> T f(T x) { return x * x / x; }")
    assert big(on([1000.0], torch.float16)).item() == 1000.0


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex(dtype):
    z = on([1 + 2j, -0.5j], dtype)
    torch.testing.assert_close(create("template <typename T> T f(T z) { return exp(z); }")(z), torch.exp(z))


def test_float8_does_not_compile():
    with pytest.raises(RuntimeError):
        create(SAME)(torch.ones(2, device="cuda").to(torch.float8_e4m3fn))


def test_a_transposed_input_gives_a_transposed_result():
    got = create(SAME)(on([[1.0, 2, 3, 4], [5, 6, 7, 8]]).t())
    assert got.stride() == (1, 4) and got.tolist() == [[1, 5], [2, 6], [3, 7], [4, 8]]


def test_broadcast_expanded_and_sliced():
    a, b = torch.arange(12.0, device="cuda").view(3, 4), torch.arange(24.0, device="cuda")[::6]
    for x, y in [(a, b), (a, a[:, :1]), (a[:, 1:], b[1:]), (b.expand(3, 4), a), (a, on(2.0))]:
        torch.testing.assert_close(create(ADD)(x, y), x + y)


def test_conj_and_neg_views_are_ignored():
    z, same = on([1 + 2j]), create(SAME)
    assert same(z.conj()).tolist() == [1 + 2j]
    assert same(z.conj().imag).tolist() == [2.0]
    assert same(z.conj().resolve_conj()).tolist() == [1 - 2j]
    assert same(z.conj().imag.resolve_neg()).tolist() == [-2.0]


@pytest.mark.parametrize("returns", ["T", "void"])
def test_several_results(returns):
    end = "return x;" if returns == "T" else ""
    kernel = create_many(
        f"template <typename T> {returns} f(T x, T& a, T& b) {{ a = x + T(1); b = x * T(2); {end} }}", 2
    )
    a, b = kernel(on([1.0, 2.0]))
    assert a.tolist() == [2.0, 3.0] and b.tolist() == [2.0, 4.0]


def test_one_result_by_reference_is_a_tensor():
    got = create_many("template <typename T> void f(T x, T& a) { a = x; }", 1)(on([1.0]))
    assert isinstance(got, torch.Tensor)


def test_results_are_not_differentiable():
    assert create(SAME)(on([1.0]).requires_grad_()).requires_grad is False


def test_thread_index_is_visible():
    got = create("template <typename T> T f(T x) { return x + threadIdx.x; }")(torch.zeros(5, device="cuda"))
    assert got.tolist() == [0, 1, 2, 3, 4]


def test_inside_torch_compile():
    kernel = create(ADD)
    compiled = torch.compile(lambda a, b: kernel(a * 2, b) + 1, backend="eager")
    assert compiled(on([1.0, 2.0]), on([3.0, 4.0])).tolist() == [6.0, 9.0]


# Keyword arguments.


def test_a_float_keyword_is_truncated_for_an_integer_kernel():
    kernel = create("template <typename T> T f(T x, T alpha) { return x * alpha; }", alpha=1.0)
    assert kernel(on([1, 1], torch.int32), alpha=2.5).tolist() == [2, 2]


def test_an_int_parameter_counts_a_loop():
    kernel = create(
        "template <typename T> T f(T x, int n) { T s = T(0); for (int i = 0; i < n; ++i) s += x; return s; }",
        n=3,
    )
    assert kernel(on([1.0, 2.0])).tolist() == [3.0, 6.0]
    assert kernel(on([1.0, 2.0]), n=5).tolist() == [5.0, 10.0]


@pytest.mark.parametrize("value", ["a", None, [1.0]])
def test_a_keyword_that_is_no_number(value):
    with pytest.raises(TypeError, match="must be real number, not "):
        create("template <typename T> T f(T x, T k) { return x * k; }", k=1.0)(on([1.0]), k=value)


# Inside the body.


@pytest.mark.parametrize(
    "body",
    [
        "return exp(x) + ::tanh(x) + std::erf(x) + rsqrt(x) + erfinv(x) + fma(x, x, x);",
        "return __expf(x) + fmaf(x, x, x) + ::max(x, T(0)) + ::min(x, T(1));",
        "int64_t n = 3; return x > INFINITY || x == NAN ? T(n) : x;",
        'if (x > T(5)) printf("%f\\n", (double)x); assert(x > T(9)); return x;',
        "return T(NEG_INFINITY) < x ? x : T(0);",
    ],
)
def test_compiles(body):
    create("template <typename T> T f(T x) { " + body + " }")(on([0.5]))


@pytest.mark.parametrize(
    ("body", "dtype"),
    [
        ("return std::max(x, T(0));", torch.float32),
        ("return std::numeric_limits<T>::max();", torch.float32),
        ("return x * M_PI;", torch.float32),
        ("int32_t n = 3; return x * n;", torch.float32),
        ("return x % T(2);", torch.float32),
        ("return sin(x);", torch.int64),
        ("return max(x, 0);", torch.float32),
        ("return pow(x, 2.0);", torch.float32),
        ("return x > 0 ? x : 0;", torch.complex64),
        ("return ::sin(x);", torch.complex64),
        ("std::complex<T> z(x, x); return z.real();", torch.float32),
    ],
)
def test_does_not_compile(body, dtype):
    kernel = create("template <typename T> T f(T x) { " + body + " }")
    with pytest.raises(RuntimeError, match="error") as caught:
        kernel(torch.ones(3, device="cuda").to(dtype))
    assert type(caught.value) is RuntimeError


@pytest.mark.parametrize("name", ["main", "data", "Array", "num_threads"])
def test_names_that_are_taken(name):
    with pytest.raises(RuntimeError, match="error"):
        create(f"template <typename T> T {name}(T x) {{ return x; }}")(on([1.0, 2.0]))


@pytest.mark.parametrize("name", ["numel", "l", "s"])
def test_names_that_are_taken_unless_the_kernel_is_vectorised(name):
    kernel = create(f"template <typename T> T {name}(T x) {{ return x; }}")
    assert kernel(torch.arange(4.0, device="cuda")).tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="error"):
        kernel(torch.arange(8.0, device="cuda")[::2])


# What C++ leaves open and a GPU does.


def test_integer_division_by_zero():
    kernel = create_many("template <typename T> void f(T a, T b, T& q, T& r) { q = a / b; r = a % b; }", 2)
    q, r = kernel(on([7, -7], torch.int32), on([0, 0], torch.int32))
    assert q.tolist() == [-1, -1] and r.tolist() == [7, -7]
    remainder = create("template <typename T> T f(T a, T b) { return a % b; }")
    assert remainder(on([7, -7], torch.int32), on([0, 0], torch.int32)).tolist() == [-1, -1]
    assert remainder(on([7, -7]), on([0, 0])).tolist() == [2**32 - 1, -1]


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64])
def test_least_integer_by_minus_one(dtype):
    least = torch.iinfo(dtype).min
    kernel = create_many("template <typename T> void f(T a, T b, T& q, T& r) { q = a / b; r = a % b; }", 2)
    q, r = kernel(on([least], dtype), on([-1], dtype))
    assert q.tolist() == [least] and r.tolist() == [0]


def test_shifts_by_too_much_leave_nothing():
    kernel = create_many("template <typename T> void f(T a, T n, T& l, T& r) { l = a << n; r = a >> n; }", 2)
    for dtype, width in ((torch.int32, 32), (torch.int64, 64)):
        left, right = kernel(on([77, -77, 77], dtype), on([width, width + 1, -1], dtype))
        assert left.tolist() == [0, 0, 0] and right.tolist() == [0, -1, 0]


def test_floats_saturate_when_they_become_integers():
    kernel = create("template <typename T> double f(T x) { return (int)x; }")
    values = on([3e9, -3e9, math.inf, math.nan, -1.5], torch.float64)
    assert kernel(values).tolist() == [2**31 - 1, -(2**31), 2**31 - 1, -(2**31), -1]
    assert kernel(values.float()).tolist() == [2**31, -(2**31), 2**31, 0, -1]  # 2^31 - 1 as a float32
    wide = create("template <typename T> double f(T x) { return (long long)x; }")
    assert wide(on([1e30, -1e30, math.nan], torch.float64)).tolist() == [2.0**63, -(2.0**63), -(2.0**63)]
