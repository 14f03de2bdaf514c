"""Common dtypes, shapes and layouts of results are those of PyTorch's own elementwise operations."""

from __future__ import annotations

import functools
import itertools
import random

import pytest
import torch

from grader import simgpu

create = torch.cuda.jiterator._create_jit_fn
ADD = create("template <typename T> T add(T a, T b) { return a + b; }")
ADD3 = create("template <typename T> T f(T a, T b, T c) { return a * T(2) + b * T(3) + c; }")

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
    torch.float32, torch.float64, torch.complex32, torch.complex64, torch.complex128,
]  # fmt: skip


def some(shape, dtype=torch.float32):
    n = 1
    for s in shape:
        n *= s
    return torch.arange(n, dtype=torch.int64).remainder(2).to(dtype).view(shape)


@pytest.mark.parametrize("a", DTYPES, ids=str)
def test_promotion_of_two(a):
    for b, da, db in itertools.product(DTYPES, (0, 1), (0, 1)):
        x, y = some((2,) * da, a), some((2,) * db, b)
        common = torch.result_type(x, y)
        if common in DTYPES:  # since PyTorch 2.14 there is one more complex type, that of bfloat16
            assert ADD(x.cuda(), y.cuda()).dtype == common, (b, da, db)


def layouts(rng, shape):
    """A tensor of this shape with a random layout."""
    perm = list(range(len(shape)))
    rng.shuffle(perm)
    steps = [rng.choice([1, 1, 1, 2]) for _ in shape]
    base = torch.randn([shape[p] * steps[p] for p in perm])
    t = base.permute([perm.index(d) for d in range(len(shape))])
    t = t[tuple(slice(None, None, s) for s in steps)]
    for d in range(len(shape)):
        if rng.random() < 0.15:
            t = t.narrow(d, 0, 1)
            if rng.random() < 0.5:
                t = t.expand(shape)
    while t.dim() and t.shape[0] == 1 and rng.random() < 0.5:
        t = t[0]
    return t


@pytest.mark.parametrize("seed", range(150))
def test_layouts_of_three(seed):
    rng = random.Random(seed)
    torch.manual_seed(seed)
    shape = [rng.choice([1, 2, 3, 5]) for _ in range(rng.randint(0, 5))]
    x, y, z = (layouts(rng, shape) for _ in range(3))
    reference = torch.addcmul(x, y, z)  # any operation with three inputs
    got = ADD3(*(simgpu.to_device(t) for t in (x, y, z)))
    assert got.shape == reference.shape
    assert got.stride() == reference.stride()
    torch.testing.assert_close(simgpu.to_host(got), x * 2 + y * 3 + z, rtol=1e-5, atol=1e-6)


def promoted(whole, single):
    """The common dtype of tensors with dimensions and of tensors without."""
    kinds = [functools.reduce(torch.promote_types, dtypes) for dtypes in (whole, single) if dtypes]
    if len(kinds) == 1:
        return kinds[0]
    return torch.result_type(torch.zeros(1, dtype=kinds[0]), torch.zeros((), dtype=kinds[1]))


@pytest.mark.parametrize("seed", range(40))
def test_layouts_with_casts(seed):
    rng = random.Random(seed)
    shape = [rng.choice([1, 2, 3]) for _ in range(rng.randint(1, 4))]
    x, y, z = (layouts(rng, shape).mul(4).to(rng.choice(DTYPES[1:10])) for _ in range(3))
    if rng.random() < 0.3:
        y = y.reshape(-1)[0]
    got = ADD3(*(simgpu.to_device(t) for t in (x, y, z)))
    reference = torch.addcmul(x.double(), y.double(), z.double())
    common = promoted([t.dtype for t in (x, y, z) if t.dim()], [t.dtype for t in (x, y, z) if not t.dim()])
    assert got.dtype == common and got.shape == reference.shape
    exact = x.to(common).double() * 2 + y.to(common).double() * 3 + z.to(common).double()
    torch.testing.assert_close(simgpu.to_host(got).double(), exact.to(common).double(), rtol=0.05, atol=0.3)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(70_000,), (300, 300)])
def test_large_strided_inputs(dtype, shape):
    x = some([*shape, 2], dtype)[..., 0]
    same = create("template <typename T> T same(T x) { return x; }")
    got = simgpu.to_host(same(simgpu.to_device(x)))
    assert torch.equal(
        torch.view_as_real(got) if got.is_complex() else got, torch.view_as_real(x) if x.is_complex() else x
    )


def test_a_repeated_scalar_among_large_inputs():
    x = torch.randn(100_003)
    for scalar in (torch.tensor(2.0), torch.tensor(3), torch.tensor([4.0])):
        torch.testing.assert_close(ADD(x.cuda(), scalar.cuda()).cpu(), x + scalar)


def test_inputs_are_not_changed():
    x = torch.randn(5000, device="cuda")
    before = x.clone()
    create("template <typename T> T f(T& x) { x = T(0); return x; }")(x)
    assert torch.equal(x, before)


@pytest.mark.parametrize("inputs", range(1, 9))
def test_up_to_eight_inputs(inputs):
    parameters = ", ".join(f"T x{i}" for i in range(inputs))
    total = " + ".join(f"x{i} * T({i + 1})" for i in range(inputs))
    kernel = create(f"template <typename T> T f({parameters}) {{ return {total}; }}")
    x = [torch.full((40_000,), float(i + 1), device="cuda") for i in range(inputs)]
    assert kernel(*x).unique().tolist() == [sum((i + 1) ** 2 for i in range(inputs))]
