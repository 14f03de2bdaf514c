"""The device that the simulated GPU claims to be: an NVIDIA H200's limits under an honest name."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

_MIB = 1 << 20


@dataclass(frozen=True)
class DeviceProperties:
    """What `torch.cuda.get_device_properties` returns. Sizes in bytes, clocks in kHz, the bus in bits."""

    name: str = "Simulated GPU (H200 profile)"
    major: int = 9
    minor: int = 0
    total_memory: int = 143156 * _MIB
    multi_processor_count: int = 132
    warp_size: int = 32
    max_threads_per_block: int = 1024
    max_threads_per_multi_processor: int = 2048
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 48 << 10
    shared_memory_per_block_optin: int = 227 << 10
    shared_memory_per_multiprocessor: int = 228 << 10
    L2_cache_size: int = 60 * _MIB
    clock_rate: int = 1980000
    memory_clock_rate: int = 3201000
    memory_bus_width: int = 6144
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    gcnArchName: str = "Simulated GPU (H200 profile)"
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0
    uuid: str = str(uuid.UUID(int=0))

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // _MIB}MB, "
            f"multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size // _MIB}MB)"
        )


H200 = DeviceProperties()
