"""What pieces of device work cost: from the bytes that they move, their arithmetic and their size.

`reads` and `writes` are (key of the memory block, bytes addressed in it) pairs: the key tells what may still
lie in the L2 cache. All functions ask `device` for its rates, the process's own without one.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterable, Sequence
from math import hypot

from grader.simgpu.clock import products
from grader.simgpu.clock.device import Device
from grader.simgpu.clock.entries import Cost
from grader.simgpu.clock.process import device as the_device
from grader.simgpu.clock.profiles import Profile

Memory = Iterable[tuple[Hashable, int]]

_ELEMENTS_A_THREAD = 4  # of PyTorch's elementwise kernels and the jiterator's
_BLOCKS_A_MULTIPROCESSOR = 32
_REMEMBERED = 4096  # costs of operations that a device remembers
_NO_TENSORS = {int, float, bool, list, tuple, type(None)}  # kinds of other arguments
_ROUNDS = 8  # of blocks in a matrix product that fills the device

_REDUCTIONS = {
    "sum", "mean", "amax", "amin", "max", "min", "prod", "any", "all", "argmax", "argmin", "norm",
    "linalg_vector_norm", "var", "std", "var_mean", "std_mean", "logsumexp", "count_nonzero", "nansum",
    "aminmax", "dot", "vdot",
}  # fmt: skip
_COPIES = {
    "copy_", "clone", "cat", "_to_copy", "contiguous", "stack", "repeat", "constant_pad_nd", "roll", "flip",
}  # fmt: skip
_FILLS = {
    "fill_", "zero_", "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros",
    "new_ones", "new_full", "arange",
}  # fmt: skip
# Passes over the operation's own memory, launches: of operations that read or write more than once.
_SEVERAL = {
    "sort": (12.0, 6), "argsort": (12.0, 6), "topk": (4.0, 3), "kthvalue": (4.0, 2), "median": (6.0, 3),
    "unique": (14.0, 10), "_unique2": (14.0, 10), "nonzero": (3.0, 4), "masked_select": (3.0, 4),
    "cumsum": (1.2, 2), "cumprod": (1.2, 2), "cummax": (1.5, 1), "cummin": (1.5, 1), "histc": (2.0, 2),
    "bincount": (2.0, 3), "index": (1.5, 1), "gather": (1.5, 1), "scatter": (2.0, 1), "scatter_": (2.0, 1),
    "scatter_add_": (3.0, 1), "index_add_": (3.0, 1), "index_put_": (2.0, 2), "index_select": (1.2, 1),
    "embedding": (1.2, 1), "_softmax": (1.2, 1), "_log_softmax": (1.2, 1), "native_layer_norm": (1.2, 1),
    "native_batch_norm": (1.6, 2), "randperm": (12.0, 6), "multinomial": (4.0, 4),
}  # fmt: skip


def torch_op(
    name: str, reads: Memory, writes: Memory, args: Sequence[object] = (), device: Device | None = None
) -> Cost:
    """Return the cost of one ATen operation.

    name: as in the schema, without "aten::" ("add", "add_", "mm"). args: its arguments; tensors among them
    tell what a matrix product or a convolution computes.
    """
    device = device or the_device()
    read, written = list(reads), list(writes)
    if products.possible(name):
        computed = products.of(name, args)
        if computed is not None:
            _touch(device, read, written)
            return product(computed, device)
    kind, passes, launches = _kind(name)
    if kind == "fill":
        read = []
    elements = 0
    for t in args:
        if type(t) not in _NO_TENSORS and hasattr(t, "numel"):
            elements = max(elements, t.numel())
    sizes = [size for _, size in (*read, *written)]
    total, cached = passes * sum(sizes), _touch(device, read, written)
    elements = elements or max(sizes, default=0) // 4
    known = device.costs
    key = name, total, cached, elements
    cost = known.get(key)
    if cost is None:
        if len(known) >= _REMEMBERED:
            known.clear()
        profile = device.profile
        seconds, bandwidth = _moving(profile, kind, total, min(passes * cached, total))
        seconds += (launches - 1) * profile.start
        threads, host = elements / _ELEMENTS_A_THREAD, profile.host.launch * launches
        cost = known[key] = _cost(profile, seconds, bandwidth, threads, host)
    return cost


@functools.cache
def _kind(name: str) -> tuple[str, float, int]:
    """What an operation counts as; passes over its memory, launches."""
    plain = name.removesuffix("_out")
    if plain in _REDUCTIONS:
        kind = "reduction"
    elif plain in _FILLS:
        kind = "fill"
    else:
        kind = "copy" if plain in _COPIES else "torch"
    return kind, *_SEVERAL.get(plain, (1.0, 1))


def kernel(
    kind: str,
    reads: Memory,
    writes: Memory,
    threads: int,
    operations: float = 0.0,
    *,
    blocks: int = 0,
    shared: int = 0,
    host: float | None = None,
    device: Device | None = None,
) -> Cost:
    """Return the cost of one launch of a learner's kernel.

    kind: "jiterator", "numba", "cuda_cpp" or "triton". threads: as launched; for the jiterator the elements.
    operations: multiply-adds, or what takes as long, that each thread does one after another. blocks, shared:
    blocks of the launch and bytes of shared memory of each. host: seconds, if not the kind's usual ones
    (numba: of arrays by as_cuda_array).
    """
    device = device or the_device()
    profile = device.profile
    seconds, bandwidth = _memory(device, kind, list(reads), list(writes))
    arithmetic = threads * operations / profile.mad
    chain = operations * profile.mad_chain
    alone = max(seconds, arithmetic, chain)
    occupied = threads / _ELEMENTS_A_THREAD if kind == "jiterator" else threads
    occupied = max(occupied, profile.threads * _room_of_blocks(profile, blocks, shared))
    if host is None:
        host = profile.host.of_kind(kind)
    if not alone:
        return _cost(profile, 0.0, 0.0, occupied, host)
    return _cost(profile, alone, bandwidth * seconds / alone, occupied, host, arithmetic / alone)


def product(of: products.Product, device: Device | None = None) -> Cost:
    """Return the cost of a matrix product or of what computes like one."""
    # Libraries split small products over many more blocks than their arithmetic fills: hence the exponent.
    device = device or the_device()
    rate = device.profile.product[of.numbers]
    arithmetic = of.operations / rate.operations
    seconds = hypot(arithmetic, rate.base + of.inner * rate.step)
    busy = arithmetic / seconds
    return Cost(seconds, busy**0.2, 0.0, device.profile.host.product, max(1.0, _ROUNDS * busy))


def copy(
    nbytes: int, direction: str, pinned: bool, blocking: bool = False, device: Device | None = None
) -> Cost:
    """Return the cost of a copy between host and device. direction: "h2d" or "d2h".

    The call returns when the copy is done if it is blocking or if the host's memory is not pinned.
    """
    profile = (device or the_device()).profile
    rate = (profile.h2d_pinned if direction == "h2d" else profile.d2h_pinned) if pinned else profile.pageable
    return Cost(
        profile.copy_latency + nbytes / rate, host=profile.host.copy, host_waits=blocking or not pinned
    )


def sleep(cycles: int, device: Device | None = None) -> Cost:
    """Return the cost of `torch.cuda._sleep(cycles)`: one thread that counts the multiprocessor's cycles."""
    profile = (device or the_device()).profile
    return Cost(max(cycles, 0) / profile.clock, room=_room_of_blocks(profile, 1, 0), host=profile.host.sleep)


def _memory(device: Device, kind: str, reads: list, writes: list) -> tuple[float, float]:
    """Seconds for moving these bytes, and the share of the memory's bandwidth that it draws."""
    total = sum(n for _, n in reads + writes)
    return _moving(device.profile, kind, total, _touch(device, reads, writes))


def _moving(profile: Profile, kind: str, total: float, cached: float) -> tuple[float, float]:
    """The same for so many bytes, some of them `cached`."""
    from_memory = (total - cached) / (profile.memory * profile.efficiency[kind])
    seconds = from_memory + cached / profile.memory_l2
    return seconds, from_memory / seconds if seconds else 0.0


def _touch(device: Device, reads: list, writes: list) -> int:
    """Move the memory through the L2 cache; how many of the bytes were there."""
    touch, cached = device.l2.touch, 0
    for key, size in reads:
        cached += touch(key, size)
    for key, size in writes:
        cached += touch(key, size)
    return cached


def _cost(
    profile: Profile, seconds: float, bandwidth: float, threads: float, host: float, busy: float = 0.0
) -> Cost:
    """busy: the share of the arithmetic units that it keeps busy, whatever room its threads take."""
    rounds = threads / profile.threads
    return Cost(seconds, min(max(rounds, busy), 1.0), min(bandwidth, 1.0), host, max(rounds, 1.0))


def _room_of_blocks(profile: Profile, blocks: int, shared: int) -> float:
    limits = profile.properties
    at_once = _BLOCKS_A_MULTIPROCESSOR
    if shared:
        at_once = max(1, min(at_once, limits.shared_memory_per_multiprocessor // shared))
    return blocks / (at_once * limits.multi_processor_count)
