"""`torch.autocast("cuda")` for simulated tensors: the cast policy of CUDA's autocast, by function name.

PyTorch applies the policy by dispatch key, and a simulated tensor carries the CPU's; so it is applied here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._C import DisableTorchFunctionSubclass as PlainTensors

from grader.simgpu.tensors import SimTensor, mark

_LOWER = {
    "__matmul__", "__rmatmul__", "_convolution", "addbmm", "addmm", "addmv", "addr", "baddbmm", "bilinear",
    "bmm", "chain_matmul", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "convolution", "einsum", "gru_cell", "linalg_multi_dot", "linear", "lstm_cell",
    "matmul", "mm", "multi_dot", "multi_head_attention_forward", "mv", "prelu", "rnn_relu_cell",
    "rnn_tanh_cell", "scaled_dot_product_attention",
}  # fmt: skip
_FLOAT32 = {
    "__pow__", "__rdiv__", "__rpow__", "__rtruediv__", "acos", "asin", "binary_cross_entropy_with_logits",
    "cdist", "cosh", "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "cumprod", "cumsum",
    "dist", "erfinv", "exp", "expm1", "gelu", "group_norm", "hinge_embedding_loss", "huber_loss", "kl_div",
    "l1_loss", "layer_norm", "log", "log10", "log1p", "log2", "log_softmax", "logsumexp",
    "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "native_layer_norm",
    "nll_loss", "norm", "nuclear_norm", "pdist", "poisson_nll_loss", "pow", "prod", "reciprocal", "renorm",
    "rms_norm", "rsqrt", "sinh", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus",
    "sum", "tan", "triplet_margin_loss", "upsample", "interpolate",
}  # fmt: skip
_WIDEST = {
    "addcdiv", "addcmul", "atan2", "bilinear", "cat", "concat", "concatenate", "cross", "dot", "grid_sample",
    "index_put", "scatter_add", "stack", "tensordot", "vdot",
}  # fmt: skip

_HALVES = (torch.float16, torch.bfloat16)


def cast(func: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments of `func` as CUDA's autocast would hand them on."""
    name = getattr(func, "__name__", "")
    if name in ("binary_cross_entropy",):
        raise RuntimeError(
            "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
            "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
            "In this case, combine the two layers using "
            "torch.nn.functional.binary_cross_entropy_with_logits\n"
            "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
            "safe to autocast."
        )
    if name in _LOWER:
        to = torch.get_autocast_dtype("cuda")
    elif name in _FLOAT32 and kwargs.get("dtype") is None:
        to = torch.float32
    elif name in _WIDEST:
        to = torch.float32 if _any_float32(args) else None
    else:
        to = None
    if to is None:
        return args, kwargs
    return tuple(_to(a, to) for a in args), {k: _to(v, to) for k, v in kwargs.items()}


def _any_float32(values: Any) -> bool:
    return any(
        _any_float32(v)
        if type(v) in (list, tuple)
        else isinstance(v, torch.Tensor) and v.dtype == torch.float32
        for v in values
    )


def _to(value: Any, dtype: torch.dtype) -> Any:
    if type(value) in (list, tuple):
        return type(value)(_to(v, dtype) for v in value)
    eligible = isinstance(value, SimTensor) and (value.dtype in _HALVES or value.dtype == torch.float32)
    if not eligible or value.dtype == dtype:
        return value
    with PlainTensors():
        return mark(torch.Tensor.to(value, dtype))
