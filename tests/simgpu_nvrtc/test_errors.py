"""Text that does not compile: in NVRTC's words, on the learner's lines."""

from __future__ import annotations

import pytest
import torch

from grader.simgpu.nvrtc import nvidia

from .conftest import HEAD


@pytest.fixture(autouse=True)
def _without_nvrtc(monkeypatch):
    """Where NVRTC is installed it speaks for itself."""
    monkeypatch.setattr(nvidia, "refusal", lambda code, name, options: None)


def log(text, name="k"):
    with pytest.raises(RuntimeError) as caught:
        torch.cuda._compile_kernel(text, name)
    assert type(caught.value) is RuntimeError
    first, rest = str(caught.value).split("\n", 1)
    assert first == "Kernel compilation failed:"
    return rest


# What NVRTC 13 says first, where it is one error on the line.
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("(float* x) { x[0] = nosuch; }", 'identifier "nosuch" is undefined'),
        ("(float* x) { x[0] = 1 }", 'expected a ";"'),
        ("(float* x) { return 1; }", "return value type does not match the function type"),
        ("(float* x) { x[threadidx.x] = 1; }", 'identifier "threadidx" is undefined'),
        ("(float* x) { x[0] = threadIdx.q; }", 'class "uint3" has no member "q"'),
        ("(float* x) { x[0.5] = 1; }", "expression must have integral or unscoped enum type"),
        ("(const float* x) { x[0] = 1; }", "expression must be a modifiable lvalue"),
        ("(float* x) { 3 = x[0]; }", "expression must be a modifiable lvalue"),
        (
            "(float* x) { float* p = 3.0f; }",
            'a value of type "float" cannot be used to initialize an entity of type "float *"',
        ),
        (
            "(float* x) { int y = x; }",
            'a value of type "float *" cannot be used to initialize an entity of type "int"',
        ),
        (
            "(float* x) { x[0] = x; }",
            'a value of type "float *" cannot be assigned to an entity of type "float"',
        ),
        ("(float* x) { x[0] = sqrtf(1.f, 2.f); }", "too many arguments in function call"),
        ("(float* x) { throw 1; }", "device code does not support exception handling"),
        ("(float* x) { x[0] = std::max(1, 2); }", 'namespace "std" has no member "max"'),
        ("(float* x) { x[0] = M_PI; }", 'identifier "M_PI" is undefined'),
        ("(float* x) { x[0] = INFINITY; }", 'identifier "INFINITY" is undefined'),
        ("(float* x) { int32_t i = 0; }", 'identifier "int32_t" is undefined'),
        ("(float* x) { cudaDeviceSynchronize(); }", 'identifier "cudaDeviceSynchronize" is undefined'),
        (
            "(float* x) { int y = 1; y(2); }",
            "expression preceding parentheses of apparent call must have (pointer-to-) function type",
        ),
        ("(float* x) { float y = 1; *y = 2; }", 'operand of "*" must be a pointer but has type "float"'),
        ("(float* x) { break; }", "a break statement may only be used within a loop or switch"),
        ("(float* x, int n) { float y[n]; }", "expression must have a constant value"),
        ("(float* x) { int a = 1; int a = 2; }", '"a" has already been declared in the current scope'),
        (
            "(float* x) { atomicMax(x, 1.f); }",
            'no instance of overloaded function "atomicMax" matches the argument list',
        ),
        (
            "(long long* x) { atomicAdd(x, 1LL); }",
            'no instance of overloaded function "atomicAdd" matches the argument list',
        ),
        (
            "(int* x) { k<<<1, 1>>>(x); }",
            "device-side kernel launch could not be processed as the required runtime APIs are not declared",
        ),
    ],
)
def test_one_error(body, said):
    text = "\n" + HEAD + body
    lines = log(text).split("\n")
    assert lines[0] == f"k.cu(2): error: {said}"
    assert lines[1] == "  " + HEAD + body
    assert lines[2].strip() == "^"
    assert lines[-2] == '1 error detected in the compilation of "k.cu".'


def test_errors_of_several_lines():
    text = HEAD + "(float* x) {\n  x[0] = one;\n  x[1] = 2;\n  x[2] = three;\n}"
    lines = log(text).split("\n")
    assert [line for line in lines if "error:" in line] == [
        'k.cu(2): error: identifier "one" is undefined',
        'k.cu(4): error: identifier "three" is undefined',
    ]
    assert '2 errors detected in the compilation of "k.cu".' in lines


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", 'error: identifier "k" is undefined'),
        ("__global__ void other() {}", 'error: identifier "k" is undefined'),
        (
            "__device__ void k() {}",
            "error: Name expression cannot form address of a non-__global__ function.",
        ),
        (
            "template <typename T> __global__ void k(T* x) {}",
            'error: cannot determine which instance of function template "k"',
        ),
    ],
)
def test_the_kernel_is_not_there(text, said):
    assert log(text).startswith(f"__nv_name_map(2): {said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("void k() {}", "A function without execution space annotations"),
        (
            "int helper(int x) { return x; }\n__global__ void k() {}",
            "A function without execution space annotations",
        ),
        (
            "int g = 3;\n__global__ void k(int* x) { x[0] = g; }",
            "A namespace scope variable without memory space annotations",
        ),
        ("__global__ int k(int* x) { return 1; }", "a __global__ function must have a void return type"),
        ("__global__ void k(flaot* x) { x[0] = 1; }", 'attribute "__global__" does not apply here'),
    ],
)
def test_what_only_the_gpus_compiler_refuses(text, said):
    assert log(text).startswith(f"k.cu(1): error: {said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"#include <vector>\n{HEAD}() {{}}",
            'k.cu(1): catastrophic error: cannot open source file "vector"',
        ),
        (f"#error stop here\n{HEAD}() {{}}", "k.cu(1): catastrophic error: #error directive: stop here"),
        (f"{HEAD}(int* x) {{ if (x[0]) {{", 'At end of source: error: expected a "}"'),
        (
            f"{HEAD}(int* x) {{ __shared__ float s[13000]; s[x[0]] = 1; x[1] = s[x[2]]; }}",
            "ptxas error   : Entry function 'k' uses too much shared data (0xcb20 bytes, 0xc000 max)",
        ),
        (
            f'{HEAD}(int* x) {{ unsigned l; asm("mov.u32 %0, %laneid;" : "=r"(l)); x[0] = l; }}',
            "the simulated GPU runs on this machine's processor",
        ),
    ],
)
def test_the_whole_text_is_refused(text, said):
    assert log(text).startswith(said)


def test_a_kernel_after_an_error_compiles():
    log(HEAD + "(float* x) { nosuch(); }")
    x = torch.zeros(1, device="cuda")
    torch.cuda._compile_kernel(HEAD + "(float* x) { x[0] = 1; }", "k")(args=[x])
    assert x.item() == 1


def test_no_compiler(monkeypatch):
    monkeypatch.setenv("CXX", "/nowhere/c++")
    with pytest.raises(RuntimeError, match="CXX names the compiler '/nowhere/c\\+\\+'"):
        torch.cuda._compile_kernel(HEAD + "(float* x) { x[0] = 1.25; }", "k")
