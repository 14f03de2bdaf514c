"""Compile errors: lines of the learner's text, in the GPU compiler's words."""

from __future__ import annotations

import copy
import os
import types

import pytest
import torch

from grader.simgpu.jiterator import NoCompiler, errors
from grader.simgpu.native import compiler

create = torch.cuda.jiterator._create_jit_fn


def failure(code, inputs=1, **kwargs):
    with pytest.raises(RuntimeError) as caught:
        create(code, **kwargs)(*[torch.ones(2, device="cuda")] * inputs)
    assert type(caught.value) is RuntimeError
    return caught.value


def test_line_column_text_and_message():
    error = failure("template <typename T>\nT f(T x) {\n    return x + nosuch;\n}")
    (entry,) = error.compile_log
    assert (entry.line, entry.column) == (3, 16)
    assert entry.text == "    return x + nosuch;"
    assert entry.message == 'identifier "nosuch" is undefined'
    assert str(error).startswith(
        'your kernel(3): error: identifier "nosuch" is undefined\n        return x + nosuch;'
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return std::max(x, T(0));", 'namespace "std" has no member "max"'),
        ("return x", 'expected a ";"'),
        ("return g(x);", 'identifier "g" is undefined'),
        ("return x % T(2);", 'expression must have integral type: "float" % "float"'),
        (
            "return sin(1) + x;",
            'more than one instance of overloaded function "sin" matches the argument list',
        ),
        ("return x + M_PI;", 'identifier "M_PI" is undefined'),
    ],
)
def test_words(body, message):
    assert (
        failure("template <typename T> T f(T x) { " + body + " }").compile_log[0].message.startswith(message)
    )


def test_several_errors_in_order():
    log = failure("template <typename T> T f(T x) {\n  one();\n  two();\n  return x;\n}").compile_log
    assert [e.line for e in log] == [2, 3]


def test_lines_of_the_text_as_it_was_written():
    """Also when the text was rewritten, which moves columns."""
    log = failure(
        "template <typename T> T f(T x, int n) { int m = n / 2; return x / m + nosuch; }", n=3
    ).compile_log
    assert log[0].text[log[0].column - 1 :].startswith("nosuch")


@pytest.mark.parametrize("inputs", [1, 3])
def test_a_wrong_number_of_tensors_shows_how_the_kernel_is_called(inputs):
    error = failure("template <typename T> T f(T a, T b) { return a + b; }", inputs=inputs)
    arguments = ", ".join(["float"] * inputs)
    assert error.compile_log[0].line == 0 and error.compile_log[0].text == f"f<float>({arguments})"
    assert 'no instance of function "f" matches the argument list' in str(error)


def test_an_error_is_raised_at_each_call():
    kernel, x = create("template <typename T> T f(T x) { return nosuch; }"), torch.ones(2, device="cuda")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="nosuch"):
            kernel(x)


def test_no_path_of_ours_in_a_message():
    message = str(failure("template <typename T> T f(T x) { return rsqrt(x, x) + std::nosuch(x); }"))
    assert os.sep + "cpp" + os.sep not in message and "generated" not in message and "__sim" not in message


def test_an_include_is_refused_by_name():
    text = "template <typename T> T f(T x) { return x; }\n#include <cmath>\n"
    assert 'cannot open source file "cmath"' in str(failure(text))


def test_the_error_can_be_copied():
    error = failure("template <typename T> T f(T x) { return nosuch; }")
    assert str(copy.copy(error)) == str(error)


@pytest.fixture
def no_compiler(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(
    ("platform", "words"),
    [
        ("linux", "sudo apt install g"),
        ("darwin", "xcode-select --install"),
        ("win32", "Windows Subsystem for Linux"),
    ],
)
def test_without_a_compiler_the_message_says_what_to_install(no_compiler, monkeypatch, platform, words):
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setattr(compiler, "sys", types.SimpleNamespace(platform=platform))
    compiler._command.cache_clear()
    with pytest.raises(NoCompiler, match=words):
        create("template <typename T> T f(T x) { return x + T(417); }")(torch.ones(2, device="cuda"))
    compiler._command.cache_clear()


def test_in_a_conda_environment_conda_is_named(no_compiler, monkeypatch):
    monkeypatch.setenv("CONDA_PREFIX", "/somewhere")
    compiler._command.cache_clear()
    with pytest.raises(NoCompiler, match="conda install -c conda-forge cxx-compiler"):
        compiler.command()
    compiler._command.cache_clear()


def test_a_compiler_that_cxx_names_but_is_not_there(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler -O2")
    with pytest.raises(NoCompiler, match="CXX names the compiler 'no-such-compiler'"):
        compiler.command()


def test_a_header_that_asks_for_another_is_refused_by_its_own_name():
    code = "template <typename T> T f(T x) { return x; }\n#include <deep.h>\n"
    log = "/usr/include/deep.h:3:10: fatal error: deeper.h: No such file or directory\n"
    found = errors.from_log(log, code, "f", "float32", "f(float)")
    (line,) = found.compile_log
    assert (line.line, line.text) == (2, "#include <deep.h>")
    assert line.message == 'cannot open source file "deep.h"'
