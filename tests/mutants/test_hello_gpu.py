import pytest
import torch

from grader.check import Reason, Values

ID = "hello-gpu"


def mutates(values):
    for i in range(len(values)):
        values[i] = 2 * values[i]
    return (torch.tensor(values, device="cuda") * 1).tolist()


def first_only(values):
    t = torch.tensor(values, device="cuda")
    return (2 * t[:1]).tolist()


def skips_tail(values):
    t = torch.tensor(values, device="cuda")
    n = len(values) // 32 * 32 if len(values) > 32 else len(values)
    t[:n] = 2 * t[:n]
    return t.tolist()


def remembers():
    seen = {}

    def double(values):
        return seen.setdefault(len(values), (2 * torch.tensor(values, device="cuda")).tolist())

    return double


def previous():
    last = [0.0]

    def double(values):
        nonlocal last
        old, last = last, (2 * torch.tensor(values, device="cuda")).tolist()
        return (old * (len(values) + 1))[: len(values)]

    return double


class AlwaysEqual(list):
    def __eq__(self, other):
        return True

    __hash__ = None


MUTANTS = {
    "on the CPU": (
        lambda: lambda values: (2 * torch.tensor(values)).tolist(),
        Values.WRONG,
        Reason.NOT_ON_GPU,
    ),
    "in Python": (lambda: lambda values: [2 * v for v in values], Values.WRONG, Reason.NOT_ON_GPU),
    "doubled on the host, then sent": (
        lambda: lambda values: torch.tensor([2 * v for v in values], device="cuda").tolist(),
        Values.WRONG,
        Reason.NOT_ON_GPU,
    ),
    "a tensor, not a list": (
        lambda: lambda values: 2 * torch.tensor(values, device="cuda"),
        Values.WRONG,
        Reason.NOT_A_LIST,
    ),
    "a list of tensors": (
        lambda: lambda values: list(2 * torch.tensor(values, device="cuda")),
        Values.WRONG,
        Reason.NOT_A_LIST,
    ),
    "the type double": (
        lambda: lambda values: torch.tensor(values, device="cuda").double().tolist(),
        Values.WRONG,
        Reason.VALUE,
    ),
    "squared": (
        lambda: lambda values: (torch.tensor(values, device="cuda") ** 2).tolist(),
        Values.WRONG,
        Reason.VALUE,
    ),
    "half precision": (
        lambda: lambda values: (2 * torch.tensor(values, device="cuda", dtype=torch.float16)).tolist(),
        Values.WRONG,
        Reason.PRECISION,
    ),
    "forgets return": (
        lambda: lambda values: (2 * torch.tensor(values, device="cuda")).tolist() and None,
        Values.WRONG,
        Reason.NOT_A_LIST,
    ),
    "numpy() on the GPU": (
        lambda: lambda values: (2 * torch.tensor(values, device="cuda")).numpy().tolist(),
        Values.ERROR,
        Reason.RAISED,
    ),
    "a list has no .to": (
        lambda: lambda values: (2 * values.to("cuda")).tolist(),
        Values.ERROR,
        Reason.RAISED,
    ),
    "changes the list": (lambda: mutates, Values.UNSAFE, Reason.INPUT_CHANGED),
    "one element": (lambda: first_only, Values.WRONG, Reason.SHAPE),
    "zeros": (
        lambda: lambda values: torch.zeros(len(values), device="cuda").tolist(),
        Values.WRONG,
        Reason.VALUE,
    ),
    "a constant": (
        lambda: lambda values: torch.full((len(values),), 3.0, device="cuda").tolist(),
        Values.WRONG,
        Reason.VALUE,
    ),
    "the input itself": (lambda: lambda values: values, Values.WRONG, Reason.VALUE),
    "tail": (lambda: skips_tail, Values.WRONG, Reason.TAIL),
    "the answer of before": (previous, Values.WRONG, Reason.REMEMBERED),
    "remembers by length": (remembers, Values.WRONG, Reason.REMEMBERED),
    "always equal": (lambda: lambda values: AlwaysEqual(), Values.WRONG, Reason.NOT_A_LIST),
    "ends the program": (lambda: lambda values: exit(), Values.ERROR, Reason.RAISED),
    "an ellipsis": (lambda: lambda values: ..., Values.WRONG, Reason.NOT_A_LIST),
}

HONEST = {
    "cuda()": lambda: lambda values: (torch.tensor(values).cuda() * 2).tolist(),
    "t + t, through the host": lambda: (
        lambda values: (lambda t: (t + t).cpu().tolist())(torch.tensor(values, device="cuda"))
    ),
    "in place on its own tensor": lambda: (
        lambda values: torch.tensor(values, device="cuda:0").mul_(2).tolist()
    ),
    "to(device), numpy": lambda: (
        lambda values: torch.mul(torch.tensor(values).to("cuda"), 2).cpu().numpy().tolist()
    ),
    "items one by one": lambda: lambda values: [v.item() for v in 2 * torch.tensor(values, device="cuda")],
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_rejected_for_its_own_reason(name, rejected):
    rejected(ID, *MUTANTS[name])


@pytest.mark.parametrize("name", HONEST)
def test_honest_variation_passes(name, accepted):
    accepted(ID, HONEST[name])
