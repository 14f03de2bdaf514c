"""When tensors of the simulated GPU die, and how optimisers update them."""

import sys

import torch
from torch.optim.optimizer import _default_to_fused_or_foreach

from grader import simgpu


def test_no_python_code_runs_when_memory_dies():
    """Python handles a signal where a function begins; what is raised in a finaliser is swallowed."""
    began = []
    with simgpu.simulated():
        small, large = torch.ones(16, device="cuda"), torch.ones(1 << 20, device="cuda")
        sys.setprofile(lambda frame, event, _: began.append(frame.f_code) if event == "call" else None)
        try:
            del small
            del large
        finally:
            sys.setprofile(None)
    assert not began


def test_memory_is_given_back_in_the_figures_at_once():
    with simgpu.simulated():
        before = torch.cuda.memory_allocated()
        t = torch.ones(1 << 20, device="cuda")
        assert torch.cuda.memory_allocated() == before + (4 << 20)
        del t
        assert torch.cuda.memory_allocated() == before


def test_optimisers_update_all_tensors_at_once_by_default():
    def choices(device):
        parameters = [torch.nn.Parameter(torch.ones(4, device=device)) for _ in range(3)]
        choice = _default_to_fused_or_foreach(parameters, differentiable=False)
        return choice, torch.utils._foreach_utils._has_foreach_support(parameters, parameters[0].device)

    with simgpu.simulated():
        assert choices("cuda") == ((False, True), True)
        assert choices("cpu")[0] == (False, False)
