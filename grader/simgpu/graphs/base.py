"""Stands for `torch._C._CUDAGraph`, on which PyTorch's own `torch/cuda/graphs.py` is built."""

from __future__ import annotations

import warnings
from typing import Any

from grader.simgpu import streams
from grader.simgpu.graphs import errors, pools
from grader.simgpu.graphs.capture import Capture
from grader.simgpu.graphs.dot import dot
from grader.simgpu.graphs.replay import Executable

_MODES = ("global", "thread_local", "relaxed")
_EMPTY = (
    "The CUDA Graph is empty. This usually means that the graph was attempted to be captured on wrong device "
    "or stream."
)


class CUDAGraph:
    """A graph of work: captured once, replayed often."""

    _capture: Capture | None = None
    _pool: pools.Pool | None = None
    _captured: Capture | None = None  # what a capture that ended well has noted
    _executable: Executable | None = None

    def __new__(cls, keep_graph: bool = False):
        graph = object.__new__(cls)
        graph._keep = bool(keep_graph)
        graph._registered = set()
        return graph

    def register_generator_state(self, generator: Any) -> None:
        self._registered.add(generator)

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        __tracebackhide__ = True
        if self._executable is not None:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. "
                "To capture a new graph, create a new instance."
            )
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, "
                f"got {capture_error_mode}"
            )
        stream = streams.current()
        if stream is streams.default():
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. "
                "(However, after capture, it's ok to replay them on the default stream.)"
            )
        if stream.capture is not None:
            stream.capture.failed = True
            raise errors.error("cudaErrorIllegalState")
        self._pool = pools.pool(pool)
        self._capture = Capture(stream, self._pool, capture_error_mode, self._registered)

    def capture_end(self) -> None:
        __tracebackhide__ = True
        capture, stream = self._capture, streams.current()
        if capture is None or stream is not capture.stream:
            raise RuntimeError("Capture must end on the same stream it began on.")
        self._capture = None
        capture.end()
        self._captured = capture
        if capture.is_empty():
            warnings.warn(_EMPTY, stacklevel=3)
        if not self._keep:
            self.instantiate()

    def instantiate(self) -> None:
        if self._captured is None:
            raise RuntimeError("capture_end() must have been called before calling instantiate")
        if self._executable is not None and not self._keep:
            raise RuntimeError("instantiate() is intended to be called by the user only when keep_graph=true")
        self._executable = Executable(self._captured)

    def replay(self) -> None:
        __tracebackhide__ = True
        if self._captured is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        if self._executable is None:
            self.instantiate()
        self._executable.replay()

    def reset(self) -> None:
        self._captured = self._executable = self._pool = None

    def pool(self) -> tuple[int, int]:
        if self._captured is None:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self._pool.handle

    def enable_debug_mode(self) -> None:
        pools.process.debugging = True

    def debug_dump(self, debug_path: str) -> None:
        if not (pools.process.debugging or self._keep):
            warnings.warn("CUDA Graphs debug not enabled, set with [graph].enable_debug_mode()", stacklevel=3)
            return
        warnings.warn("DEBUG: calling debug_dump()", stacklevel=3)
        if self._captured is not None:
            warnings.warn(f"DEBUG: calling cudaGraphDebugDotPrint() with {debug_path}", stacklevel=3)
            with open(debug_path, "w", encoding="utf-8") as file:
                file.write(dot(self._captured))

    def raw_cuda_graph(self) -> int:
        if not self._keep:
            raise RuntimeError(
                "You cannot access the raw cudaGraph_t instance unless CUDAGraph was initialized with "
                "keep_graph=true"
            )
        if self._captured is None:
            raise RuntimeError(
                "You cannot access the raw cudaGraph_t instance until capture_end() has been called"
            )
        return id(self._captured)

    def raw_cuda_graph_exec(self) -> int:
        if self._executable is None:
            raise RuntimeError(
                "You cannot access the raw cudaGraphExec_t instance until instantiate() has been called"
            )
        return id(self._executable)


CUDAGraph.__name__ = CUDAGraph.__qualname__ = "_CUDAGraph"
CUDAGraph.__module__ = "torch._C"
