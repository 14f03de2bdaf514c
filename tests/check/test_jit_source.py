import pytest
import torch

from grader.check.jit_source import assignment_warning, double_literals, double_warning, explain, fixed_type

GOOD = "template <typename T> T add(T x, T y) { return x + y; }"

BROKEN = {
    "// adds\n" + GOOD: r"starts with a comment \(line 1\)",
    "\n\n  /* adds */ " + GOOD: r"starts with a comment \(line 3\)",
    "#include <cmath>\n" + GOOD: "#include .*No header",
    "#define N 3\n" + GOOD: "preprocessor line",
    "__device__ " + GOOD: "`__device__`",
    "inline " + GOOD: "`inline`",
    "float add(float x, float y) { return x + y; }": "starts with `float add.*template <typename T>",
    "def add(x, y):\n    return x + y": "Python",
    "": "empty",
    "template T add(T x) { return x; }": "angle brackets",
    "template <typename T> T add { return x; }": "a function is expected",
    "template <typename T> add(T x) { return x; }": "no return type",
    "template <typename T> unsigned int add(T x) { return x; }": "`unsigned int` has several words",
    "template <typename T> T& add(T x) { return x; }": "`T&` is a reference",
    "template <typename T> T* add(T x) { return x; }": "reference or pointer",
    "template <typename T> std::complex<float> add(T x) { return x; }": "not a single word",
    "template <typename T> T add() { return T(1); }": "takes no parameter",
    "template <typename T> T add(T x) {}": "body `{}` is empty",
    "template <typename T> T add(T x) return x;": "opening brace",
    "template <typename T> T add(T x) { return x;": "closing brace",
}


@pytest.mark.parametrize("code", BROKEN)
def test_the_broken_rule_is_named(code):
    import re

    with pytest.raises(Exception, match="Couldn't parse code"):
        torch.cuda.jiterator._create_jit_fn(code)
    assert re.search(BROKEN[code], explain(code), re.DOTALL)


@pytest.mark.parametrize(
    "code",
    [
        GOOD,
        "\n\n" + GOOD,
        "template<class U>U f(U a){return a;}",
        GOOD + " // done",
        "template <typename T> T h(T a) { return a; }\ntemplate <typename T> T g(T a) { return h(a); }",
        "template <typename T> T f(T x) { return x }",
    ],
)
def test_what_jiterator_reads_is_not_complained_of(code):
    torch.cuda.jiterator._create_jit_fn(code)
    assert explain(code) is None


def test_what_is_no_text_is_told_so():
    assert "Python function" in explain(lambda x: x)
    assert "type int" in explain(3)


def body(text):
    return f"template <typename T> T f(T x, T y) {{ {text} }}"


@pytest.mark.parametrize(
    "text, found",
    [
        ("return 0.5 * x;", ["0.5"]),
        ("return x * .5;", [".5"]),
        ("return x + 1.;", ["1."]),
        ("return x * 1e-3;", ["1e-3"]),
        ("return x * 1.0E+3 + 2.5 * y;", ["1.0E+3", "2.5"]),
        ("return T(0.5 * x);", ["0.5"]),
        ("return x > 0.0 ? x : y;", ["0.0"]),
        ("return exp(0.5) * x;", ["0.5"]),
        ("T c = 0.5 * x; return c;", ["0.5"]),
        ("return T(0.5) * x;", []),
        ("return T(-0.5) * x;", []),
        ("return T(1.0 / 3.0) * x;", []),
        ("return static_cast<T>(0.5) * x;", []),
        ("return (T)0.5 * x;", []),
        ("return T{0.5} * x;", []),
        ("return 0.5f * x;", []),
        ("return 1e-3F * x;", []),
        ("T c = 0.5; return c * x;", []),
        ("return 0.5;", []),
        ("T c = 0.5, d = x; return c * d;", []),
        ("return x * 2;", []),
        ("return x + 0x1F;", []),
        ("/* 0.5 * x */ return x; // 0.25", []),
        ('printf("%f 0.5\\n", x); return x;', []),
        ("return x1.y + a2;", []),
    ],
)
def test_double_literals(text, found):
    assert [number for _, number in double_literals(body(text))] == found


def test_the_warning_names_line_and_mend():
    warning = double_warning("template <typename U>\nU f(U x) {\n  // 0.1\n  return 0.5 * x;\n}")
    assert "line 4" in warning and "`0.5`" in warning and "T(0.5)" in warning
    assert double_warning(body("return x;")) is None


def test_a_default_of_a_parameter_is_converted_at_once():
    assert double_warning("template <typename T> T f(T x, T alpha=1.0) { return alpha * x; }") is None


def test_a_condition_that_assigns_is_asked_about():
    assert "line 1 of your kernel: `if (x = 0)` gives x" in assignment_warning(body("if (x = 0) return y;"))
    for text in ("if (x == 0) return y;", "if (T z = x) return z;", "if (x <= 0) return y;", "x = 0;"):
        assert assignment_warning(body(text)) is None


@pytest.mark.parametrize(
    "code, words",
    [
        ("template <typename T> float f(T x, T y) { return x; }", "`f` returns `float`"),
        ("template <typename T> T f(T x, double y) { return x; }", "`double y` makes a double"),
        ("template <typename T> T f(T x, T y, double alpha) { return x; }", None),
        (
            "template <typename T> float g(T x) { return x; }\n"
            "template <typename T> T f(T x, T y) { return x; }",
            None,
        ),
    ],
)
def test_a_fixed_type_in_place_of_t(code, words):
    found = fixed_type(code, "f", 2)
    assert found is None if words is None else words in found
