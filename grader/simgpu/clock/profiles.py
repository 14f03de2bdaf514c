"""The modelled GPUs: what they claim to be (limits) and how fast they are (rates).

The H200's rates are fitted to measurements of one (`python -m tests.bench.bench_model` prints model beside
measurement); those of the others follow from their data sheets with about the H200's fractions of peak.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from grader.simgpu.profile import H200 as H200_PROPERTIES
from grader.simgpu.profile import DeviceProperties

US, GB, TERA = 1e-6, 1e9, 1e12


@dataclass(frozen=True)
class HostCosts:
    """Seconds that calls cost the host (CPython and the driver)."""

    launch: float = 8 * US  # a PyTorch operation: dispatcher, allocator, launch
    product: float = 9 * US  # one that goes through cuBLAS
    jiterator: float = 11 * US
    numba_array: float = 25 * US  # a numba kernel on arrays made by as_cuda_array
    numba_tensor: float = 68 * US  # a numba kernel on tensors, converted at each launch
    cuda_cpp: float = 9 * US
    copy: float = 9 * US
    sleep: float = 6 * US
    graph: float = 7 * US  # replay of a whole graph
    record: float = 1.2 * US
    wait: float = 1.5 * US
    set_stream: float = 11 * US  # `with torch.cuda.stream(s)` sets it twice
    synchronize: float = 4 * US
    compile_jiterator: float = 55e-3  # a specialisation's first call

    def of_kind(self, kind: str) -> float:
        """Seconds for launching a learner's kernel of this kind (numba: on arrays by as_cuda_array)."""
        usual = {"jiterator": self.jiterator, "numba": self.numba_array, "cuda_cpp": self.cuda_cpp}
        return usual.get(kind, self.launch)


@dataclass(frozen=True)
class ProductRate:
    """Matrix products of one kind of number. A tile walks the inner dimension in order: a product takes at
    least `base` seconds and `step` for each element of it, however few tiles there are.
    """

    operations: float  # multiplications and additions a second, many tiles
    base: float
    step: float


@dataclass(frozen=True)
class Profile:
    """One modelled GPU. Rates in bytes or operations a second, times in seconds.

    `mad` counts multiply-adds that do not wait for one another; a thread's own chain of them is bound by
    `mad_chain` each. product: by kind of number: float32, tf32, half or float64.
    """

    properties: DeviceProperties
    clock: float
    threads: int
    memory: float  # a device-to-device copy
    memory_l2: float
    l2_bytes: int  # of which a kernel may find something again
    efficiency: dict[str, float]  # of `memory`, by kind of kernel
    mad: float
    mad_chain: float
    product: dict[str, ProductRate]
    h2d_pinned: float
    d2h_pinned: float
    pageable: float
    both_directions: float  # the speed of each copy engine while both are busy
    copy_latency: float = 1.5 * US
    latency: float = 2 * US  # from the end of the call to the device
    start: float = 1.1 * US  # from the end of one kernel to the first block of the next in its stream
    start_cold: float = 1.15 * US  # more, where no kernel stood right before it
    mark: float = 1.25 * US
    wait: float = 0.5 * US
    host: HostCosts = field(default_factory=HostCosts)


H200 = Profile(
    properties=H200_PROPERTIES,
    clock=1.98e9,
    threads=132 * 2048,
    memory=4230 * GB,
    memory_l2=7500 * GB,
    l2_bytes=30 << 20,  # half of it lies in the far partition
    efficiency={
        "torch": 4350 / 4230, "reduction": 4285 / 4230, "copy": 1.0, "fill": 4647 / 4230,
        "jiterator": 4000 / 4230, "numba": 2657 / 4230, "cuda_cpp": 3900 / 4230, "triton": 4343 / 4230,
    },
    mad=30.3 * TERA,
    mad_chain=16.3e-9,
    product={
        "float32": ProductRate(51.4 * TERA, 1.2 * US, 0.016 * US),
        "tf32": ProductRate(356 * TERA, 1.7 * US, 0.007 * US),
        "half": ProductRate(650 * TERA, 1.2 * US, 0.005 * US),
        "float64": ProductRate(55 * TERA, 1.2 * US, 0.02 * US),
    },
    h2d_pinned=55.0 * GB,
    d2h_pinned=54.9 * GB,
    pageable=15.0 * GB,
    both_directions=0.9,
)  # fmt: skip

T4 = replace(
    H200,
    properties=replace(
        H200_PROPERTIES,
        name="Simulated GPU (T4 profile)",
        gcnArchName="Simulated GPU (T4 profile)",
        major=7,
        minor=5,
        total_memory=15095 << 20,
        multi_processor_count=40,
        max_threads_per_multi_processor=1024,
        shared_memory_per_block_optin=64 << 10,
        shared_memory_per_multiprocessor=64 << 10,
        L2_cache_size=4 << 20,
        clock_rate=1590000,
        memory_clock_rate=5001000,
        memory_bus_width=256,
    ),
    clock=1.59e9,
    threads=40 * 1024,
    memory=245 * GB,
    memory_l2=900 * GB,
    l2_bytes=4 << 20,
    mad=3.6 * TERA,
    mad_chain=20.3e-9,
    product={
        "float32": ProductRate(5.5 * TERA, 1.2 * US, 0.02 * US),
        "tf32": ProductRate(5.5 * TERA, 1.7 * US, 0.02 * US),
        "half": ProductRate(30 * TERA, 1.2 * US, 0.01 * US),
        "float64": ProductRate(0.24 * TERA, 1.2 * US, 0.1 * US),
    },
    h2d_pinned=12.0 * GB,
    d2h_pinned=12.5 * GB,
    pageable=6.0 * GB,
)

LAPTOP = replace(
    H200,
    properties=replace(
        H200_PROPERTIES,
        name="Simulated GPU (laptop profile)",
        gcnArchName="Simulated GPU (laptop profile)",
        major=8,
        minor=9,
        total_memory=8188 << 20,
        multi_processor_count=24,
        max_threads_per_multi_processor=1536,
        shared_memory_per_block_optin=99 << 10,
        shared_memory_per_multiprocessor=100 << 10,
        L2_cache_size=32 << 20,
        clock_rate=2250000,
        memory_clock_rate=8001000,
        memory_bus_width=128,
    ),
    clock=2.25e9,
    threads=24 * 1536,
    memory=225 * GB,
    memory_l2=1200 * GB,
    l2_bytes=24 << 20,
    mad=6.2 * TERA,
    mad_chain=14.4e-9,
    product={
        "float32": ProductRate(9.5 * TERA, 1.2 * US, 0.015 * US),
        "tf32": ProductRate(18 * TERA, 1.7 * US, 0.009 * US),
        "half": ProductRate(38 * TERA, 1.2 * US, 0.007 * US),
        "float64": ProductRate(0.19 * TERA, 1.2 * US, 0.1 * US),
    },
    h2d_pinned=12.5 * GB,
    d2h_pinned=13.0 * GB,
    pageable=8.0 * GB,
)

PROFILES = {"h200": H200, "t4": T4, "laptop": LAPTOP}


def chosen() -> Profile:
    """Return the profile that the environment variable GRADER_GPU_PROFILE names; the H200 without it.

    Raises ValueError for a name that is not in PROFILES.
    """
    name = os.environ.get("GRADER_GPU_PROFILE", "").strip().lower() or "h200"
    if name not in PROFILES:
        raise ValueError(f"GRADER_GPU_PROFILE is {name!r}: it must be one of {', '.join(PROFILES)}")
    return PROFILES[name]
