"""Backward runs on the streams of its forward, and joins them."""

import torch

from grader.simgpu import clock

CUDA = torch.cuda
NAP = 10_000_000


class Watched(torch.autograd.Function):
    seen: list = []  # the current streams of its backward

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        Watched.seen.append(CUDA.current_stream())
        (x,) = ctx.saved_tensors
        return 2 * x * g


def weights():
    return torch.full((4,), 3.0, device="cuda", requires_grad=True)


def test_each_node_runs_on_the_stream_of_its_forward(side, findings):
    w, seen = weights(), []
    v = w * 2
    with CUDA.stream(side):
        side.wait_stream(CUDA.default_stream())
        v.register_hook(lambda g: seen.append(CUDA.current_stream()))
        y = Watched.apply(v)
        y.grad_fn.register_prehook(lambda g: seen.append(CUDA.current_stream()))
    CUDA.default_stream().wait_stream(side)
    loss = (y * y).sum()
    loss.backward()
    assert CUDA.current_stream() == CUDA.default_stream()
    assert seen == [side, CUDA.default_stream()] and Watched.seen == [side]
    Watched.seen.clear()
    assert w.grad.tolist() == [4 * (2 * 3.0) ** 3 * 2] * 4 and not findings


def test_gradients_are_there_for_the_stream_that_called_backward(side, findings):
    w = weights()
    with CUDA.stream(side):
        side.wait_stream(CUDA.default_stream())
        loss = (w * w).sum()
    loss.backward()  # the engine waits for the nodes' streams by itself
    assert w.grad.tolist() == [6.0] * 4 and not findings


def test_a_stream_that_did_not_wait_sees_no_gradients(side, findings):
    w = weights()
    w.grad = torch.zeros_like(w)
    other = CUDA.Stream()
    CUDA.synchronize()
    with CUDA.stream(side):
        (w * w).sum().backward()
    with CUDA.stream(other):
        early = w.grad.clone()
    CUDA.synchronize()
    assert early.tolist() == [0.0] * 4 and w.grad.tolist() == [6.0] * 4
    assert "read_before_write" in [f.kind for f in findings]


def test_two_branches_on_two_streams(findings):
    w, a, b = weights(), CUDA.Stream(), CUDA.Stream()
    for s in (a, b):
        s.wait_stream(CUDA.current_stream())
    with CUDA.stream(a):
        left = torch.nn.functional.gelu(w * 2).sum()
    with CUDA.stream(b):
        right = torch.nn.functional.silu(w * 3).sum()
    for s in (a, b):
        CUDA.current_stream().wait_stream(s)
    (left + right).backward()
    got = w.grad.clone()
    plain = torch.full((4,), 3.0, requires_grad=True)
    loss = torch.nn.functional.gelu(plain * 2).sum() + torch.nn.functional.silu(plain * 3).sum()
    loss.backward()
    torch.testing.assert_close(got.cpu(), plain.grad)
    assert not findings


def test_training_on_a_side_stream(side, findings):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 1)
    )
    model.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, losses = torch.randn(16, 4, device="cuda"), []
    side.wait_stream(CUDA.current_stream())
    with CUDA.stream(side):
        for _ in range(5):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    CUDA.current_stream().wait_stream(side)
    values = torch.stack(losses).tolist()
    assert values == sorted(values, reverse=True) and not findings


def test_grad_of_grad_across_streams(side, findings):
    w = weights()
    with CUDA.stream(side):
        side.wait_stream(CUDA.default_stream())
        y = w.pow(3).sum()
        (g,) = torch.autograd.grad(y, w, create_graph=True)
    CUDA.current_stream().wait_stream(side)
    g.sum().backward()
    assert w.grad.tolist() == [18.0] * 4 and not findings


def through_two_streams(cut=None):
    """The gradient of `w1` after the backward of three small batches through `a` and `b`, and what it is
    without streams. `cut(h)` stands between the two parts.
    """
    a, b = CUDA.Stream(), CUDA.Stream()
    torch.manual_seed(0)
    w1, w2 = (torch.randn(4, 4, device="cuda", requires_grad=True) for _ in range(2))
    xs, losses = [torch.randn(4, 4, device="cuda") for _ in range(3)], []
    CUDA.synchronize()
    for x in xs:
        with CUDA.stream(a):
            h = x @ w1
        b.wait_stream(a)
        h.record_stream(b)
        with CUDA.stream(b):
            losses.append(((cut(h) if cut else h) @ w2).pow(2).sum())
    CUDA.current_stream().wait_stream(b)
    torch.stack(losses).sum().backward()
    CUDA.synchronize()
    plain = w1.detach().cpu().requires_grad_()
    sum((x.cpu() @ plain @ w2.detach().cpu()).pow(2).sum() for x in xs).backward()
    return w1.grad.cpu(), plain.grad


def test_gradients_that_change_streams_are_recorded_there(findings):
    torch.testing.assert_close(*through_two_streams())
    assert not findings


def test_gradients_in_hooks_and_functions_are_recorded_too(findings):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g * 1

    def hooked(h):
        h.register_hook(lambda g: g * 1)
        return Same.apply(h)

    torch.testing.assert_close(*through_two_streams(hooked))
    assert not findings


def test_memory_of_a_functions_own_side_stream_has_to_be_recorded(findings):
    other = CUDA.Stream()

    class Careless(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            other.wait_stream(CUDA.current_stream())
            with CUDA.stream(other):
                t = g * 2
            CUDA.current_stream().wait_stream(other)
            CUDA._sleep(NAP)
            result = t + 1
            del t
            with CUDA.stream(other):
                torch.full_like(g, -1.0)  # may get the memory of t
            return result

    w = weights()
    Careless.apply(w * 1).sum().backward()
    CUDA.synchronize()
    assert "use_after_free" in [f.kind for f in findings]


def test_activations_that_change_streams_have_to_be_recorded(side, findings):
    w = weights()
    side.wait_stream(CUDA.current_stream())
    with CUDA.stream(side):
        h = torch.full((4,), 2.0, device="cuda")
    CUDA.current_stream().wait_stream(side)
    loss = (h * w).sum()
    side.wait_stream(CUDA.current_stream())
    loss.backward()  # it reads h on the default stream once more
    del h, loss
    with CUDA.stream(side):
        torch.full((4,), -1.0, device="cuda")
    CUDA.synchronize()
    assert "use_after_free" in [f.kind for f in findings]


def test_what_runs_on_the_first_gradient_is_work_too(side):
    w = weights()
    loss = w.mean()
    with clock.device().recording() as recording:
        loss.backward()  # one divided by the count, before any memory of the learner's is met
    assert "div" in [item.name for item in recording.items]
