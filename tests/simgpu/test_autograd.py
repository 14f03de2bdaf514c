"""Autograd, modules and optimisers on the simulated GPU."""

import copy

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from grader.simgpu import SimTensor

D = "cuda"


def leaf(*values, dtype=torch.float32):
    return torch.tensor(values, device=D, dtype=dtype, requires_grad=True)


def all_on_device(*tensors):
    return all(isinstance(t, SimTensor) for t in tensors)


def test_gradients_are_on_the_device():
    w = leaf(1.0, 2.0)
    (w * w).sum().backward()
    assert all_on_device(w.grad) and w.grad.tolist() == [2, 4]
    (g,) = torch.autograd.grad((w**3).sum(), w)
    assert all_on_device(g) and g.tolist() == [3, 12]


def test_gradients_cross_devices():
    host, device = torch.ones(2, requires_grad=True), leaf(2.0, 3.0)
    (host.to(D) * device).cpu().sum().backward()
    assert type(host.grad) is torch.Tensor and host.grad.tolist() == [2, 3]
    assert all_on_device(device.grad) and device.grad.tolist() == [1, 1]
    grads = torch.autograd.grad((host.to(D) * device).sum(), [host, device])
    assert [g.is_cuda for g in grads] == [False, True]


def test_a_gradient_of_another_device_is_refused():
    w = leaf(1.0)
    with pytest.raises(RuntimeError, match="assign a gradient with device type 'cpu' to a tensor with"):
        w.grad = torch.ones(1)


def test_gradients_on_the_wrong_device_are_refused():
    class Careless(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            return x * k

        @staticmethod
        def backward(ctx, g):
            return None, torch.ones(2)

    words = "CarelessBackward returned an invalid gradient at index 1 - expected device cuda:0 but got cpu"
    with pytest.raises(RuntimeError, match=words):
        Careless.apply(leaf(1.0, 2.0), leaf(1.0, 2.0)).sum().backward()
    with pytest.raises(
        RuntimeError, match="invalid gradient at index 0 - expected device cuda:0 but got cpu"
    ):
        (leaf(1.0, 2.0) * 2).backward(torch.ones(2))


def test_a_function_differentiable_once():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * 2

    w = leaf(1.0, 2.0)
    Twice.apply(w).sum().backward()
    assert w.grad.tolist() == [2, 2]


class Cube(torch.autograd.Function):
    """Checks, on its way, that everything it is handed is on the device."""

    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        assert all_on_device(x, y, g, 3 * x, torch.ones(1, device=D) * g)
        return 3 * y / x * g


class CubeInTwoParts(Cube):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)


@pytest.mark.parametrize("function", [Cube, CubeInTwoParts])
def test_custom_functions(function):
    x = leaf(0.5, -1.5, dtype=torch.float64)
    y = function.apply(x)
    assert all_on_device(y) and type(y.grad_fn).__name__ == f"{function.__name__}Backward"
    assert torch.autograd.gradcheck(function.apply, x)
    y.sum().backward()
    assert all_on_device(x.grad)


def test_a_custom_function_that_moves():
    class Up(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.to(D)

        @staticmethod
        def backward(ctx, g):
            assert all_on_device(g)
            return g.cpu()

    w = torch.ones(2, requires_grad=True)
    (Up.apply(w) * 3).sum().backward()
    assert w.grad.tolist() == [3, 3] and type(w.grad) is torch.Tensor


def test_hooks_see_the_device():
    seen = []
    m = torch.nn.Linear(2, 1).to(D)
    m.register_full_backward_hook(lambda m, gi, go: seen.append(go[0]))
    m.weight.register_post_accumulate_grad_hook(lambda p: seen.extend([p, p.grad]))
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: seen.append(g) or g * torch.full((2,), 10.0, device=D))
    m(x).sum().backward()
    assert len(seen) == 4 and all_on_device(*seen)
    assert torch.allclose(x.grad, 10 * m.weight.detach()[0])


def test_hooks_of_saved_tensors_see_the_device():
    packed = []

    def pack(t):
        packed.append(t)
        return t.cpu()

    w = leaf(1.0, 2.0)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t.to(D)):
        y = w.exp() * w
    y.sum().backward()
    assert packed and all_on_device(*packed, w.grad)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(reentrant):
    w, calls = leaf(1.0, 2.0), []

    def f(x):
        calls.append(x)
        return (x.sin() * torch.ones(2, device=D)).sum()

    checkpoint(f, w, use_reentrant=reentrant).backward()
    assert len(calls) == 2 and all_on_device(*calls)
    assert torch.allclose(w.grad, w.detach().cos())


def test_functional_transforms():
    x = torch.tensor([1.0, 2.0, 3.0], device=D)
    k = torch.tensor([2.0, 2.0, 2.0], device=D)
    f = lambda t: (t * k * torch.ones(3, device=D)).pow(2).sum()  # noqa: E731
    for g in (
        torch.func.grad(f)(x),
        torch.func.vmap(lambda t: t * k[0])(x),
        torch.func.jacrev(f)(x),
        torch.func.jacfwd(f)(x),
    ):
        assert all_on_device(g)
    assert torch.func.grad(f)(x).tolist() == [8, 16, 24]
    assert all_on_device(torch.func.hessian(f)(x), torch.func.jvp(f, (x,), (x,))[1])


def test_modules_keep_the_identity_of_their_parameters():
    m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    before = [id(p) for p in m.parameters()]
    m.to(D)
    assert [id(p) for p in m.parameters()] == before
    assert all_on_device(*m.parameters(), *m.buffers())
    assert all(isinstance(p, torch.nn.Parameter) and p.is_leaf and p.requires_grad for p in m.parameters())
    m.cpu()
    assert [type(p) for p in m.parameters()] == [torch.nn.Parameter] * 4
    assert not any(t.is_cuda for t in m.buffers())


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "LBFGS"])
def test_an_optimiser_made_before_the_move_still_trains(name):
    torch.manual_seed(0)
    m = torch.nn.Linear(2, 1)
    optimiser = getattr(torch.optim, name)(m.parameters(), lr=0.1)
    m.to(D)
    x, y = torch.randn(32, 2, device=D), torch.zeros(32, 1, device=D)

    def loss():
        optimiser.zero_grad()
        value = torch.nn.functional.mse_loss(m(x), y)
        value.backward()
        return value

    first = loss().item()
    for _ in range(20):
        optimiser.step(loss)
    assert loss().item() < first / 2
    state = copy.deepcopy(optimiser.state_dict())
    optimiser.load_state_dict(state)


def test_a_module_made_without_memory():
    m = torch.nn.Linear(2, 1, device="meta").to_empty(device=D)
    assert all_on_device(m.weight, m.bias) and isinstance(m.weight, torch.nn.Parameter)


def test_state_dicts_cross_devices():
    m, host = torch.nn.Linear(2, 1).to(D), torch.nn.Linear(2, 1)
    host.load_state_dict(m.state_dict())
    assert torch.equal(host.weight, m.weight.cpu()) and not host.weight.is_cuda
    twin = copy.deepcopy(m)
    assert all_on_device(twin.weight) and type(twin.weight) is type(m.weight)


def test_autocast_follows_cudas_lists():
    a, w = torch.ones(2, 2, device=D), torch.ones(2, 2, device=D, requires_grad=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        low = a @ w
        kinds = [
            low.dtype,
            (a + a).dtype,
            low.softmax(0).dtype,
            low.exp().dtype,
            torch.cat([low, a]).dtype,
            (torch.ones(2, 2) @ torch.ones(2, 2)).dtype,
        ]
    assert kinds == [
        torch.bfloat16,
        torch.float32,
        torch.float32,
        torch.float32,
        torch.float32,
        torch.float32,
    ]
    low.sum().backward()
    assert w.grad.dtype is torch.float32
    assert (a @ a).dtype is torch.float32


def test_gradient_scaling():
    m = torch.nn.Linear(2, 1).to(D)
    optimiser, scaler = torch.optim.SGD(m.parameters(), lr=0.1), torch.amp.GradScaler("cuda")
    before = m.weight.detach().clone()
    scaler.scale(m(torch.ones(1, 2, device=D)).sum()).backward()
    scaler.step(optimiser)
    scaler.update()
    assert torch.allclose(m.weight.detach(), before - 0.1)


def test_hooks_of_nodes_see_the_device():
    x = leaf(1.0, 2.0)
    y = x.exp()
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.extend([*inputs, *outputs]))
    y.grad_fn.register_prehook(lambda outputs: seen.extend(outputs))
    y.sum().backward()
    assert len(seen) == 3 and all_on_device(*seen)


def test_hooks_of_nodes_may_replace_gradients():
    x = leaf(1.0, 2.0)
    y = x * 1
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,))
    y.sum().backward()
    assert all_on_device(x.grad) and x.grad.tolist() == [10, 10]


def test_hooks_of_the_hosts_nodes_see_the_host():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.extend([inputs[0], *outputs]))
    y.sum().backward()
    assert [type(t) for t in seen] == [torch.Tensor, torch.Tensor]


def test_hooks_of_saved_tensors_see_where_each_is():
    x, index = leaf(1.0, 2.0), torch.tensor([1, 0])
    seen = []

    def pack(t):
        seen.append((t.dtype, t.device.type))
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        x.exp()
        x[index]
        torch.ones(2, requires_grad=True).exp()
    assert set(seen) == {(torch.float32, "cuda"), (torch.int64, "cpu"), (torch.float32, "cpu")}
    assert seen[0] == (torch.float32, "cuda") and seen[-1] == (torch.float32, "cpu")


def test_nodes_of_custom_functions_keep_their_names():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            assert g.is_cuda == ctx.saved_tensors[0].is_cuda == ctx.on_device
            return 2 * g

    for x in (leaf(1.0), torch.ones(1, requires_grad=True)):
        y = Twice.apply(x)
        y.grad_fn.on_device = x.is_cuda
        y.sum().backward()
        assert type(y.grad_fn).__name__ == "TwiceBackward" and isinstance(y.grad_fn, Twice._backward_cls)
        assert x.grad.is_cuda == x.is_cuda and x.grad.item() == 2
    assert type(Twice.apply(torch.ones(1, requires_grad=True)).grad_fn) is Twice._backward_cls
