import torch

from grader import exercises
from grader.check import compile_advice, compile_log, errors
from grader.check.kernels import kernels_of

CODE = """template <typename T>
T add(T x, T y) {
  return std::max(x, z);
}"""
INDENTED = CODE.replace("\n", "\n  ")  # as PyTorch puts it into the generated source
GENERATED = (
    "#define POS_INFINITY __int_as_float(0x7f800000)\n  typedef long long int int64_t;\n\n" * 40 + "  "
)
NVRTC = (
    GENERATED + INDENTED + '\n\nextern "C" __global__ void add_kernel(int numel) {\n  add<float>(1, 2);\n}\n'
    'default_program(123): error: namespace "std" has no member "max"\n'
    "    return std::max(x, z);\n                ^\n\n"
    'default_program(123): error: identifier "z" is undefined\n'
    "    return std::max(x, z);\n                       ^\n\n"
    '2 errors detected in the compilation of "default_program".\n'
)


def kernel(code=CODE):
    return torch.cuda.jiterator._create_jit_fn(code)


def case():
    return exercises.Case((torch.ones(2), torch.ones(2)), {}, torch.float32)


def test_nvrtc_lines_are_counted_from_the_learners_first_line():
    log = compile_log.read(RuntimeError(NVRTC), NVRTC, kernel())
    assert [(f.line, f.source.strip()) for f in log.errors] == [(3, "return std::max(x, z);")] * 2
    assert log.errors[0].message == 'namespace "std" has no member "max"'


def test_the_generated_source_never_reaches_the_learner():
    told = errors.describe(RuntimeError(NVRTC), exercises.get("jit-add"), kernel(), case())
    text = "\n".join((told.headline, *told.lines, told.explanation))
    assert "POS_INFINITY" not in text and "default_program" not in text and "add_kernel" not in text
    assert "line 3" in text and "::max" in told.explanation and len(text) < 500


def test_an_error_outside_the_learners_lines_has_no_line_but_advice():
    message = (
        GENERATED
        + INDENTED
        + "\n\n"
        + ('default_program(130): error: no instance of function template "add" matches the argument list\n')
    )
    log = compile_log.read(RuntimeError(message), message, kernel())
    assert log.errors[0].line is None
    advice = compile_advice.advice(log, case())
    assert "called with 2 tensors" in advice and "How many parameters" in advice


def test_the_code_is_found_behind_wrappers():
    inner = kernel()
    message = NVRTC
    for candidate in (inner, lambda x, y: inner(x, y)):
        assert compile_log.read(RuntimeError(message), message, candidate).errors[0].line == 3


def test_another_runtime_error_is_no_log():
    assert (
        compile_log.read(RuntimeError("CUDA error: out of memory"), "CUDA error: out of memory", kernel())
        is None
    )
    assert compile_log.read(ValueError(NVRTC), NVRTC, kernel()) is None


def test_kernels_of():
    import functools

    k = kernel()

    class Holder:
        def __init__(self):
            self.kernel = k

        def __call__(self, x):
            return self.kernel(x)

    with_default = lambda x, f=k: f(x)  # noqa: E731
    holder = Holder()
    for candidate in (k, functools.partial(k), lambda x: k(x), with_default, holder, holder.__call__):
        assert kernels_of(candidate) == [k]
    assert kernels_of(3) == [] and kernels_of(print) == []
