"""`torch.cuda.*` and `torch.accelerator.*`: PyTorch's own Python code, over simulated C functions.

Most names patched here are the C functions below that code; only where a real driver or NVML would be asked,
the Python function itself is replaced.
"""

from __future__ import annotations

import types
from typing import Any

import torch
import torch.backends.cudnn
import torch.cuda

from grader.simgpu import clock, devices
from grader.simgpu.memory import counted, empty_cache, free_and_total, raw_alloc, raw_delete
from grader.simgpu.tensors import SimTensor


def _set_device(index: int) -> None:
    devices.check_index(index)


def _exchange_device(index: int) -> int:
    if index >= 0:
        devices.check_index(index)
    return 0


def _maybe_exchange_device(
    index: int,
) -> int:  # its own object: torch._dynamo tells the two apart by identity
    return _exchange_device(index)


def _properties(index: int = 0) -> Any:
    return clock.device().profile.properties


def _memory_info(device: Any = 0) -> tuple[int, int]:
    return free_and_total()


class _Success(int):
    success = 0


_cudart = types.SimpleNamespace(
    cudaMemGetInfo=_memory_info,
    cudaProfilerStart=lambda: 0,
    cudaProfilerStop=lambda: 0,
    cudaGetErrorString=lambda code: "no error" if code == 0 else f"error {code}",
    cudaError=_Success,
)


_nvtx = types.SimpleNamespace(
    rangePushA=lambda message: 0,
    rangePop=lambda: 0,
    rangeStartA=lambda message: 0,
    rangeEnd=lambda identifier: None,
    markA=lambda message: None,
)
_cudnn_is_acceptable = torch.backends.cudnn.is_acceptable


def _is_acceptable(tensor: torch.Tensor) -> bool:
    return not isinstance(tensor, SimTensor) and _cudnn_is_acceptable(tensor)


def _capability(index: int) -> dict:
    dtypes = {d for d in vars(torch).values() if isinstance(d, torch.dtype) and not d.is_quantized}
    return {"supported_dtypes": dtypes}


def patches():
    cuda, c = torch.cuda, torch._C
    yield cuda, "is_available", lambda: True
    yield cuda, "device_count", lambda: 1
    yield cuda, "_lazy_init", lambda: None
    yield cuda, "_initialized", True
    yield cuda, "_is_in_bad_fork", lambda: False
    yield cuda, "_get_device_properties", _properties
    yield cuda, "_cudart", _cudart
    yield cuda, "_exchange_device", _exchange_device
    yield cuda, "_maybe_exchange_device", _maybe_exchange_device
    yield cuda, "get_arch_list", lambda: ["sm_90"]
    yield cuda.nvtx, "_nvtx", _nvtx
    yield torch.backends.cudnn, "is_acceptable", _is_acceptable
    for name, replacement in {
        "_cuda_init": lambda: None,
        "_cuda_getDeviceCount": lambda: 1,
        "_cuda_getDevice": lambda: 0,
        "_cuda_setDevice": _set_device,
        "_cuda_exchangeDevice": _exchange_device,
        "_cuda_maybeExchangeDevice": _exchange_device,
        "_cuda_getArchFlags": lambda: "sm_90",
        "_cuda_canDeviceAccessPeer": lambda a, b: False,
        "_cuda_ipc_collect": lambda: None,
        "_cuda_emptyCache": empty_cache,
        "_cuda_cudaCachingAllocator_raw_alloc": raw_alloc,
        "_cuda_cudaCachingAllocator_raw_delete": raw_delete,
        "_cuda_memoryStats": lambda device=0: counted().stats(),
        "_cuda_resetPeakMemoryStats": lambda device=0: counted().reset_peak(),
        "_cuda_resetAccumulatedMemoryStats": lambda device=0: None,
        "_cuda_memorySnapshot": lambda *_: {"segments": [], "device_traces": [], "allocator_settings": {}},
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_setMemoryFraction": lambda fraction, device=0: None,
        "_cuda_getMemoryFraction": lambda device=0: 1.0,
        "_get_accelerator": lambda check=None: torch.device("cuda"),
        "_scatter": lambda tensor, devices, *_: (tensor.cuda(devices[0]),),  # DataParallel's; one device
        "_accelerator_getAccelerator": lambda: torch.device("cuda"),
        "_accelerator_getDeviceIndex": lambda: 0,
        "_accelerator_setDeviceIndex": _set_device,
        "_accelerator_exchangeDevice": _exchange_device,
        "_accelerator_maybeExchangeDevice": _exchange_device,
        "_accelerator_getDeviceCapability": _capability,
        "_accelerator_isAllocatorInitialized": lambda: True,
        "_accelerator_emptyCache": empty_cache,
        "_accelerator_getDeviceStats": lambda index=0: counted().stats(),
        "_accelerator_getMemoryInfo": _memory_info,
        "_accelerator_resetAccumulatedStats": lambda index=0: None,
        "_accelerator_resetPeakStats": lambda index=0: counted().reset_peak(),
    }.items():
        yield c, name, replacement
