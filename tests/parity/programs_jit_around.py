"""jiterator: streams, threads, autograd around it."""

from __future__ import annotations

import copy
import threading

import torch

from .harness import D, E, F, J, V, case

SQ = "template <typename T> T sq(T x) { return x * x; }"


@case("jit-around/result_can_become_a_leaf")
def result_can_become_a_leaf():
    y = J(SQ)(F(3)).requires_grad_()
    (3 * y).sum().backward()
    return V(y.grad)


@case("jit-around/current_stream_is_left_alone")
def current_stream_is_left_alone():
    s, current = torch.cuda.Stream(), torch.cuda.current_stream
    with torch.cuda.stream(s):
        J(SQ)(F(3))
        inside = current() == s
    return [inside, current() == torch.cuda.default_stream()]


@case("jit-around/called_from_a_thread")
def called_from_a_thread():
    f, box = J(SQ), []
    t = threading.Thread(target=lambda: box.append(E(lambda: V(f(F(4))))))
    t.start()
    t.join()
    return box


@case("jit-around/copied_function")
def copied_function():
    f = J("template <typename T> T f(T x, T k) { return x * k; }", k=2.0)
    g = copy.deepcopy(f)
    g.kwargs_dict["k"] = 5.0
    return [V(f(F(2, 1))), V(g(F(2, 1)))]


@case("jit-around/chain_of_kernels")
def chain_of_kernels():
    f, x = J("template <typename T> T f(T x) { return x * T(0.5) + T(1); }"), F(4)
    for _ in range(20):
        x = f(x)
    return V(x)


@case("jit-around/feeds_a_module")
def feeds_a_module():
    lin = torch.nn.Linear(3, 2, device=D)
    with torch.no_grad():
        lin.weight.fill_(0.5)
        lin.bias.fill_(1.0)
    out = lin(J(SQ)(F(6).view(2, 3)))
    out.sum().backward()
    return [V(out), V(lin.weight.grad), V(lin.bias.grad)]
