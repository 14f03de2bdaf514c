"""torch.compile, TorchScript and custom operators on simulated tensors."""

import copy
import shutil
import threading

import pytest
import torch

from grader import simgpu
from grader.simgpu import order

D = "cuda"
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
triple = torch.cuda.jiterator._create_jit_fn("template <typename T> T triple(T x) { return x * T(3); }")
X = lambda: torch.tensor([1.0, 2.0], device=D)  # noqa: E731
GLOBAL_MODULE = torch.nn.Linear(2, 1)


def test_compiled_functions():
    f = torch.compile(lambda x: x.sin() + torch.ones(2, device=x.device))
    assert torch.equal(f(X()), X().sin() + 1)
    assert torch.equal(f(torch.ones(2)), torch.ones(2).sin() + 1)


def test_compiled_without_arguments():
    @torch.compile
    def f():
        return torch.zeros(2, device="cuda") + 1

    assert f().is_cuda


def test_compiled_closures_and_modules():
    k = X()
    assert torch.equal(torch.compile(lambda: k * 2)(), k * 2)
    m = torch.nn.Linear(2, 1).to(D)
    compiled = torch.compile(m)
    assert torch.equal(compiled(X()), m(X()))
    assert list(compiled.state_dict())[0].endswith("weight")
    moved = GLOBAL_MODULE.to(D)
    assert torch.compile(lambda: GLOBAL_MODULE(X()))().is_cuda and moved is GLOBAL_MODULE


def test_compiled_backward():
    w = X().requires_grad_()
    torch.compile(lambda x: (x * x).sum())(w).backward()
    assert w.grad.is_cuda and w.grad.tolist() == [2, 4]


def test_a_backend_of_ones_own_gets_its_graph():
    graphs = []

    def backend(graph, inputs):
        graphs.append([n.target for n in graph.graph.nodes if n.op == "call_function"])
        return graph.forward

    w, host = X().requires_grad_(), torch.ones(2)
    f = torch.compile(lambda x: x.sin() * w, backend=backend)
    y = f(X())
    assert len(graphs) == 1 and type(w) is type(y) and y.is_cuda and torch.equal(y, X().sin() * w)
    y.sum().backward()
    assert w.grad.is_cuda and torch.equal(w.grad, X().sin())
    m = torch.nn.Linear(2, 1).to(D)
    compiled = torch.compile(m, backend=backend)
    assert torch.equal(compiled(X()), m(X())) and len(graphs) == 2
    compiled(X()).sum().backward()
    assert m.weight.grad.is_cuda and isinstance(m.weight, torch.nn.Parameter) and m.weight.is_cuda
    assert compiled(X()).is_cuda
    assert not torch.compile(lambda x: x + 1, backend=backend)(host).is_cuda and len(graphs) == 3


def launches(f, *args):
    """The names of the kernels that f(*args) launches."""
    f(*args)
    with simgpu.recording() as trace:
        f(*args)
    return [launch.name for launch in trace.launches]


def same(a, b):
    if isinstance(a, torch.Tensor):
        torch.testing.assert_close(a, b)  # device and dtype too
        assert type(a) is type(b) and a.stride() == b.stride()
    else:
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)


@needs_compiler
def test_a_compiled_expression_is_one_kernel():
    f = torch.compile(lambda x, y: (x * 2 + y).sin())
    names = launches(f, X(), X())
    assert len(names) == 1 and names[0].startswith("fused")
    with simgpu.recording() as trace:
        f(X(), X())
    assert [(t.bytes_read, t.bytes_written, t.numel) for t in trace.launches if "fused" in t.name] == [
        (16, 8, 2)
    ]
    assert len(launches(lambda x, y: (x * 2 + y).sin(), X(), X())) == 3


@needs_compiler
@pytest.mark.parametrize(
    "options",
    [
        {"fullgraph": True},
        {"dynamic": True},
        {"dynamic": False},
        {"mode": "reduce-overhead"},
        {"mode": "max-autotune"},
        {"options": {"epilogue_fusion": True}},
        {"backend": "eager"},
        {"backend": "aot_eager"},
        {"backend": "cudagraphs"},
    ],
)
def test_compiled_with_options(options):
    torch._dynamo.reset()
    w = torch.eye(2, device=D).requires_grad_()

    @torch.compile(**options)
    def f(x):
        """Multiplies."""
        return (x @ w).relu() * 3

    y = f(X().view(1, 2))
    y.sum().backward()
    assert y.is_cuda and y.tolist() == [[3, 6]] and w.grad.is_cuda and w.grad.tolist() == [[3, 3], [6, 6]]
    assert f.__doc__ == "Multiplies."


@needs_compiler
def test_a_training_run_with_a_compiled_module():
    torch.manual_seed(0)
    eager = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 1)).to(D)
    module = copy.deepcopy(eager)
    compiled = torch.compile(module)
    x, y = torch.rand(16, 4, device=D), torch.rand(16, 1, device=D)
    for net, parameters in ((eager, eager.parameters()), (compiled, module.parameters())):
        optimizer = torch.optim.Adam(parameters, lr=0.01)
        for _ in range(4):
            optimizer.zero_grad()
            ((net(x) - y) ** 2).mean().backward()
            optimizer.step()
    same(list(module.parameters()), list(eager.parameters()))
    assert all(p.grad.is_cuda and isinstance(p, torch.nn.Parameter) for p in module.parameters())


@needs_compiler
def test_a_whole_training_step_compiled():
    m = torch.nn.Linear(2, 1, device=D)
    optimizer = torch.optim.SGD(m.parameters(), lr=0.05)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        loss = m(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = [step(X().view(1, 2)) for _ in range(3)]
    assert losses[0].is_cuda and losses[0] > losses[1] > losses[2]


@needs_compiler
def test_changing_shapes_and_loops():
    @torch.compile
    def f(x, n):
        for i in range(n):
            x = x * 2 + i
        return x.sum(0)

    for rows, n in ((2, 1), (3, 1), (4, 1), (3, 2), (7, 0)):
        expected = torch.ones(rows, 3, device=D)
        for i in range(n):
            expected = expected * 2 + i
        same(f(torch.ones(rows, 3, device=D), n), expected.sum(0))


@needs_compiler
def test_a_graph_break_at_a_jitted_kernel():
    f = lambda x: triple(x + 1) * 2 + x.sum()  # noqa: E731
    same(torch.compile(f)(X()), f(X()))
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(f, fullgraph=True)(X())


@needs_compiler
def test_the_function_sees_the_device():
    def f(x, c):
        here = x.is_cuda, c.is_cuda, x.device.type, torch.cuda.is_available()
        made = [
            torch.zeros(2, device=D),
            torch.arange(2, device=x.device),
            torch.ones_like(x),
            x.new_zeros(2),
        ]
        made += [
            torch.tensor([1, 2], device=D),
            torch.full((2,), 3.0, device=0),
            torch.eye(2, device="cuda:0"),
        ]
        return here, made, [x.cpu() + c, c.to(D) + x, c.cuda() * x, c + torch.ones(2), x.to(D), x.half()]

    ours, theirs = torch.compile(f)(X(), torch.ones(2)), f(X(), torch.ones(2))
    assert ours[0] == theirs[0] == (True, False, "cuda", True)
    same(ours[1:], theirs[1:])


@needs_compiler
def test_the_same_function_for_host_and_device():
    f = torch.compile(lambda x, y: (x + 1, y + 1))
    for x in (X(), torch.ones(2)):
        for y in (X(), torch.ones(2)):
            same(f(x, y), (x + 1, y + 1))


@needs_compiler
def test_what_a_compiled_function_writes_and_returns():
    def f(x, y):
        x.add_(1)
        y[1:].mul_(2)
        return x, x.view(1, 2).t(), x + y

    args, copies = (X(), X()), (X(), X())
    ours = torch.compile(f)(*args)
    same(ours, f(*copies))
    same(args, copies)
    assert ours[0] is args[0] and ours[1].data_ptr() == args[0].data_ptr()
    whole, other = X(), X()
    g = lambda x, y: (x.add_(1), y * 2)[1]  # noqa: E731
    same(torch.compile(g)(whole, whole[1:]), g(other, other[1:]))  # the two arguments share memory


@needs_compiler
def test_compiled_functions_draw_from_the_devices_generator():
    f = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5) + torch.rand(100, device=D))
    x, host = torch.ones(100, device=D), torch.get_rng_state()
    torch.cuda.manual_seed(3)
    a, b = f(x), f(x)
    torch.cuda.manual_seed(3)
    assert torch.equal(f(x), a) and not torch.equal(a, b)
    assert torch.equal(torch.get_rng_state(), host)


def test_a_compiled_functions_errors_are_the_functions():
    def mine(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        torch.compile(mine)(X())
    with pytest.raises(RuntimeError, match="reduction dim"):
        torch.compile(lambda x: x.view(1, 2) @ x.view(1, 2))(X())
    with pytest.raises(RuntimeError, match="same device"):
        torch.compile(lambda x: x + torch.ones(2))(X())


@pytest.fixture
def another_device_afterwards():
    """Dynamo keeps the streams of what it compiled: the work of all tests to come would be followed."""
    yield
    simgpu.deactivate()
    simgpu.activate()


@needs_compiler
def test_compiled_around_streams(another_device_afterwards):
    s = torch.cuda.Stream()

    def inside(x):
        with torch.cuda.stream(s):
            y = x * 2
        torch.cuda.current_stream().wait_stream(s)
        torch.cuda.synchronize()
        return y + 1

    same(torch.compile(inside)(X()), X() * 2 + 1)
    f, x = torch.compile(lambda x: x * 2 + 1), X()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        y = f(x)
    torch.cuda.current_stream().wait_stream(s)
    same(y, x * 2 + 1)


@needs_compiler
def test_compiled_under_autocast_and_no_grad():
    m, x = torch.nn.Linear(2, 2, device=D), X().view(1, 2).requires_grad_()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        same(torch.compile(lambda x: m(x))(x), m(x))
    with torch.no_grad():
        assert not torch.compile(lambda x: x + 1)(x).requires_grad
    with torch.inference_mode():
        assert torch.compile(lambda x: x + 1)(x).is_cuda


@needs_compiler
def test_compiled_with_an_operator_of_ones_own_inside():
    double = operator("double_compiled", device_types="cuda")
    f = lambda x: double(x * 2) + 1  # noqa: E731
    same(torch.compile(f, fullgraph=True)(X()), f(X()))


@needs_compiler
def test_a_compiled_function_from_several_threads():
    f, x, wrong = torch.compile(lambda x: x * 2 + 1), X(), []

    def work():
        wrong.extend(r for r in (f(x) for _ in range(30)) if r.tolist() != [3, 5])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@needs_compiler
def test_compiled_kernels_take_part_in_hazards():
    f, x, s = torch.compile(lambda x: x * 2 + 1), X(), torch.cuda.Stream()
    f(x)
    torch.cuda.synchronize()
    with order.collect() as found:
        x.fill_(5)
        with torch.cuda.stream(s):
            early = f(x)
        torch.cuda.synchronize()
    assert [finding.kind for finding in found] == ["read_before_write"] and early.tolist() == [3, 5]
    with order.collect() as found:
        x.fill_(5)
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            late = f(x)
        torch.cuda.synchronize()
    assert not found and late.tolist() == [11, 11]


@needs_compiler
def test_only_the_learners_functions_are_compiled():
    def f(x):
        y = triple(x)
        z = y[0].item()
        return torch.zeros(2, device=D) + x.cpu().to(D) * z

    stream = torch.cuda.Stream()  # while one lives, work is followed
    torch._dynamo.utils.clear_compilation_metrics()
    torch.compile(f)(X())
    compiled = {m.co_filename for m in torch._dynamo.utils.get_compilation_metrics()}
    assert {name for name in compiled if name != "<string>"} == {__file__}
    del stream


@needs_compiler
def test_reset_compiles_anew():
    f = torch.compile(lambda x: x - 1)
    assert len(launches(f, X())) == 1
    torch._dynamo.reset()
    assert f(X()).tolist() == [0, 1]


def test_without_a_compiler_the_function_runs_as_it_is(monkeypatch):
    def missing(*args, **kwargs):
        raise RuntimeError("no C++ compiler found")

    import torch._inductor.compile_fx

    torch._dynamo.reset()
    monkeypatch.setattr(torch._inductor.compile_fx, "compile_fx", missing)
    f = torch.compile(lambda x: x.sin() * 2 + 1)
    assert torch.equal(f(X()), X().sin() * 2 + 1) and len(launches(f, X())) == 3


def test_traced_functions_bake_the_branch():
    def f(x):
        return x + torch.ones(2, device=x.device) if x.sum() > 0 else x - 1

    traced = torch.jit.trace(f, X(), check_trace=False)
    result = traced(-X())
    assert type(traced).__name__ == "ScriptFunction" and result.is_cuda and result.tolist() == [0, -1]


def test_traced_modules():
    m = torch.nn.Linear(2, 1).to(D)
    traced = torch.jit.trace(m, X())
    assert traced(X()).is_cuda and torch.equal(traced(X()), m(X())) and traced.weight.is_cuda
    assert not traced.cpu()(torch.ones(2)).is_cuda


def test_scripted_functions_keep_the_branch():
    @torch.jit.script
    def f(x):
        if bool(x.sum() > 0):
            return x + 1
        return x - 1

    assert f(X()).tolist() == [2, 3] and f(-X()).tolist() == [-2, -3] and f(X()).is_cuda
    assert torch.jit.script(torch.nn.Linear(2, 1)).to(D)(X()).is_cuda


def operator(name, **kwargs):
    @torch.library.custom_op(f"simgpu_tests::{name}", mutates_args=(), **kwargs)
    def double(x: torch.Tensor) -> torch.Tensor:
        assert x.is_cuda
        return x * torch.full((1,), 2.0, device=D)

    double.register_fake(torch.empty_like)
    double.register_autograd(lambda ctx, g: g * 2)
    return double


@pytest.mark.parametrize("kwargs", [{}, {"device_types": "cuda"}, {"device_types": ["cuda", "cpu"]}])
def test_custom_operators(kwargs):
    name = "_".join(["double", *map(str, kwargs.get("device_types", ()))])
    double = operator(name.replace("'", ""), **kwargs)
    x = X().requires_grad_()
    y = double(x)
    y.sum().backward()
    assert y.is_cuda and y.tolist() == [2, 4] and x.grad.is_cuda and x.grad.tolist() == [2, 2]


def test_operators_of_a_library():
    library = torch.library.Library("simgpu_tests_lib", "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: x + torch.ones(1, device=x.device), "CUDA")
    f = torch.ops.simgpu_tests_lib.f
    assert f(X()).is_cuda and f(X()).tolist() == [2, 3]
    with pytest.raises(
        NotImplementedError, match="Could not run 'simgpu_tests_lib::f' with arguments from the 'CPU'"
    ):
        f(torch.ones(2))
    library.impl("f", lambda x: x - 1, "CPU")
    assert f(torch.ones(2)).tolist() == [0, 0] and f(X()).tolist() == [2, 3]


def test_an_operator_for_the_device_only_refuses_the_host():
    double = operator("only_on_the_device", device_types="cuda")
    with pytest.raises(NotImplementedError, match="Could not run 'simgpu_tests::only_on_the_device'"):
        double(torch.ones(2))

    @double.register_kernel("cpu")
    def _(x):
        return x + x

    assert double(torch.ones(2)).tolist() == [2, 2] and double(X()).tolist() == [2, 4]
