"""Runs a kernel over a grid of blocks of threads on the host; numba kernels and CUDA C++ share it.

abi.py      the structs of cpp/abi.h
runtime.py  one launch: starts it, ends it, says what happened
cpp/        access.cpp: bounds, alignment, races (log.h while a launch is regular, shadow.h else), sectors
            (sites.h); blocks.cpp: threads that meet at barriers (block.h), each on a stack of its own
            (fibers.h, switch.h)
"""
