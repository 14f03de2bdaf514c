"""A kernel that does not compile: the line that is at fault, and what to think about next."""

import pytest
import torch

from grader import exercises
from grader.check import Reason, check, compile_advice, compile_log

SAXPY = exercises.get("jit-saxpy")
HEAD = "template <typename T>\nT saxpy(T x, T y, T alpha) "


def checked(code):
    verdict = check(SAXPY, torch.cuda.jiterator._create_jit_fn(code, alpha=1.0))
    assert verdict.reason is Reason.COMPILE, verdict
    return verdict


@pytest.mark.parametrize(
    "body, line, source",
    [
        ("{\n  T z = alpha * x\n  return z + y;\n}", 3, "T z = alpha * x"),
        ("{\n  T z = alpha * x  // a remark\n\n  return z + y;\n}", 3, "T z = alpha * x  // a remark"),
        ("{\n  T z = alpha * x;\n  z = z + y\n  return z;\n}", 4, "z = z + y"),
        ("{\n  return alpha * x\n    + y\n}", 4, "+ y"),
        ("{\n  if (x > 0)\n    return x\n  return alpha * x + y;\n}", 4, "return x"),
    ],
)
def test_a_missing_semicolon_is_shown_on_its_own_line(body, line, source):
    verdict = checked(HEAD + body)
    assert verdict.lines[0].startswith(f"line {line}: expected")
    assert verdict.lines[1] == f"    {source}"
    assert "semicolon is missing" in verdict.explanation


def test_nvrtc_names_the_next_line_and_the_learner_reads_the_right_one():
    code = HEAD + "{\n  T z = alpha * x\n  return z + y;\n}"
    message = f'  {code}\ndefault_program(4): error: expected a ";"\n1 error detected'
    kernel = torch.cuda.jiterator._create_jit_fn(code, alpha=1.0)
    (fault,) = compile_log.read(RuntimeError(message), message, kernel).errors
    assert (fault.line, fault.source.strip()) == (3, "T z = alpha * x")


@pytest.mark.parametrize(
    "body, words",
    [
        ("{\n  if (x > 0) {\n  return alpha * x + y;\n}", "braces do not match: 2 open `{`, 1 closed `}`"),
        ("{\n  return alpha * x + y;\n}}", "braces do not match: 1 open `{`, 2 closed `}`"),
        ("{ return (alpha * x + y; }", "parentheses do not match: 2 open `(`, 1 closed `)`"),
        ("{ return alpha * x + y if x > 0 else y; }", "C++ writes it `c ? a : b`"),
        ("{\n  T z = x if x > 0 else y;\n  return z;\n}", "C++ writes it `c ? a : b`"),
        ("{ return alpha x + y; }", "missing between `alpha` and `x`: an operator"),
        ("{ return alpha**1 * x + y; }", "C++ has no `**`"),
        ("{ if x > 0: return x; else return y; }", "in parentheses, and no colon"),
        ("{ # scaled\n  return alpha * x + y; }", "a comment starts with `//`"),
        ("{\n  # add them\n  return alpha * x + y;\n}", "a comment starts with `//`"),
        ("{\n  # if x is big\n  return alpha * x + y;\n}", "a comment starts with `//`"),
        ("{ if (x > 0): return x; return alpha * x + y; }", "no colon"),
        ("{\n  if (x > 0) return x;\n  else:\n    return y;\n}", "no colon"),
        ("{ if (x > 0) return x; elif (x < 0) return y; return x; }", "C++ writes `else if (...)`"),
        ("{\n  if (x > 0) return x;\n  elif (x < 0)\n    return y;\n  return x;\n}", "C++ writes `else if"),
        ("{ return x % y; }", "there is fmod"),
        ("{ return x ^ 2; }", "A power is pow(x, y)"),
        ("{ return x | y; }", "or of two conditions is `||`"),
        ("{ return x & y; }", "and of two conditions is `&&`"),
        ("{ return x > 0 ? x, y; }", "chooses between two values"),
        ("{ return alpha * x[0] + y; }", "one element already"),
    ],
)  # fmt: skip
def test_advice(body, words):
    assert words in checked(HEAD + body).explanation


def test_unbalanced_braces_show_no_line_that_is_not_theirs():
    verdict = checked(HEAD + "{\n  if (x > 0) {\n    return x;\n  return alpha * x + y;\n}")
    assert verdict.lines == () and "that line" not in verdict.explanation


@pytest.mark.parametrize("parameters", ["T* x, T* y, T alpha", "T *x, T *y, T alpha"])
def test_pointer_parameters(parameters):
    verdict = checked(f"template <typename T>\nT saxpy({parameters}) {{ return alpha * *x + *y; }}")
    assert "write `T x`" in verdict.explanation


@pytest.mark.parametrize("body", ["{ return alpha * x + y; }", "{ alpha * x + y; }"])
def test_void_promises_no_result(body):
    verdict = checked(HEAD.replace("\nT ", "\nvoid ") + body)
    assert "`void` promises no result" in verdict.explanation
    assert "-f" not in verdict.lines[0]


def test_words_for_operators_are_cpp():
    text = "{ return (x > 0 and y > 0) or not (x > 0) ? alpha * x + y : alpha * x + y; }"
    assert check(SAXPY, torch.cuda.jiterator._create_jit_fn(HEAD + text, alpha=1.0)).passed


@pytest.mark.parametrize(
    "head, words",
    [
        ("template <typename T> T saxpy(T x, y, T alpha)", "`T y`, not `y` alone"),
        ("template <typename T> T saxpy(T x T y, T alpha)", "A comma stands between two parameters"),
        ("template <typname T> T saxpy(T x, T y, T alpha)", "Write `template <typename T>`"),
        ("template <T> T saxpy(T x, T y, T alpha)", "Write `template <typename T>`"),
    ],
)
def test_what_is_missing_in_the_head(head, words):
    assert words in checked(head + " { return alpha * x + y; }").explanation


def test_a_sound_head_is_not_blamed():
    head = "template <typename T> T saxpy(const T& x, unsigned int y, std::complex<float> z, T alpha=T(1))"
    assert "comma" not in compile_advice._head(head + " { return w; }")


@pytest.mark.parametrize(
    "line, operator",
    [("return x ^ y;", "^"), ("return x > 0 && (x | 1);", "|"), ("return x > 0 || (x & 1);", "&")],
)
def test_nvrtc_names_no_operator_and_the_line_does(line, operator):
    fault = compile_log.Fault(1, "expression must have integral or unscoped enum type", line)
    advice = compile_advice.advice(compile_log.Log((fault,)), exercises.Case((), {}, torch.float32))
    assert f"`{operator}`" in advice and "integers" in advice


def test_a_reference_in_a_message_is_no_operator():
    fault = compile_log.Fault(1, "no match for 'operator*' (operand types are 'A&' and 'float')", "x * y;")
    advice = compile_advice.advice(compile_log.Log((fault,)), exercises.Case((), {}, torch.float32))
    assert "bits" not in advice


def test_the_tensors_of_the_failing_call_are_counted():
    kernel = torch.cuda.jiterator._create_jit_fn(
        "template <typename T> T scale(T x, T alpha) { return alpha * x; }", alpha=1.0
    )
    verdict = check(
        exercises.get("compile-once"), lambda x, alpha: kernel(x, torch.tensor(alpha, device="cuda"))
    )
    assert "called with 2 tensors and then its keywords (alpha)" in verdict.explanation
    assert "A number goes in by name" in verdict.explanation
