"""Threads, blocks, barriers and warps: who runs, who meets, what is said when they do not."""

from __future__ import annotations

import numpy as np
import pytest

from grader.simgpu.grid import abi

from .conftest import found

FIBERS = {"mode": abi.FIBERS}


@pytest.mark.parametrize("mode", [abi.LOOP, abi.FIBERS, abi.COOPERATIVE])
@pytest.mark.parametrize(
    ("grid", "block"),
    [((3,), (5,)), ((2, 3), (4, 2, 3)), ((1, 2, 3), (33, 2)), ((1,), (1024,)), ((7,), (1,))],
)
def test_every_thread_of_the_grid_runs_once(launch, floats, grid, block, mode):
    x = floats(int(np.prod(grid) * np.prod(block)))
    assert launch("where_am_i", grid, block, [x], mode=mode).report.outcome == abi.OK
    assert x.tolist() == [1.0] * x.size


@pytest.mark.parametrize("threads", [32, 64, 256, 1024])
def test_a_block_meets_at_its_barriers(launch, floats, threads):
    x, sums = floats(5 * threads), floats(5)
    x[:] = np.random.default_rng(0).integers(0, 9, x.size)
    result = launch("block_sum", 5, threads, [x, sums], shared_bytes=4 * threads, **FIBERS)
    assert result.report.outcome == abi.OK
    assert sums.tolist() == x.reshape(5, threads).sum(1).tolist()
    assert result.report.n_findings == 0


def test_a_barrier_counts_predicates_and_threads(launch, floats):
    x = floats(100)
    launch("counted", 1, 100, [x], **FIBERS)
    assert set(x) == {34 + 100_000}


def test_threads_that_end_while_others_wait_are_found_and_the_others_go_on(launch, floats):
    x = floats(64)
    result = launch("some_leave", 1, 64, [x], **FIBERS)
    assert x.sum() == 40
    (finding,) = result.report.findings[: result.report.n_findings]
    assert (finding.kind, finding.site_a, finding.b.thread[0]) == (abi.BARRIER_LEFT, 1, 40)


def test_different_barriers_are_found(launch):
    assert found(launch("two_barriers", 1, 64, **FIBERS), abi.BARRIER_LINES) == [(1, 2)]


def test_shared_memory_is_unusable_until_written_in_every_block(launch, floats):
    x = floats(3 * 32)
    launch("unwritten_shared", 3, 32, [x], shared_bytes=128, **FIBERS)
    assert np.isnan(x).all()


def test_the_whole_grid_meets_and_each_block_keeps_its_shared_memory(launch, floats):
    x, y = floats(256), floats(256)
    result = launch("whole_grid", 4, 64, [x, y], mode=abi.COOPERATIVE, shared_bytes=256)
    assert y.tolist() == [1000.0 + i for i in range(255, -1, -1)]
    assert result.report.n_findings == 0
    assert found(launch("whole_grid_without_sync", 4, 64, [x, y], mode=abi.COOPERATIVE)) == [(1, 3), (3, 1)]


def test_lanes_of_a_warp_exchange_values(launch, floats):
    x = floats(96)
    assert launch("lane_sum", 1, 96, [x], **FIBERS).report.n_findings == 0
    assert x.reshape(3, 32)[:, 0].tolist() == [496.0, 1520.0, 2544.0]


def test_parts_of_a_warp_meet_apart(launch, floats):
    x = floats(32)
    assert launch("half_warps", 1, 32, [x], **FIBERS).report.n_findings == 0
    assert x.tolist() == [*range(1, 16), 0, *range(17, 32), 16]


def test_lanes_that_a_mask_names_and_that_do_not_come_are_found(launch):
    result = launch("lanes_do_not_come", 1, 32, **FIBERS)
    assert result.report.outcome == abi.OK
    assert found(result, abi.WARP_DIVERGED) == [(1, 2)]


def test_the_active_mask_names_the_lanes_of_the_branch(launch, floats):
    x = floats(64)
    launch("active", 1, 64, [x], **FIBERS)
    assert x[::4].tolist() == [8.0] * 16
