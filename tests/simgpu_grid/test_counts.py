"""Bytes and 32-byte sectors are counted, not estimated."""

from __future__ import annotations

import pytest

from grader.simgpu.grid import abi

COUNT = abi.TRACK | abi.SECTORS


def test_distinct_bytes(launch, floats):
    x, y = floats(256), floats(256)
    result = launch("add", 4, 64, [x, y], flags=COUNT)
    assert [(m.bytes_read, m.bytes_written) for m in result.memory] == [(1024, 0), (0, 1024)]
    result = launch("all_read_one", 4, 64, [x], flags=COUNT)
    assert result.memory[0].bytes_read == 4
    result = launch("bytes_of_words", 1, 64, [x], flags=COUNT)
    assert result.memory[0].bytes_written == 64


def test_the_range_that_was_touched(launch, floats):
    x, y, unused = floats(256), floats(256), floats(8)
    result = launch("add", 1, 64, [x, y, unused])
    read, written, neither = result.memory
    start = x.ctypes.data
    assert (read.read_low, read.read_high) == (start, start + 256)
    assert (written.write_low, written.write_high) == (y.ctypes.data, y.ctypes.data + 256)
    assert neither.read_low > neither.read_high and neither.write_low > neither.write_high


@pytest.mark.parametrize(
    ("kernel", "threads", "warps", "sectors", "ideal"),
    [
        ("add", 64, 2, 8, 8),  # 32 neighbours, 4 bytes each: 4 sectors
        ("far_apart", 64, 2, 64, 8),  # one sector each
        ("one_for_all", 64, 2, 2, 2),  # one for all
        ("neighbours_swapped", 64, 2, 8, 8),  # the order within does not matter
        ("add", 40, 2, 5, 5),  # the second warp has 8 threads: one sector
        ("often", 32, 2000, 8000, 8000),  # a loop: each pass by itself
    ],
)
@pytest.mark.parametrize("mode", [abi.LOOP, abi.FIBERS])
def test_sectors_of_loads(launch, floats, kernel, threads, warps, sectors, ideal, mode):
    x, y = floats(2000 * 32 + 64), floats(1024)
    result = launch(kernel, 1, threads, [x, y], flags=COUNT, mode=mode)
    (loads,) = [s for s in result.sites if not s.write]
    assert (loads.site, loads.sectors, loads.ideal) == (1, sectors, ideal)
    if kernel != "often":
        assert loads.warps == warps


def test_shared_memory_has_no_sectors(launch, floats):
    x, sums = floats(256), floats(4)
    result = launch("block_sum", 4, 64, [x, sums], flags=COUNT, mode=abi.FIBERS, shared_bytes=256)
    assert sorted((s.site, s.write) for s in result.sites) == [(1, 0), (9, 1)]
