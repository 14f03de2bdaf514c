"""Small GPU programs, their outcomes as JSON, and the comparison with what a real GPU gave.

A program is a function under `@case("group/name")`; what it returns, or raises, is its outcome. `h200.json`
beside this file holds the outcomes on an NVIDIA H200 (recordings.py reads and writes it). No outcome
depends on the model of GPU, on timing, on addresses or on random values. A program that has no recording
yet says so with `recorded=False`. `expect=` is the outcome as far as it is sure beforehand: the simulated
GPU and the recording must both give it.
"""

from __future__ import annotations

import gc
import importlib
import json
import math
import os
import pkgutil
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

D = "cuda"
HERE = Path(__file__).parent
UNSURE = object()  # no expectation: only a recording can tell


@dataclass(frozen=True)
class Program:
    name: str
    run: Callable[[], Any]
    recorded: bool
    expect: Any = UNSURE  # as JSON
    alone: bool = False  # it may ruin its CUDA context: it gets a process of its own


PROGRAMS: dict[str, Program] = {}


def case(name: str, recorded: bool = True, expect: Any = UNSURE, alone: bool = False):
    """Register the decorated function as the program `name` ("group/what_it_does").

    An exception in `expect` may leave out its "msg": then only its type is sure.
    """

    def register(run):
        if name in PROGRAMS:
            raise ValueError(f"two programs are called {name}")
        PROGRAMS[name] = Program(name, run, recorded, expect if expect is UNSURE else enc(expect), alone)
        return run

    return register


def pair(name: str, *, racy: Any, mended: Any, recorded: bool = True):
    """Two programs from one function of `mended`: with the ordering left out, and with it in its place."""

    def register(run):
        case(f"{name}.racy", recorded, expect=racy)(lambda: run(False))
        case(f"{name}.mended", recorded, expect=mended)(lambda: run(True))
        return run

    return register


def load_programs() -> dict[str, Program]:
    """Import every `programs_*` module of this folder; all programs by name."""
    for module in pkgutil.iter_modules([str(HERE)]):
        if module.name.startswith("programs_"):
            importlib.import_module(f"{__package__}.{module.name}")
    return PROGRAMS


def outcome(program: Program) -> Any:
    """Run `program`; what it returned or raised, as JSON. The process is left as it was found."""
    return _in_a_process(program.name) if program.alone else run_here(program)


def run_here(program: Program) -> Any:
    gc.collect()
    gc.disable()  # no memory may be freed between two questions of one program
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the racy ones are racy on purpose
            result = enc(program.run())
        json.dumps(result, allow_nan=False)
        return result
    except Exception as e:
        return exc(e)
    finally:
        gc.enable()
        torch.set_default_device(None)
        torch.set_default_dtype(torch.float32)


def _in_a_process(name: str) -> Any:
    """The outcome of the program `name` in a process of its own, on the same kind of GPU as here."""
    from grader import simgpu

    env = os.environ | {"GRADER_GPU": "sim" if simgpu.is_simulated() else "real"}
    command = [sys.executable, "-m", "tests.parity.alone", name]
    done = subprocess.run(command, cwd=HERE.parents[1], env=env, capture_output=True, text=True, timeout=300)
    if done.returncode:
        return {"exc": "died", "msg": f"exit status {done.returncode}: {done.stderr[-80:]}"}
    return json.loads(done.stdout.splitlines()[-1])


# ------------------------------------------------------------------ outcomes


def enc(x: Any) -> Any:
    """`x` as JSON holds it without loss: NaN, infinities, -0.0 as words, tensors as dtype, shape, values."""
    if x is None or isinstance(x, (bool, int)):
        return x
    if isinstance(x, str):
        return clean(x)
    if isinstance(x, float):
        if x != x:
            return "nan"
        if math.isinf(x):
            return "inf" if x > 0 else "-inf"
        return "-0.0" if x == 0 and math.copysign(1, x) < 0 else x
    if isinstance(x, complex):
        return [enc(x.real), enc(x.imag)]
    if isinstance(x, dict):
        return {str(k): enc(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [enc(v) for v in x]
    if isinstance(x, (set, frozenset)):
        return sorted((enc(v) for v in x), key=str)
    if isinstance(x, torch.Tensor):
        return V(x)
    if isinstance(x, np.ndarray):
        return {"dt": str(x.dtype), "shape": list(x.shape), "v": enc(x.tolist())}
    if isinstance(x, np.generic):
        return enc(x.item())
    return clean(str(x))


def clean(s: str) -> str:
    """`s` without colours, addresses and folders."""
    s = re.sub(r"\x1b\[[0-9;]*m", "", s)
    s = re.sub(r"0x[0-9a-fA-F]{4,}", "0x*", s)
    return re.sub(r"(/[\w.+-]+)+/", "", s)


def V(t: torch.Tensor) -> dict:
    """Dtype, shape and values of a tensor."""
    h = t.detach().cpu()
    dt = str(h.dtype).replace("torch.", "")
    if dt == "complex32":
        h = h.to(torch.complex64)
    if dt.startswith("float8"):
        h = h.float()
    return {"dt": dt, "shape": list(h.shape), "v": enc(h.tolist())}


def L(t: torch.Tensor) -> dict:
    """V and what can be asked about the layout."""
    layout = {"stride": list(t.stride()), "offset": t.storage_offset(), "contig": t.is_contiguous()}
    return {**V(t), **layout, "dev": str(t.device)}


def meta(t: torch.Tensor) -> list:
    return [str(t.dtype), list(t.shape), list(t.stride()), str(t.device)]


def exc(e: BaseException) -> dict:
    return {"exc": type(e).__name__, "msg": clean(str(e))[:120]}


def E(f: Callable, *args, **kwargs) -> dict:
    """The outcome of f(*args, **kwargs), an exception included."""
    try:
        return {"ok": enc(f(*args, **kwargs))}
    except Exception as e:
        return exc(e)


def ET(f: Callable, *args, **kwargs) -> dict:
    """As E, but of an exception only the type."""
    try:
        return {"ok": enc(f(*args, **kwargs))}
    except Exception as e:
        return {"exc": type(e).__name__}


def refused(f: Callable, *args, **kwargs) -> dict:
    """For NVRTC: did it raise, and does the text talk of an error? The text is the generated source."""
    try:
        f(*args, **kwargs)
    except Exception as e:
        return {"exc": type(e).__name__, "says_error": "error" in str(e)}
    return {"exc": None}


# ------------------------------------------------------------------ short names for programs


def J(code: str, **kwargs):
    return torch.cuda.jiterator._create_jit_fn(code, **kwargs)


def JM(code: str, n: int, **kwargs):
    return torch.cuda.jiterator._create_multi_output_jit_fn(code, n, **kwargs)


def T(x: Any, dt: str | torch.dtype | None = None, **kwargs) -> torch.Tensor:
    return torch.tensor(x, dtype=getattr(torch, dt) if isinstance(dt, str) else dt, device=D, **kwargs)


def F(n: int, start: float = 0.0) -> torch.Tensor:
    """start, start+1, ... as float32 on the device."""
    return torch.arange(n, dtype=torch.float32, device=D) + start


# ------------------------------------------------------------------ comparison

_RTOL = {"float16": 1e-3, "bfloat16": 1e-3, "complex32": 1e-3, "float64": 1e-10, "complex128": 1e-10}


def differ(
    real: Any, sim: Any, other_words: frozenset[str] = frozenset(), rtol: float = 1e-6, path: str = ""
) -> str | None:
    """None when the outcomes agree, else where and how they do not.

    Of messages the first 60 characters count, but not at the paths in `other_words`, nor where `real` has no
    message.
    """
    if isinstance(real, dict) and isinstance(sim, dict):
        if "exc" in real or "exc" in sim:
            if real.get("exc") != sim.get("exc"):
                return f"{path or 'outcome'}: {_brief(real)} / {_brief(sim)}"
            words = [str(d.get("msg", ""))[:60] for d in (real, sim)]
            if words[0] != words[1] and "msg" in real and path not in other_words:
                return f"{path or 'outcome'}: message {words[0]!r} / {words[1]!r}"
            real, sim = ({k: v for k, v in d.items() if k not in ("exc", "msg")} for d in (real, sim))
        if set(real) != set(sim):
            return f"{path}: keys {sorted(real)} / {sorted(sim)}"
        rtol = _RTOL.get(real.get("dt"), 1e-6) if "dt" in real else rtol
        steps = [(real[k], sim[k], f"{path}.{k}" if path else k) for k in real]
    elif isinstance(real, list) and isinstance(sim, list):
        if len(real) != len(sim):
            return f"{path}: length {len(real)} / {len(sim)}"
        steps = [(x, y, f"{path}[{i}]") for i, (x, y) in enumerate(zip(real, sim, strict=True))]
    elif type(real) is float and type(sim) is float:
        same = math.isclose(real, sim, rel_tol=rtol, abs_tol=0.0)
        return None if same else f"{path}: {real!r} / {sim!r}"
    else:
        same = type(real) is type(sim) and real == sim
        return None if same else f"{path}: {_brief(real)} / {_brief(sim)}"
    return next((d for d in (differ(x, y, other_words, rtol, p) for x, y, p in steps) if d), None)


def _brief(x: Any) -> str:
    s = json.dumps(x)
    return s if len(s) <= 150 else s[:150] + "..."
