"""Random numbers: the device's generators are its own."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

D = "cuda"


def draws():
    f = torch.nn.functional
    return [
        torch.rand(3, device=D),
        torch.randn(3, device=D),
        torch.randint(0, 1000, (9,), device=D),
        torch.randperm(20, device=D),
        torch.bernoulli(torch.full((20,), 0.5, device=D)),
        f.dropout(torch.ones(20, device=D)),
        torch.empty(3, device=D).normal_(),
        torch.rand_like(torch.ones(3, device=D)),
        torch.multinomial(torch.ones(30, device=D), 5),
        torch.nn.init.xavier_uniform_(torch.empty(3, 3, device=D)),
        torch.normal(0.0, 1.0, (3,), device=D),
        f.gumbel_softmax(torch.zeros(9, device=D)),
        torch.ops.aten.rand([3], device=torch.device(D)),
    ]


def test_one_seed_gives_one_sequence():
    torch.manual_seed(3)
    a = draws()
    torch.manual_seed(3)
    b, c = draws(), draws()
    assert all(torch.equal(p, q) for p, q in zip(a, b, strict=True))
    assert not any(torch.equal(p, q) for p, q in zip(a, c, strict=True))
    assert all(t.is_cuda for t in a)


def test_the_hosts_sequence_goes_its_own_way():
    torch.manual_seed(0)
    alone = torch.rand(3)
    torch.manual_seed(0)
    on_device = torch.rand(3, device=D)
    draws()
    assert torch.equal(torch.rand(3), alone)
    assert not torch.equal(on_device.cpu(), alone)


def test_states():
    state = torch.cuda.get_rng_state()
    assert (state.dtype, state.shape, state.is_cuda) == (torch.uint8, (16,), False)
    a = torch.rand(3, device=D)
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(3, device=D), a)
    torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    with torch.random.fork_rng():
        torch.rand(3, device=D)
        inside = torch.cuda.get_rng_state()
    assert not torch.equal(inside, torch.cuda.get_rng_state())


def test_seeds_of_the_device():
    torch.cuda.manual_seed(7)
    a = torch.rand(2, device=D)
    torch.cuda.manual_seed_all(7)
    assert torch.equal(torch.rand(2, device=D), a)
    assert torch.cuda.initial_seed() == 7


def test_generators():
    g = torch.Generator(device=D)
    assert (
        isinstance(g, torch.Generator) and g.device.type == "cuda" and torch.Generator().device.type == "cpu"
    )
    a = torch.rand(3, device=D, generator=g.manual_seed(5))
    assert torch.equal(torch.empty(3, device=D).uniform_(generator=g.manual_seed(5)), a)
    assert g.initial_seed() == 5
    before = torch.cuda.get_rng_state()
    torch.randperm(4, device=D, generator=g)
    assert torch.equal(torch.cuda.get_rng_state(), before)


@pytest.mark.parametrize("device", ["cuda", "cuda:0"])
def test_a_generators_device_is_as_it_was_asked_for(device):
    g = torch.Generator(device)
    assert str(g.device) == str(g.clone_state().device) == device
    assert str(torch.cuda.default_generators[0].device) == "cuda:0"


class DrawsMeanwhile(TorchDispatchMode):
    """As another thread would: draws on the host before each operation."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        torch.empty(1).uniform_()
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.rand(3, device=D),
        lambda: torch.randperm(9, device=D),
        lambda: torch.empty(3, device=D).normal_(),
        lambda: torch.bernoulli(torch.full((9,), 0.5, device=D)),
        lambda: torch.nn.init.uniform_(torch.empty(3, device=D)),
    ],
)
def test_what_the_host_draws_meanwhile_changes_nothing(draw):
    torch.cuda.manual_seed(5)
    alone = draw()
    torch.cuda.manual_seed(5)
    with DrawsMeanwhile():
        together = draw()
    assert torch.equal(alone, together)


def test_generators_of_the_other_device_are_refused():
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.rand(3, device=D, generator=torch.Generator())
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
        torch.rand(3, generator=torch.Generator(device=D))


def test_bad_states_are_refused():
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        torch.cuda.set_rng_state(torch.zeros(3, dtype=torch.uint8))
    with pytest.raises(TypeError, match="RNG state must be a torch.ByteTensor"):
        torch.cuda.set_rng_state(torch.zeros(16))


def test_numbers_look_random():
    x = torch.randn(10000, device=D)
    assert abs(x.mean().item()) < 0.05 and abs(x.std().item() - 1) < 0.05
    assert len({torch.rand(1, device=D).item() for _ in range(200)}) == 200
