"""Limits of a launch, as the H200 (and every GPU since 2012) has them."""

from __future__ import annotations

from collections.abc import Sequence

MOST_THREADS = 1024
MOST_IN_BLOCK = (1024, 1024, 64)
MOST_BLOCKS = (2**31 - 1, 65535, 65535)
SHARED_BYTES = 48 * 1024
SHARED_BYTES_OPTIN = 227 * 1024


def fits(grid: Sequence[int], block: Sequence[int]) -> bool:
    """Does the driver take a launch of `grid` blocks of `block` threads (x, y, z each)?"""
    return (
        all(1 <= n <= most for n, most in zip(grid, MOST_BLOCKS, strict=True))
        and all(1 <= n <= most for n, most in zip(block, MOST_IN_BLOCK, strict=True))
        and block[0] * block[1] * block[2] <= MOST_THREADS
    )
