"""Code of the host's C++ compiler: what jiterator kernels, CUDA C++ and numba kernels share.

compiler.py   which compiler, with which flags
cache.py      compiled libraries on disk
libraries.py  our own libraries: built once for a machine (__main__.py: ahead), loaded once for a process
cpp/          guard.cpp runs code that may loop for ever or divide by zero; the headers are what CUDA's
              functions do on the host
"""
