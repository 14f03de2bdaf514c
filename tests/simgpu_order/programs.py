"""Programs with one mistake of synchronisation each, and their mended twins: plain PyTorch.

Each takes `fixed` and returns what it computed, as numbers read after everything was waited for.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import torch

D = "cuda"
N = 8
PROGRAMS: list["Program"] = []


@dataclass(frozen=True)
class Program:
    """`wrong`: what the racy one gives, every time; `right`: the mended one. `kind`: of the finding."""

    run: Callable[[bool], object]
    kind: str
    wrong: object
    right: object

    @property
    def name(self) -> str:
        return self.run.__name__


def program(kind, wrong, right):
    def note(run):
        PROGRAMS.append(Program(run, kind, wrong, right))
        return run

    return note


def full(value, n=N, dtype=torch.float32):
    return torch.full((n,), value, device=D, dtype=dtype)


def settled(*values):
    """Tensors that everybody sees, and a side stream."""
    made = [full(v) for v in values]
    torch.cuda.synchronize()
    return *made, torch.cuda.Stream()


def values(*tensors):
    torch.cuda.synchronize()
    several = [sorted({str(v) for v in t.flatten().tolist()}) for t in tensors]
    return several[0] if len(several) == 1 else several


def default():
    return torch.cuda.default_stream()


# ------------------------------------------------------------------ reads that come too early


@program("read_before_write", ["0.0"], ["2.0"])
def missing_wait(fixed):
    x, y, s = settled(1.0, 0.0)
    with torch.cuda.stream(s):
        torch.mul(x, 2, out=y)
    if fixed:
        default().wait_stream(s)
    z = y.clone()
    return values(z)


@program("read_before_write", ["nan"], ["4.0"])
def result_of_another_stream(fixed):
    x, s = settled(1.0)
    with torch.cuda.stream(s):
        y = x + 1
    if fixed:
        default().wait_stream(s)
    return values(y * 2)


@program("read_before_write", ["nan"], ["2.0"])
def input_made_on_the_default_stream(fixed):
    x = full(1.0)
    s = torch.cuda.Stream()
    if fixed:
        s.wait_stream(default())
    with torch.cuda.stream(s):
        y = x * 2
    s.synchronize()
    return values(y)


@program("read_before_write", ["0.0"], ["3.0"])
def in_place(fixed):
    x, s = settled(0.0)
    with torch.cuda.stream(s):
        x.add_(1)
        x.add_(2)
    if fixed:
        default().wait_stream(s)
    return values(x + 0)


@program("read_before_write", ["0.0"], ["1.0"])
def event_recorded_before_the_work(fixed):
    x, s = settled(0.0)
    done = torch.cuda.Event()
    with torch.cuda.stream(s):
        if not fixed:
            done.record()
        x.add_(1)
        if fixed:
            done.record()
    done.wait()
    return values(x.clone())


@program("read_before_write", ["0.0"], ["1.0"])
def wait_on_the_wrong_event(fixed):
    x, y, s = settled(0.0, 0.0)
    first, second = torch.cuda.Event(), torch.cuda.Event()
    with torch.cuda.stream(s):
        y.fill_(1)
        first.record()
        x.fill_(1)
        second.record()
    default().wait_event(second if fixed else first)
    return values(x.clone())


@program("read_before_write", ["0.0"], ["1.0"])
def event_never_recorded(fixed):
    x, s = settled(0.0)
    done = torch.cuda.Event()
    with torch.cuda.stream(s):
        x.fill_(1)
        if fixed:
            done.record()
    done.wait()
    return values(x.clone())


@program("read_before_write", ["0.0"], ["1.0"])
def wait_the_wrong_way_round(fixed):
    x, s = settled(0.0)
    with torch.cuda.stream(s):
        x.fill_(1)
    if fixed:
        default().wait_stream(s)
    else:
        s.wait_stream(default())
    return values(x.clone())


@program("read_before_write", ["0.0"], ["1.0"])
def wait_stream_called_too_early(fixed):
    x, s = settled(0.0)
    if not fixed:
        default().wait_stream(s)
    with torch.cuda.stream(s):
        x.fill_(1)
    if fixed:
        default().wait_stream(s)
    return values(x.clone())


@program("read_before_write", [["0.0"], ["0.0"]], [["0.0", "7.0"], ["0.0"]])
def through_overlapping_views(fixed):
    x, s = settled(0.0)
    with torch.cuda.stream(s):
        x[2:6].fill_(7)
    if fixed:
        default().wait_stream(s)
    return values(x[4:].clone(), x[6:].clone())


@program("read_before_write", ["0.0"], ["5.0"])
def through_a_transposed_view(fixed):
    x, s = settled(0.0)
    with torch.cuda.stream(s):
        x.view(2, 4).t()[1].fill_(5)
    if fixed:
        default().wait_stream(s)
    return values(x.view(2, 4)[:, 1].clone())


@program("read_before_write", ["1.0"], ["2.0"])
def chain_of_three_streams(fixed):
    x, y, z, a = settled(1.0, 1.0, 0.0)
    b = torch.cuda.Stream()
    with torch.cuda.stream(a):
        y.copy_(x * 2)
    if fixed:
        b.wait_stream(a)
    with torch.cuda.stream(b):
        z.copy_(y)
    default().wait_stream(b)
    return values(z.clone())


@program("read_before_write", ["0.0"], ["1.0"])
def another_threads_stream(fixed):
    x, s = settled(0.0)
    done = torch.cuda.Event()

    def work():
        with torch.cuda.stream(s):
            x.fill_(1)
            done.record()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if fixed:
        default().wait_event(done)
    return values(x.clone())


@program("read_before_write", ["0.0"], ["8.0"])
def item_on_another_stream(fixed):
    x, s = settled(0.0)
    with torch.cuda.stream(s):
        x.fill_(1)
    if fixed:
        default().wait_stream(s)
    total = x.sum().item()
    torch.cuda.synchronize()
    return [str(total)]


@program("read_before_write", ["1.0"], ["0.5"])
def optimizer_step_on_another_stream(fixed):
    w, s = settled(1.0)
    w.requires_grad_()
    optimizer = torch.optim.SGD([w], lr=1.0)
    w.grad = full(0.5)
    torch.cuda.synchronize()
    with torch.cuda.stream(s):
        optimizer.step()
    if fixed:
        default().wait_stream(s)
    return values(w.detach().clone())


@program("read_before_write", ["nan"], ["3.0"])
def backward_on_another_stream(fixed):
    x, w, s = settled(3.0, 2.0)
    w.requires_grad_()
    with torch.cuda.stream(s):
        loss = (w * x).sum()
        (grad,) = torch.autograd.grad(loss, w)
    if fixed:
        default().wait_stream(s)
    return values(grad + 0)


@program("read_before_write", ["0.0"], ["6.0"])
def jiterator_kernel_too_early(fixed):
    x, s = settled(0.0)
    triple = torch.cuda.jiterator._create_jit_fn("template <typename T> T triple(T x) { return 3 * x; }")
    with torch.cuda.stream(s):
        x.add_(2)
    if fixed:
        default().wait_stream(s)
    return values(triple(x))


# ------------------------------------------------------------------ writes too early or too late


@program("overwritten_while_read", ["10.0"], ["2.0"])
def overwritten_while_it_is_read(fixed):
    x, y, s = settled(1.0, 0.0)
    with torch.cuda.stream(s):
        torch.mul(x, 2, out=y)
    if fixed:
        default().wait_stream(s)
    x.fill_(5)
    return values(y)


@program("overwritten_while_read", [["11.0"], ["22.0"]], [["3.0"], ["6.0"]])
def all_that_follows_is_done_again(fixed):
    x, s = settled(1.0)
    with torch.cuda.stream(s):
        y = x * 2 + 1
        z = y.clone()
        z.mul_(2)
    if fixed:
        default().wait_stream(s)
    x.fill_(5)
    return values(y, z)


@program("two_writes", ["1.0"], ["2.0"])
def two_writers(fixed):
    x, s = settled(0.0)
    x.fill_(1)
    if fixed:
        s.wait_stream(default())
    with torch.cuda.stream(s):
        x.fill_(2)
    return values(x)


@program("overwritten_while_read", [["2.0"], ["2.0"], ["3.0"]], [["1.0"], ["2.0"], ["3.0"]])
def ring_of_buffers_reused_early(fixed):
    (s,) = settled()
    batches = [full(float(i)) for i in (1, 2, 3)]
    outs = [full(0.0) for _ in batches]
    ring = full(0.0)
    torch.cuda.synchronize()
    free = None
    for batch, out in zip(batches, outs, strict=True):
        if free is not None and (fixed or batch is batches[2]):
            default().wait_event(free)
        ring.copy_(batch)
        s.wait_stream(default())
        with torch.cuda.stream(s):
            out.copy_(ring)
            free = s.record_event()
    return values(*outs)


# ------------------------------------------------------------------ the allocator


@program("use_after_free", [["-1.0"], ["-1.0"]], [["7.0"], ["-1.0"]])
def missing_record_stream(fixed):
    y, s = settled(0.0)
    x = full(7.0)
    s.wait_stream(default())
    with torch.cuda.stream(s):
        y.copy_(x)
    if fixed:
        x.record_stream(s)
    del x
    z = full(-1.0)
    return values(y, z)


@program("use_after_free", [["-1.0"], ["-2.0"]], [["14.0"], ["28.0"]])
def missing_record_stream_and_what_follows(fixed):
    (s,) = settled()
    x = full(7.0)
    s.wait_stream(default())
    with torch.cuda.stream(s):
        y = x.clone() if not fixed else x * 2
        z = y * 2
    if fixed:
        default().wait_stream(s)
    del x
    over = full(-1.0)
    return values(y, z) if over is not None else None


@program("use_after_free", ["7.0"], ["-1.0"])
def freed_while_another_stream_writes(fixed):
    source, s = settled(7.0)
    x = torch.empty(N, device=D)
    with torch.cuda.stream(s):
        x.copy_(source)
    if fixed:
        default().wait_stream(s)
    del x
    z = full(-1.0)
    return values(z)


# ------------------------------------------------------------------ the host


@program("host_read_early", ["0.0"], ["1.0"])
def early_host_read(fixed):
    x, _ = settled(1.0)
    h = torch.zeros(N).pin_memory()
    h.copy_(x, non_blocking=True)
    if fixed:
        torch.cuda.current_stream().synchronize()
    return sorted({str(v) for v in h.tolist()})


@program("host_read_early", ["nan"], ["1.0"])
def download_to_new_memory_read_early(fixed):
    x, _ = settled(1.0)
    h = x.to("cpu", non_blocking=True)
    if fixed:
        torch.cuda.synchronize()
    return sorted({str(v) for v in (h * 1).tolist()})


@program("host_read_early", ["0.0"], ["1.0"])
def numpy_reads_early(fixed):
    x, _ = settled(1.0)
    h = torch.zeros(N).pin_memory()
    h.copy_(x, non_blocking=True)
    if fixed:
        torch.cuda.synchronize()
    return sorted({str(float(v)) for v in h.numpy().copy()})


@program("host_write_early", ["9.0"], ["1.0"])
def pinned_source_changed_early(fixed):
    h = torch.ones(N).pin_memory()
    x = h.to(D, non_blocking=True)
    if fixed:
        torch.cuda.synchronize()
    h.fill_(9)
    return values(x)


@program("host_write_early", [["1.0", "9.0"], ["2.0", "18.0"]], [["1.0"], ["2.0"]])
def numpy_writes_early(fixed):
    h = torch.ones(N).pin_memory()
    x = h.to(D, non_blocking=True)
    y = x * 2
    if fixed:
        torch.cuda.current_stream().record_event().synchronize()
    h.numpy()[4:] = 9
    return [sorted(v, key=float) for v in values(x, y)]


@program("host_write_early", [["9.0"], ["2.0"]], [["1.0"], ["2.0"]])
def pinned_ring_refilled_early(fixed):
    h = torch.ones(N).pin_memory()
    x, y = full(0.0), full(0.0)
    s = torch.cuda.Stream()
    s.wait_stream(default())
    with torch.cuda.stream(s):
        x.copy_(h, non_blocking=True)
        uploaded = s.record_event()
    if fixed:
        uploaded.synchronize()
    h.fill_(9)
    torch.cuda.synchronize()
    h.fill_(2)
    y.copy_(h, non_blocking=True)
    return values(x, y)


@program("read_before_write", ["0.0"], ["3.0"])
def download_on_a_side_stream_without_waiting(fixed):
    x, s = settled(0.0)
    h = torch.full((N,), -1.0).pin_memory()
    x.fill_(3)
    if fixed:
        s.wait_stream(default())
    with torch.cuda.stream(s):
        h.copy_(x, non_blocking=True)
    s.synchronize()
    return sorted({str(v) for v in h.tolist()})
