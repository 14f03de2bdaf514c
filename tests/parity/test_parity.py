"""The simulated GPU gives what a real one gave, program by program."""

from __future__ import annotations

import importlib.util

import pytest
import torch

from grader import simgpu
from grader.simgpu.limits import LIMITS

from . import harness, record, recordings

PROGRAMS = harness.load_programs()
RECORDINGS = recordings.outcomes()

# Messages that other versions of PyTorch than the recording's word differently: where in the outcome.
OTHER_WORDS = {
    "make/devices_that_do_not_exist": frozenset({"[8]", "[9]"}),
    "ops/reduction_errors": frozenset({"[8]"}),
}

# What other versions of the libraries than the recording's do otherwise, on a real GPU too.
OTHER_VERSIONS = {}
if hasattr(torch, "bcomplex32"):
    OTHER_VERSIONS["jit-more/promotion_table"] = "since 2.14, bfloat16 and a complex number give bcomplex32"

if importlib.util.find_spec("numba_cuda") is None:
    OTHER_VERSIONS |= dict.fromkeys(
        (
            "numba-errors/a_tensor_of_the_host",
            "numba-errors/lists_dicts_and_sets",
            "numba-errors/pytorchs_streams_as_they_are",
            "numba-errors/sizes_that_are_not_constant",
            "numba-errors/too_many_threads_in_a_block",
            "numba-errors/writing_to_a_captured_array",
            "numba-errors/wrong_indices",
        ),
        "numba's built-in CUDA target, which numba-cuda replaces, says it otherwise",
    )
    # Its function for min(*numbers) does not fit CUDA's way of compiling; a real GPU makes no difference.
    OTHER_VERSIONS["numba-shared/reversed_within_each_block"] = (
        "numba 0.68's built-in CUDA target cannot compile min() and max() of two numbers"
    )

# What the simulated GPU does not reproduce: the name of the entry in `grader.limits()` that says why.
DIFFERENCES = {"numba-errors/one_element_too_far_says_nothing": "out of bounds"}


@pytest.fixture
def simulated():
    with simgpu.simulated():
        yield


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_outcome_is_that_of_a_real_gpu(name):
    program = PROGRAMS[name]
    if name in OTHER_VERSIONS:
        pytest.skip(OTHER_VERSIONS[name])
    got = harness.outcome(program)
    if name not in RECORDINGS:
        assert not program.recorded, f"{name} claims to be recorded, but h200.json has no outcome for it"
        if program.expect is harness.UNSURE:
            _stands_on_its_own(name, got)
            pytest.skip(f"{name}: neither expectation nor recording yet; make record-parity on a real GPU")
    else:
        assert program.recorded, f"{name} is recorded in h200.json: take recorded=False off it"
    real = RECORDINGS.get(name, program.expect)
    difference = harness.differ(real, got, OTHER_WORDS.get(name, frozenset()))
    if name in DIFFERENCES:
        assert difference is not None, f"{name} agrees now: take it off DIFFERENCES"
    else:
        assert difference is None, f"{name}, real / simulated: {difference}"


def test_expected_outcomes_are_the_recorded_ones():
    both = [n for n in RECORDINGS if n in PROGRAMS and PROGRAMS[n].expect is not harness.UNSURE]
    found = {n: harness.differ(PROGRAMS[n].expect, RECORDINGS[n]) for n in both}
    assert {n: d for n, d in found.items() if d} == {}


if not simgpu.is_simulated():

    @pytest.mark.parametrize("name", sorted(RECORDINGS))
    def test_this_gpu_gives_what_was_recorded(name):
        words = OTHER_WORDS.get(name, frozenset())
        difference = harness.differ(RECORDINGS[name], harness.outcome(PROGRAMS[name]), words)
        assert difference is None, f"{name}, recorded / here: {difference}"


def _stands_on_its_own(name: str, got) -> None:
    """Without a recording at least: the program ran to its end, and does so twice alike."""
    assert not (isinstance(got, dict) and {"exc", "msg"} <= set(got)), f"{name} raised {got}"
    again = harness.outcome(PROGRAMS[name])
    assert harness.differ(got, again) is None, f"{name} gives another outcome each time"


def test_every_recording_has_its_program():
    assert sorted(set(RECORDINGS) - set(PROGRAMS)) == []


def test_lists_of_exceptions_name_programs():
    assert set(OTHER_WORDS) | set(DIFFERENCES) | set(OTHER_VERSIONS) <= set(PROGRAMS)


@pytest.mark.parametrize("name", sorted(DIFFERENCES))
def test_differences_are_told_of_in_the_list_of_limits(name):
    assert DIFFERENCES[name] in {limit.name for limit in LIMITS}


def test_a_program_leaves_the_defaults_alone():
    before = torch.get_default_dtype(), torch.get_default_device()

    def rude():
        torch.set_default_dtype(torch.float64)
        torch.set_default_device("meta")

    harness.outcome(harness.Program("test/rude", rude, recorded=False))
    assert (torch.get_default_dtype(), torch.get_default_device()) == before


@pytest.mark.parametrize(
    ("real", "sim", "where"),
    [
        ([1, 2], [1, 3], "[1]"),
        ([1.0], [1.0 + 1e-4], "[0]"),
        ("nan", 0.0, "nan"),
        ({"dt": "float16", "v": [1.0]}, {"dt": "float16", "v": [1.01]}, "v[0]"),
        ({"dt": "float32"}, {"dt": "float64"}, "dt"),
        ({"exc": "TypeError", "msg": "a"}, {"exc": "RuntimeError", "msg": "a"}, "TypeError"),
        ({"exc": "TypeError", "msg": "a"}, {"exc": "TypeError", "msg": "b"}, "message"),
        ({"exc": "TypeError"}, {"exc": "RuntimeError", "msg": "a"}, "TypeError"),
        ({"ok": 1}, {"exc": "TypeError", "msg": ""}, "TypeError"),
        (True, 1, "true"),
    ],
)
def test_the_comparison_sees_differences(real, sim, where):
    assert where in harness.differ(real, sim)
    assert harness.differ(real, real) is None


def test_an_expected_exception_may_leave_its_words_open():
    assert harness.differ({"exc": "TypeError"}, {"exc": "TypeError", "msg": "of any words"}) is None


def test_recordings_say_what_they_were_made_on():
    for run in recordings.runs():
        assert {"gpu", "driver", "torch", "date"} <= set(run["on"])


def test_a_later_run_takes_the_place_of_an_earlier_ones_outcome(tmp_path, monkeypatch):
    monkeypatch.setattr(recordings, "FILE", tmp_path / "h200.json")
    old, new = {"gpu": "A"}, {"gpu": "B"}
    recordings.write([{"on": old, "outcomes": {"g/one": 1, "g/two": [2.5, "nan"]}}])
    recordings.add(new, {"g/two": None, "g/three": 3})
    assert recordings.outcomes() == {"g/one": 1, "g/two": None, "g/three": 3}
    assert [run["on"] for run in recordings.runs()] == [old, new]
    assert {'"g/one": 1', '"g/two": null'} <= set(recordings.FILE.read_text().splitlines())  # one a line


@pytest.mark.usefixtures("simulated")
def test_nothing_is_recorded_on_a_simulated_gpu():
    with pytest.raises(SystemExit, match="real GPU"):
        record.main([])


@pytest.mark.usefixtures("simulated")
def test_only_a_program_with_one_outcome_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(recordings, "FILE", tmp_path / "h200.json")
    recordings.write([])
    turns = iter(range(9))
    record.record(harness.Program("g/steady", lambda: torch.ones(1, device="cuda"), recorded=False), {})
    record.record(harness.Program("g/unsteady", lambda: next(turns), recorded=False), {})
    assert recordings.outcomes() == {"g/steady": {"dt": "float32", "shape": [1], "v": [1.0]}}
