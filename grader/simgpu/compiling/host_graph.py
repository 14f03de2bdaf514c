"""A graph of the device's, compiled by Inductor for the memory behind its tensors.

The graph that TorchDynamo hands over names cuda:0. A copy of it that names the host goes to Inductor; for the
length of a call the simulated tensors among its inputs are plain ones, and its results are marked where the
device's graph would have left them on the device. What cannot be compiled this way runs as it is.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_map

from grader.simgpu import rng, tracking
from grader.simgpu.compiling import kernels
from grader.simgpu.compiling.on_host import as_host_tensors, on_host_tensors
from grader.simgpu.tensors import mark

_inductor = torch._TorchCompileInductorWrapper.__call__
_HOST = torch.device("cpu")
_MOVES = {"to", "cuda"}
# Options that only mean something for Triton, or that search for minutes on a CPU.
_DEVICES_OPTIONS = ("triton.", "max_autotune", "coordinate_descent", "cuda.", "cutlass.")


class NotForTheHost(Exception):
    """The graph does something that has no counterpart among host tensors."""


def inductor(self, model_, inputs_, *, config_patches=None):
    """What torch.compile calls with each graph for the backend "inductor"; the graph's compiled function."""
    if not _on_device(model_, inputs_):
        return _inductor(self, model_, inputs_, config_patches=config_patches)
    options = {**self.config, **(config_patches or {})}
    options = {k: v for k, v in options.items() if not k.startswith(_DEVICES_OPTIONS)}
    return _compiled(functools.partial(kernels.compiled_for_device, options=options), model_, inputs_)


def of_autograds_backend(call: Callable) -> Callable:
    """For `AotAutograd.__call__`, behind the backends "aot_eager", "cudagraphs" and their kind."""

    @functools.wraps(call)
    def compile_graph(self, graph, inputs, **kwargs):
        if not isinstance(graph, GraphModule) or not _on_device(graph, inputs):
            return call(self, graph, inputs, **kwargs)
        own = type(self)(**self.kwargs)
        backward = self.kwargs.get("bw_compiler") or self.kwargs["fw_compiler"]
        own.kwargs["bw_compiler"] = lambda *args, **kw: on_host_tensors(backward(*args, **kw))
        return _compiled(functools.partial(call, own), graph, inputs)

    return compile_graph


def _compiled(compiler: Callable, graph: GraphModule, inputs: Sequence[Any]) -> Callable:
    from torch._dynamo.exc import RestartAnalysis, SkipFrame

    try:
        compiled = compiler(_for_host(graph), _host_inputs(graph, inputs))
    except (RestartAnalysis, SkipFrame):
        raise  # Dynamo's own: it begins again
    except Exception:
        return _marking(graph.forward, graph)  # no C++ compiler, or nothing that makes sense on the host
    draws = any(map(_draws, graph.graph.nodes))

    def call(*inputs):
        drawing = rng.borrowed() if draws else contextlib.nullcontext()
        with as_host_tensors(inputs), drawing, tracking.maybe():
            return compiled(*inputs)

    return _marking(call, graph)


def _marking(call: Callable, graph: GraphModule) -> Callable:
    """`call`, its results marked where those of `graph` are on the device."""
    (results,) = graph.graph.find_nodes(op="output")[0].args
    on_device = [_is_on_device(node) for node in results]

    def marked(*inputs):
        outputs = call(*inputs)
        for out, simulated in zip(outputs, on_device, strict=True):
            if simulated:
                mark(out)
        return outputs

    return marked


# ------------------------------------------------------------------ the graph


def _example(node: Any) -> Any:
    return node.meta.get("example_value") if isinstance(node, Node) else None


def _is_on_device(node: Any) -> bool:
    value = _example(node)
    return isinstance(value, torch.Tensor) and value.device.type == "cuda"


def _is_hosts(node: Node) -> bool:
    value = _example(node)
    if not isinstance(value, torch.Tensor) or torch._C._functorch.is_functorch_wrapped_tensor(value):
        return False
    return value.device.type != "cuda"


def _on_device(graph: GraphModule, inputs: Sequence[Any]) -> bool:
    return any(isinstance(t, torch.Tensor) and t.device.type == "cuda" for t in inputs) or any(
        _is_on_device(node) for node in graph.graph.nodes
    )


def _draws(node: Node) -> bool:
    if node.op == "call_method":
        return rng.is_random_name(node.target)
    return node.op == "call_function" and rng.is_random(node.target)


def _for_host(module: GraphModule) -> GraphModule:
    if torch.is_autocast_enabled("cuda"):
        raise NotForTheHost("autocast has other rules on the host")
    graph = copy.deepcopy(module.graph)
    parts = {}
    for node, original in zip(graph.nodes, module.graph.nodes, strict=True):
        if node.op in ("call_function", "call_method"):
            _rewrite(node)
        elif node.op == "get_attr":  # the body of a higher-order operator
            part = getattr(module, node.target)
            if not isinstance(part, GraphModule):
                raise NotForTheHost("a constant tensor")
            parts[node.target] = _for_host(part)
        elif hasattr(original, "_dynamo_source"):
            node._dynamo_source = original._dynamo_source
    for node in graph.nodes:
        node.meta.pop("example_value", None)  # it is on cuda:0
    translated = GraphModule({name: getattr(module, name) for name in parts}, graph)
    for name, part in parts.items():
        setattr(translated, name, part)
    translated.meta = dict(module.meta)
    return translated


def _is_learners(target: Any) -> bool:
    """Is it an operator of `torch.library`? Its kernel asks for tensors on the device."""
    packet = getattr(target, "overloadpacket", target)
    name = getattr(packet, "_qualified_op_name", "")
    return bool(name) and name.partition("::")[0] not in ("aten", "prim", "prims")


def _rewrite(node: Node) -> None:
    if "autocast" in str(node.target) or _is_learners(node.target):
        raise NotForTheHost(f"{node.target} has other rules on the host")
    if _is_hosts(node):
        raise NotForTheHost("a copy to the host, which waits for the device, or work of the host's own")
    moves = node.op == "call_method" and node.target in _MOVES
    if moves and any(map(_is_hosts, node.all_input_nodes)):
        raise NotForTheHost("a copy to the device")
    node.args = tree_map(_named_on_host, node.args)
    node.kwargs = tree_map(_named_on_host, dict(node.kwargs))
    if isinstance(node.kwargs.get("device"), (str, int)):
        node.kwargs = {**node.kwargs, "device": _HOST}
    if moves:
        _rewrite_move(node)


def _named_on_host(value: Any) -> Any:
    return _HOST if isinstance(value, torch.device) and value.type == "cuda" else value


def _rewrite_move(node: Node) -> None:
    """`.to` and `.cuda` of a tensor that is on the device already."""
    source, *rest = node.args
    if node.target == "cuda":
        node.target, rest = "to", [_HOST]
        node.kwargs = {k: v for k, v in node.kwargs.items() if k == "memory_format"}
    elif rest and isinstance(rest[0], (str, int)) and not isinstance(rest[0], bool):
        rest[0] = _HOST
    node.args = (source, *rest)


def _host_inputs(module: GraphModule, inputs: Sequence[Any]) -> list:
    """The example inputs, as Dynamo's fake tensors, on the host."""
    examples = [_example(node) for node in module.graph.find_nodes(op="placeholder")]
    fakes = [t for t in examples if isinstance(t, torch.Tensor)]
    if any(t.device.type == "cpu" and t.dim() for t in fakes):
        raise NotForTheHost("an input on the host")  # 0-dim ones are numbers to the device
    if len({t.untyped_storage()._cdata for t in fakes}) < len(fakes):
        raise NotForTheHost("inputs that share memory")
    pairs = zip(examples, inputs, strict=True)
    return [_host_input(fake) if isinstance(fake, torch.Tensor) else given for fake, given in pairs]


def _host_input(fake: torch.Tensor) -> torch.Tensor:
    with fake.fake_mode, torch.no_grad():
        made = torch.empty_strided(fake.size(), fake.stride(), dtype=fake.dtype, device=_HOST)
    return made.requires_grad_(fake.requires_grad)
