"""jiterator: shapes, strides and broadcasting."""

from __future__ import annotations

import torch

from .harness import F, J, L, T, V, case

ID = "template <typename T> T id(T x) { return x; }"

ADD = "template <typename T> T add(T a, T b) { return a + b; }"


@case("jit-views/broadcast_from_the_left")
def broadcast_from_the_left():
    return L(J(ADD)(F(5), F(3).view(3, 1, 1).expand(3, 2, 1)))


@case("jit-views/zero_dim")
def zero_dim():
    r = J(ADD)(T(2.5), T(4.0))
    return [L(r), r.item(), r.dim()]


@case("jit-views/permuted_three_dims")
def permuted_three_dims():
    return L(J(ID)(F(24).view(2, 3, 4).permute(2, 0, 1)))


@case("jit-views/channels_last")
def channels_last():
    x = F(48).view(2, 3, 2, 4).contiguous(memory_format=torch.channels_last)
    r = J(ID)(x)
    return [L(r), r.is_contiguous(memory_format=torch.channels_last)]


@case("jit-views/real_view_of_complex")
def real_view_of_complex():
    z = T([1 + 2j, 3 - 4j])
    return [L(J(ID)(torch.view_as_real(z))), L(J(ID)(z.imag)), L(J(ADD)(z.real, z.imag))]


@case("jit-views/adjoint_is_taken_without_conjugation")
def adjoint_is_taken_without_conjugation():
    z = T([[1 + 2j, 3j], [4 + 0j, 5 - 1j]])
    return V(J(ID)(z.mH))
