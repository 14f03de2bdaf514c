"""Random numbers of the simulated GPU: generators of their own, apart from the host's.

As on a GPU the state of a generator is a seed and an offset, 16 bytes. Each operation that draws seeds the
host's algorithm from the two and moves the offset on, so that equal states give equal numbers. The numbers
themselves are not those of a real GPU.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors

from grader.simgpu import devices, streams, tracking

HostGenerator = torch.Generator

_DEFAULT_SEED = 67280421310721  # PyTorch's default_rng_seed_val
_PER_DRAW = 4  # a Philox call makes four numbers; offsets are multiples of it
_MASK = (1 << 64) - 1

# Functions of torch, Tensor, torch.nn.functional and torch.nn.init that draw, by name.
_RANDOM = {
    "alpha_dropout", "alpha_dropout_", "bernoulli", "bernoulli_", "binomial", "cauchy", "cauchy_", "dropout",
    "dropout_", "dropout1d", "dropout2d", "dropout3d", "exponential", "exponential_", "feature_alpha_dropout",
    "feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "fractional_max_pool2d",
    "fractional_max_pool3d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d_with_indices",
    "geometric", "geometric_", "gru", "gumbel_softmax", "kaiming_normal_", "kaiming_uniform_", "log_normal",
    "log_normal_", "lstm", "multi_head_attention_forward", "multinomial", "native_dropout", "normal",
    "normal_", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random",
    "random_", "randperm", "rnn_relu", "rnn_tanh", "rrelu", "rrelu_", "_sample_dirichlet", "_standard_gamma",
    "scaled_dot_product_attention", "trunc_normal_", "uniform", "uniform_", "xavier_normal_",
    "xavier_uniform_",
}  # fmt: skip

_WITH_GENERATOR = {
    "bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "log_normal_", "multinomial",
    "normal", "normal_", "poisson", "rand", "randint", "randn", "random_", "randperm", "uniform_",
}  # fmt: skip

_lock = threading.RLock()  # held while the host's default generator is borrowed


def is_random(func: Any) -> bool:
    return is_random_name(getattr(func, "__name__", ""))


@functools.cache
def is_random_name(name: str) -> bool:
    """Does the function, or the method, of this name draw?"""
    return name in _RANDOM or name.partition(".")[0] in _RANDOM


class CudaGenerator(HostGenerator):
    """`torch.Generator(device="cuda")` of the simulated GPU."""

    def __new__(cls, device: Any = "cuda:0") -> CudaGenerator:
        return HostGenerator.__new__(cls, device="cpu")

    def __init__(self, device: Any = "cuda:0") -> None:
        self._seed, self._offset = _DEFAULT_SEED, 0
        self._device = torch.device(device)

    @property
    def device(self) -> torch.device:
        return self._device  # as it was asked for: "cuda" stays without an index

    def initial_seed(self) -> int:
        return self._seed

    def manual_seed(self, seed: int) -> CudaGenerator:
        seed = int(seed)
        if not -(1 << 63) <= seed <= _MASK:
            raise RuntimeError("Overflow when unpacking long")
        self._seed, self._offset = seed & _MASK, 0
        return self

    def seed(self) -> int:
        self.manual_seed(int.from_bytes(os.urandom(8), "little") >> 11)
        return self._seed

    def get_offset(self) -> int:
        return self._offset

    def set_offset(self, offset: int) -> CudaGenerator:
        self._offset = int(offset)
        return self

    def get_state(self) -> torch.Tensor:
        raw = self._seed.to_bytes(8, "little") + self._offset.to_bytes(8, "little")
        return torch.frombuffer(bytearray(raw), dtype=torch.uint8)

    def set_state(self, state: torch.Tensor) -> CudaGenerator:
        if not isinstance(state, torch.Tensor) or state.dtype != torch.uint8 or state.is_cuda:
            raise TypeError("RNG state must be a torch.ByteTensor")
        raw = bytes(state.tolist())
        if len(raw) not in (8, 16):
            raise RuntimeError("RNG state is wrong size")
        self._seed, self._offset = int.from_bytes(raw[:8], "little"), int.from_bytes(raw[8:], "little")
        return self

    def clone_state(self) -> CudaGenerator:
        return CudaGenerator(self._device).set_state(self.get_state())

    def graphsafe_get_state(self) -> CudaGenerator:
        return self

    def graphsafe_set_state(self, other: CudaGenerator) -> CudaGenerator:
        return self.set_state(other.get_state())

    def _next(self) -> int:
        """The seed of the next draw."""
        capture = streams.current().capture
        if capture is not None:
            capture.draws.drawn(self)
        seed = self.seed_at(self._offset)
        self._offset += _PER_DRAW
        return seed

    def seed_at(self, offset: int) -> int:
        """The seed of the draw that begins at `offset`."""
        return _mix((self._seed ^ _mix(offset + 1)) & _MASK) >> 1


def _mix(x: int) -> int:
    """The finaliser of splitmix64: neighbouring inputs give unrelated outputs."""
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def run(func: Any, args: tuple, kwargs: dict) -> Any:
    """Call `func`, which draws from the device's default generator or from the one among its arguments."""
    __tracebackhide__ = True
    given = [g for g in (*args, *kwargs.values()) if isinstance(g, HostGenerator)]
    if given and not isinstance(given[0], CudaGenerator):
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    generator = given[0] if given else torch.cuda.default_generators[0]
    args = tuple(None if isinstance(a, HostGenerator) else a for a in args)
    kwargs = {k: v for k, v in kwargs.items() if not isinstance(v, HostGenerator)}
    if _takes_generator(func):
        with _lock:
            seed = generator._next()
        kwargs["generator"] = HostGenerator().manual_seed(seed)
        with tracking.maybe(), PlainTensors():
            return func(*args, **kwargs)
    with borrowed(generator), tracking.maybe(), PlainTensors():
        return func(*args, **kwargs)


@contextlib.contextmanager
def borrowed(generator: CudaGenerator | None = None) -> Iterator[None]:
    """What draws from the host's default generator inside the block draws from `generator` of the device."""
    generator = generator or torch.cuda.default_generators[0]
    host = torch.default_generator
    with _lock:
        before = host.get_state()
        host.manual_seed(generator._next())
        try:
            yield
        finally:
            host.set_state(before)


def _takes_generator(func: Any) -> bool:
    """May the draw have a generator of its own, so that threads that draw on the host are left alone?"""
    name = func.__name__
    return name in _WITH_GENERATOR or name.endswith("generator")  # as in aten's "rand.generator"


class _GeneratorType(type(HostGenerator)):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, HostGenerator)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, HostGenerator)

    def __call__(cls, device: Any = "cpu") -> HostGenerator:
        if not devices.is_cuda(device):
            return HostGenerator(device=device)
        devices.check_index(device)
        return CudaGenerator(device)


class Generator(HostGenerator, metaclass=_GeneratorType):
    """Stands for `torch.Generator`: makes a CudaGenerator for a CUDA device, else PyTorch's own."""


Generator.__module__ = "torch"


def patches():
    yield torch, "Generator", Generator
    yield torch.cuda, "default_generators", (CudaGenerator(),)
