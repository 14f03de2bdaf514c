"""The switch: who decides, and that switching off puts PyTorch back as it was."""

import os
import subprocess
import sys

import pytest
import torch

from grader import simgpu


def python(code, **env):
    """Run `code` in a fresh process without a GPU; its output, or the last line of its traceback."""
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **env}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    return (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()[-1]


USE = """
import torch
from grader import simgpu
simgpu.activate()
print(simgpu.mode(), torch.zeros(2, device="cuda").device)
"""


def test_without_a_gpu_the_simulated_one_is_on():
    assert python(USE) == "sim cuda:0"


def test_grader_gpu_sim_is_obeyed():
    assert python(USE, GRADER_GPU="sim") == "sim cuda:0"


def test_grader_gpu_real_without_a_gpu_says_so():
    said = python(USE.replace("activate()", "activate('real')"))
    assert said.startswith("RuntimeError: GRADER_GPU=real asks for a real GPU, but PyTorch finds none here")


def test_a_bad_word_is_refused_with_the_two_allowed_ones():
    said = python(USE.replace("activate()", "activate('gpu')"))
    assert said.startswith("ValueError") and "'sim'" in said and "'real'" in said and "'gpu'" in said


def test_functions_imported_before_grader_work_too():
    code = """
from torch import zeros, rand, arange
import grader
print(*(f(3, device="cuda").device for f in (zeros, rand, arange)))
"""
    assert python(code) == "cuda:0 cuda:0 cuda:0"


def test_switching_off_restores_everything():
    code = """
import torch, grader
grader.simgpu.deactivate()
from grader.simgpu import switch
before = {name: (owner, attribute, vars(owner).get(attribute)) for part in switch._parts()
          for owner, attribute, _ in part.patches() for name in [f"{owner!r}.{attribute}"]}
assert len(before) > 50
switch.activate("sim")
changed = [n for n, (o, a, v) in before.items() if vars(o).get(a) is not v]
assert len(changed) == len(before), set(before) - set(changed)
assert torch.ones(1, device="cuda").is_cuda
switch.deactivate()
print([n for n, (o, a, v) in before.items() if vars(o).get(a) is not v], torch.cuda.is_available())
""".replace(
        "from grader.simgpu import switch",
        "import grader; grader.simgpu.deactivate(); from grader.simgpu import switch",
    )
    assert python(code) == "[] False"


def test_switched_off_cuda_is_refused_as_ever():
    code = """
import torch, grader
grader.simgpu.deactivate()
try:
    torch.zeros(2, device="cuda")
except AssertionError as e:
    print(e)
"""
    if not torch.backends.cuda.is_built():
        assert python(code) == "Torch not compiled with CUDA enabled"


def test_simulated_is_a_no_op_when_it_is_on_already():
    x = torch.ones(2, device="cuda")
    with simgpu.simulated():
        assert (x + torch.ones(2, device="cuda")).is_cuda
    assert simgpu.is_simulated()
    assert torch.ones(1, device="cuda").is_cuda


def test_simulated_switches_on_for_the_block_only():
    code = """
import torch, grader
from grader import simgpu
simgpu.deactivate()
with simgpu.simulated():
    x = torch.ones(3, device="cuda") * 2
    inside = simgpu.is_simulated(), str(x.device)
print(inside, simgpu.is_simulated(), torch.cuda.is_available(), x.tolist())
"""
    assert python(code) == "(True, 'cuda:0') False False [2.0, 2.0, 2.0]"


def test_the_last_of_overlapping_blocks_switches_off():
    code = """
import grader
from grader import simgpu
simgpu.deactivate()
first, second = simgpu.simulated(), simgpu.simulated()
first.__enter__()
second.__enter__()
first.__exit__(None, None, None)
between = simgpu.is_simulated()
second.__exit__(None, None, None)
print(between, simgpu.is_simulated())
"""
    assert python(code) == "True False"


def test_activating_inside_a_block_lasts():
    code = """
import grader
from grader import simgpu
simgpu.deactivate()
with simgpu.simulated():
    simgpu.activate("sim")
print(simgpu.is_simulated())
"""
    assert python(code) == "True"


def test_it_says_which_gpu_is_in_use():
    assert (
        simgpu.describe()
        == "no GPU here: simulated GPU (CUDA's rules; last digits may differ; time not measured)"
    )


def test_asking_for_the_real_one_by_argument_without_one():
    if not torch.backends.cuda.is_built():
        code = "import grader\nfrom grader import simgpu\nsimgpu.activate('real')"
        assert python(code).startswith("RuntimeError")
    with pytest.raises(ValueError, match="'sim'"):
        simgpu.activate("fast")


def test_activating_twice_patches_once():
    code = """
import grader, torch
from grader import simgpu
simgpu.activate("sim")
simgpu.activate("sim")
simgpu.deactivate()
print(torch.cuda.is_available(), simgpu.is_simulated())
"""
    assert python(code) == "False False"
