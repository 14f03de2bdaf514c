"""What a finding says, where it points, and who gets it."""

import subprocess
import sys
import warnings

import pytest
import torch

from grader.simgpu import order


def race(x, s1, s2):
    with torch.cuda.stream(s1):
        x.fill_(4)
    with torch.cuda.stream(s2):
        y = x * 2
    return y


def a_race():
    x = torch.zeros(4, device="cuda")
    s1, s2 = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with order.collect() as found:
        with torch.cuda.stream(s1):
            x.fill_(4)
        with torch.cuda.stream(s2):
            y = x * 2
    torch.cuda.synchronize()
    del y
    return found


def test_a_finding_names_both_lines_the_streams_the_tensor_and_the_missing_wait():
    (finding,) = a_race()
    assert finding.kind == "read_before_write"
    assert finding.first.text == "x.fill_(4)"
    assert finding.second.text == "y = x * 2"
    assert (finding.tensor, finding.first_stream, finding.second_stream) == ("x", "stream s1", "stream s2")
    n = finding.second.number
    assert finding.text == (
        f"UNSAFE (race)   your line {n}: `y = x * 2` on stream s2 reads x\n"
        f"x is written by your line {finding.first.number}: `x.fill_(4)` on stream s1, "
        "and nothing makes stream s2 wait for it.\n"
        "On a real GPU this may look right today and be wrong under load. "
        f"Missing: s2.wait_stream(s1) before line {n} (or an event)."
    )


def test_it_is_warned_once_and_points_at_the_learners_line():
    x = torch.zeros(4, device="cuda")
    s1, s2 = torch.cuda.Stream(), torch.cuda.Stream()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            torch.cuda.synchronize()
            race(x, s1, s2)
        torch.cuda.synchronize()
    (warning,) = [w for w in caught if issubclass(w.category, order.HazardWarning)]
    assert warning.filename == __file__
    assert warning.lineno == race.__code__.co_firstlineno + 4
    assert len(order.findings()) == 1


def test_whoever_collects_gets_it_again_and_nothing_is_warned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(a_race()) == len(a_race()) == 1


def test_collectors_nest():
    with order.collect() as outer:
        inner = a_race()
    assert outer == inner


def test_the_default_stream_is_named_and_so_is_memory_without_a_name():
    s = torch.cuda.Stream()
    parts = {"w": torch.zeros(2, 3, device="cuda")}
    torch.cuda.synchronize()
    with order.collect() as found:
        parts["w"].add_(1)
        with torch.cuda.stream(s):
            parts["w"].clone()
    torch.cuda.synchronize()
    (finding,) = found
    assert finding.tensor == "a float32 tensor of shape (2, 3)"
    assert finding.first_stream == "the default stream"
    assert "s.wait_stream(torch.cuda.default_stream())" in finding.missing


def test_freed_memory_is_called_by_the_name_it_had():
    s = torch.cuda.Stream()
    batch = torch.full((4,), 1.0, device="cuda")
    torch.cuda.synchronize()
    with order.collect() as found:
        with torch.cuda.stream(s):
            total = batch.sum()
        del batch
        torch.full((4,), 2.0, device="cuda")
    torch.cuda.synchronize()
    assert [f.kind for f in found] == ["use_after_free"]
    assert found[0].tensor == "batch"
    assert "batch.record_stream(s)" in found[0].text
    assert total.item() == 8.0


def test_report_takes_the_findings_of_others():
    mine = order.Finding("shared_race", "tile", None, None, "thread 1", "thread 2", "a barrier", what="Both.")
    with order.collect() as found:
        order.report(mine)
        order.report(mine)
    assert found == [mine]
    assert mine.text.startswith("UNSAFE (race)   Both.\n")


@pytest.mark.parametrize("action", ["default", "error"])
def test_a_script_is_told_by_a_warning(tmp_path, action):
    script = tmp_path / "script.py"
    script.write_text(
        "import grader, torch\n"
        "x, s = torch.zeros(2, device='cuda'), torch.cuda.Stream()\n"
        "with torch.cuda.stream(s):\n"
        "    y = x + 1\n"
        "torch.cuda.synchronize()\n"
        "print(y.tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", action, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert "HazardWarning: UNSAFE (race)   your line 4: `y = x + 1` on stream s reads x" in done.stderr
    if action == "default":
        assert "script.py:4:" in done.stderr
        assert done.stdout == "[nan, nan]\n"
    else:
        assert done.returncode == 1
