"""Tests run on the simulated GPU unless GRADER_GPU=real says otherwise, and leave the progress file alone.

Tests marked `device` state what holds on any GPU: `make test-gpu` runs them on a real one.
"""

import os
import threading
import time

import pytest

os.environ.setdefault("GRADER_GPU", "sim")
os.environ.setdefault("OMP_NUM_THREADS", "2")

# Tests that hold on the real and on the simulated GPU alike.
ON_ANY_DEVICE = (
    "tests/parity/test_parity.py",
    "tests/simgpu_jiterator/test_facts.py",
    "tests/simgpu_jiterator/test_bodies.py",
    "tests/check/",
    "tests/exercises/",
    "tests/mutants/",
)


def pytest_collection_modifyitems(items):
    for item in items:
        if any(part in item.path.as_posix() for part in ON_ANY_DEVICE):
            item.add_marker(pytest.mark.device)


@pytest.fixture(autouse=True, scope="session")
def _progress_elsewhere(tmp_path_factory):
    kept = os.environ.get("GRADER_PROGRESS")
    os.environ["GRADER_PROGRESS"] = str(tmp_path_factory.mktemp("progress") / "progress.json")
    yield
    if kept is None:
        del os.environ["GRADER_PROGRESS"]
    else:
        os.environ["GRADER_PROGRESS"] = kept


class Notebook:
    """A Jupyter kernel on the simulated GPU, which runs cells."""

    def __init__(self):
        from jupyter_client.manager import start_new_kernel

        self.manager, self.client = start_new_kernel(
            kernel_name="python3", env={**os.environ, "GRADER_GPU": "sim", "PYTHONWARNINGS": "ignore"}
        )

    def run(self, code: str, interrupt: float | None = None) -> str:
        """What the cell prints, and "Name: text" of the exception that it ends with.

        interrupt: seconds after which the kernel is interrupted, as by a click on Jupyter's stop button.
        """
        message, shown, end = self.client.execute(code), [], time.monotonic() + 120
        if interrupt is not None:
            threading.Timer(interrupt, self.manager.interrupt_kernel).start()
        while time.monotonic() < end:
            reply = self.client.get_iopub_msg(timeout=120)
            if reply["parent_header"].get("msg_id") != message:
                continue
            content = reply["content"]
            if reply["msg_type"] == "stream":
                shown.append(content["text"])  # one print may come in several messages
            if reply["msg_type"] == "error":
                shown.append(f"{content['ename']}: {content['evalue']}")
            if reply["msg_type"] == "status" and content["execution_state"] == "idle":
                return "".join(shown).strip()
        raise TimeoutError(code)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def notebook(request):
    """A Notebook that has run the module's SETUP."""
    book = Notebook()
    try:
        assert "Error" not in book.run(request.module.SETUP)
        yield book
    finally:
        book.close()
