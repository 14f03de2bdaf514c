"""Two threads, the same bytes, one writes, nothing orders them: found; the corrected twin is quiet."""

from __future__ import annotations

import pytest

from grader.simgpu.grid import abi

from .conftest import found

FIBERS = {"mode": abi.FIBERS, "shared_bytes": 1024}


@pytest.mark.parametrize(
    ("kernel", "grid", "sites"),
    [
        ("same_element", 1, [(2, 2)]),  # write, write
        ("left_neighbour", 1, [(2, 3), (3, 2)]),  # write, read; and, of the last, the other way round
        ("right_neighbour", 1, [(1, 2), (2, 1)]),  # read, write
        ("blocks_share", 3, [(1, 1)]),
        ("atomic_and_plain", 1, [(1, 2), (2, 1)]),
        ("not_fenced", 4, [(1, 3)]),
        ("bytes_twice", 1, [(1, 1)]),
        ("a_word_over_bytes", 1, [(1, 2)]),
        ("wide_overlap", 1, [(1, 1)]),
    ],
)
def test_found(launch, floats, kernel, grid, sites):
    threads = 1 if kernel == "not_fenced" else 64
    assert found(launch(kernel, grid, threads, [floats(512), floats(512)])) == sites


@pytest.mark.parametrize(
    ("kernel", "grid"),
    [
        ("add", 4),
        ("own_element_twice", 1),
        ("blocks_share", 1),
        ("all_read_one", 4),
        ("atomics", 4),
        ("read_then_swap", 4),
        ("fenced", 4),
        ("bytes_of_words", 4),
        ("halves", 1),
        ("wide", 1),
    ],
)
def test_quiet(launch, floats, kernel, grid):
    threads = 1 if kernel == "fenced" else 64
    assert found(launch(kernel, grid, threads, [floats(512), floats(512)])) == []


def test_barriers_order_what_is_on_their_two_sides(launch, floats):
    x, sums = floats(256), floats(4)
    assert found(launch("block_sum", 4, 64, [x, sums], **FIBERS)) == []
    sites = found(launch("block_sum_without_inner_barrier", 4, 64, [x, sums], **FIBERS))
    assert (5, 6) in sites or (6, 5) in sites


def test_a_warp_needs_its_barrier_too(launch):
    assert found(launch("warp_shares", 1, 64, **FIBERS)) == [(1, 2), (2, 1)]
    assert found(launch("warp_shares_synced", 1, 64, **FIBERS)) == []


def test_launches_do_not_race_with_each_other(launch, floats):
    x = floats(64)
    for _ in range(3):
        assert found(launch("own_element_twice", 1, 64, [x])) == []
        assert found(launch("blocks_share", 1, 1, [x])) == []


def test_a_finding_names_both_threads_and_the_address(launch, floats):
    x = floats(64)
    result = launch("blocks_share", (2, 2), 2, [x])
    finding = result.report.findings[0]
    assert (list(finding.a.block), list(finding.b.block)) == ([0, 0, 0], [1, 0, 0])
    assert (list(finding.b.thread), finding.address) == ([0, 0, 0], x.ctypes.data)
    assert (finding.write_a, finding.write_b, finding.space) == (1, 1, abi.GLOBAL)


def test_untracked_launches_find_nothing(launch, floats):
    assert found(launch("same_element", 1, 64, [floats(64), floats(64)], flags=0)) == []


def test_many_launches_leave_findings_exact(launch, floats):
    """The records say which launch they are of in 16 bits."""
    x = floats(64)
    for _ in range(66_000):
        launch("nothing", 1, 1)
    assert found(launch("own_element_twice", 1, 64, [x])) == []
    assert found(launch("right_neighbour", 1, 64, [x])) == [(1, 2), (2, 1)]
