"""What operations cost: bytes, arithmetic, size and what the cache still holds."""

import pytest
import torch

from grader.simgpu.clock import Device, costs, profiles

MIB = 1 << 20
TERA = 1e12


@pytest.fixture
def h200():
    return Device(profiles.H200)


def test_an_elementwise_operation_is_bound_by_the_bytes_it_moves(h200):
    cost = costs.torch_op("add", [("x", 512 * MIB), ("y", 512 * MIB)], [("out", 512 * MIB)], device=h200)
    assert cost.seconds == pytest.approx(3 * 512 * MIB / 4350e9)
    assert cost.bandwidth == pytest.approx(1)
    assert cost.room == 1


def test_an_operation_that_is_not_known_moves_its_bytes(h200):
    known = costs.torch_op("mul", [("x", 512 * MIB)], [("y", 512 * MIB)], device=h200)
    assert costs.torch_op("a_new_one", [("x", 512 * MIB)], [("y", 512 * MIB)], device=h200) == known


def test_sorting_takes_several_passes(h200):
    once = costs.torch_op("mul", [("x", 512 * MIB)], [("y", 512 * MIB)], device=h200)
    assert (
        costs.torch_op("sort", [("x", 512 * MIB)], [("y", 512 * MIB)], device=h200).seconds > 5 * once.seconds
    )


def test_what_was_just_written_is_read_from_the_cache(h200):
    cold = costs.torch_op("mul", [("x", 4 * MIB)], [("y", 4 * MIB)], device=h200)
    warm = costs.torch_op("mul", [("y", 4 * MIB)], [("x", 4 * MIB)], device=h200)
    assert warm.seconds < cold.seconds
    assert warm.bandwidth < cold.bandwidth
    costs.torch_op("fill_", [], [("big", 256 * MIB)], device=h200)
    assert costs.torch_op("mul", [("y", 4 * MIB)], [("x", 4 * MIB)], device=h200) == cold


def test_a_small_kernel_leaves_room(h200):
    small = costs.torch_op("add", [("x", 4096)], [("y", 4096)], device=h200)
    assert small.room < 0.01
    assert small.waves == 1


@pytest.mark.parametrize(
    "name, shapes, operations, inner",
    [
        ("mm", [(3, 5), (5, 7)], 2 * 3 * 5 * 7, 5),
        ("addmm", [(7,), (3, 5), (5, 7)], 2 * 3 * 5 * 7, 5),
        ("bmm", [(2, 3, 5), (2, 5, 7)], 2 * 2 * 3 * 5 * 7, 5),
        ("linear", [(4, 3, 5), (7, 5)], 2 * 4 * 3 * 5 * 7, 5),
        ("convolution", [(2, 3, 8, 8), (4, 3, 3, 3)], 2 * 2 * 4 * 64 * 27, 27),
        ("_scaled_dot_product_flash_attention", [(1, 2, 16, 8)] * 3, 4 * 2 * 16 * 16 * 8, 8),
    ],
)
def test_what_products_compute(name, shapes, operations, inner):
    found = costs.products.of(name, [torch.empty(shape) for shape in shapes])
    assert (found.operations, found.inner) == (operations, inner)


def test_a_strided_convolution_computes_at_fewer_places():
    image, weight = torch.empty(2, 3, 8, 8), torch.empty(4, 3, 3, 3)
    found = costs.products.of("convolution", [image, weight, None, [2, 2]])
    assert found.operations == 2 * 2 * 4 * 16 * 27


def test_a_product_with_a_vector_is_bound_by_memory():
    assert costs.products.of("mv", [torch.empty(3, 5), torch.empty(5)]) is None


def test_products_know_their_kind_of_number():
    def numbers(dtype):
        return costs.products.of("mm", [torch.empty(4, 4, dtype=dtype)] * 2).numbers

    kinds = [numbers(d) for d in (torch.float32, torch.bfloat16, torch.float64)]
    assert kinds == ["float32", "half", "float64"]
    try:
        torch.backends.cuda.matmul.allow_tf32 = True
        assert numbers(torch.float32) == "tf32"
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False


def test_arithmetic_bounds_a_kernel_that_computes_much(h200):
    n = 1 << 24
    cost = costs.kernel("jiterator", [("x", 4 * n)], [("y", 4 * n)], n, 2000, device=h200)
    assert cost.seconds == pytest.approx(n * 2000 / profiles.H200.mad)
    assert cost.bandwidth < 0.1
    assert cost.room == 1


def test_shared_memory_limits_how_many_blocks_run_at_once(h200):
    few = costs.kernel("numba", [], [("y", 4096)], 132 * 64, blocks=132, shared=0, device=h200)
    greedy = costs.kernel("numba", [], [("y", 4096)], 132 * 64, blocks=132, shared=200 << 10, device=h200)
    assert few.room < 0.1
    assert greedy.room == 1


def test_copies(h200):
    pinned = costs.copy(55_000_000, "h2d", pinned=True, device=h200)
    pageable = costs.copy(15_000_000, "h2d", pinned=False, device=h200)
    latency = profiles.H200.copy_latency
    assert pinned.seconds - latency == pytest.approx(1e-3) == pageable.seconds - latency
    assert not pinned.host_waits
    assert pageable.host_waits
    assert costs.copy(1, "h2d", pinned=True, blocking=True, device=h200).host_waits


def test_sleep_counts_cycles(h200):
    assert costs.sleep(1_980_000, device=h200).seconds == pytest.approx(1e-3)


@pytest.mark.parametrize(
    "name, profile", [("", profiles.H200), ("T4", profiles.T4), (" laptop ", profiles.LAPTOP)]
)
def test_the_profile_is_chosen_by_the_environment(monkeypatch, name, profile):
    monkeypatch.setenv("GRADER_GPU_PROFILE", name)
    assert profiles.chosen() is profile


def test_a_profile_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setenv("GRADER_GPU_PROFILE", "h100")
    with pytest.raises(ValueError, match="one of h200, t4, laptop"):
        profiles.chosen()


def test_the_slower_gpus_are_slower():
    def seconds(profile):
        device = Device(profile)
        return costs.torch_op("add", [("x", 512 * MIB)], [("y", 512 * MIB)], device=device).seconds

    assert seconds(profiles.H200) < seconds(profiles.T4)
    assert seconds(profiles.H200) < seconds(profiles.LAPTOP)
