"""What is replaced in numba.cuda while the simulated GPU is on."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from grader.simgpu.numba import device, driver, function, launch, lowering
from grader.simgpu.numba.modules import modules

_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-"
    "v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
)  # NVVM's


class NoNvvm:
    """In place of NVVM, which numba asks for the layout of data."""

    data_layout = _LAYOUT

    def get_ir_version(self) -> tuple[int, int, int, int]:
        return 2, 0, 3, 1


def patches() -> Iterator[tuple[Any, str, Any]]:
    """(owner, name, replacement) of everything; numba.cuda must have been imported."""
    m = modules()
    yield from _compiler(m)
    yield from _driver(m)
    if m.own_compiler:
        yield m.driver, "ExperimentalStream", device.CoreStream
        yield m.devicearray, "Buffer", device.CoreBuffer
        views = device.views_class()
        yield m.devicearray, "StridedMemoryView", views
        yield importlib.import_module("numba.cuda.typing.typeof"), "StridedMemoryView", views
    yield m.dispatcher._Kernel, "launch", launch.launch
    yield (
        m.dispatcher.CUDADispatcher,
        "enable_caching",
        lambda self: None,
    )  # code holds addresses of this process


def _compiler(m) -> Iterator[tuple[Any, str, Any]]:
    context = m.target.CUDATargetContext
    yield context, "enable_boundscheck", property(lambda self: True)
    check, pointer = m.cgutils.do_boundscheck, m.cgutils.get_item_pointer

    def do_boundscheck(ctx, builder, index, length, axis=None):
        (lowering.check_index if isinstance(ctx, context) else check)(ctx, builder, index, length, axis)

    def get_item_pointer(ctx, builder, aryty, ary, inds, wraparound=False, boundscheck=False):
        checked = boundscheck or isinstance(ctx, context)  # atomics do not ask for it
        return pointer(ctx, builder, aryty, ary, inds, wraparound=wraparound, boundscheck=checked)

    yield m.cgutils, "do_boundscheck", do_boundscheck
    yield m.cgutils, "get_item_pointer", get_item_pointer
    if m.own_compiler:
        yield (
            m.compiler.CUDANativeLowering,
            "lowering_class",
            property(lambda self: lowering.lowering_class()),
        )
    else:  # the built-in target shares its lowering pass with the CPU

        def lower(ctx, *args, **kwargs):
            kind = lowering.lowering_class() if isinstance(ctx, context) else m.lowering.Lower
            return kind(ctx, *args, **kwargs)

        passes = importlib.import_module("numba.core.typed_passes")
        yield passes.NativeLowering, "lowering_class", property(lambda self: lower)
    yield m.nvvm, "NVVM", NoNvvm
    yield m.nvvm, "is_available", lambda: True
    library = m.codegen.CUDACodeLibrary
    yield library, "get_cufunc", function.get_cufunc
    yield library, "get_asm_str", function.get_asm_str
    if m.own_compiler:
        yield library, "get_asm_strs", function.get_asm_strs
    runtime = m.sub("cudadrv.runtime").Runtime
    yield runtime, "get_version", lambda self: (13, 0)
    yield runtime, "is_supported_version", lambda self: True


def _driver(m) -> Iterator[tuple[Any, str, Any]]:
    single = m.driver.driver
    yield single, "is_initialized", True
    yield single, "initialization_error", None
    for name, call in driver.functions().items():
        yield single, name, call
    if not hasattr(m.driver, "_logger"):
        yield m.driver, "_logger", m.driver.make_logger()
    yield m.driver, "Device", device.device_class()
    yield m.driver.Context, "get_max_potential_block_size", lambda self, *args, **kwargs: (0, 1024)
    yield m.driver.Context, "get_active_blocks_per_multiprocessor", lambda self, f, size, *args: 2048 // size


def forget_devices() -> None:
    """numba keeps the list of devices: it is found anew when the simulated GPU is switched on or off."""
    m = modules()
    if m.own_compiler:
        type(m.devices.gpus).lst.fget.cache_clear()
    else:
        vars(m.devices.gpus).pop("lst", None)
    m.driver.driver.devices.clear()
