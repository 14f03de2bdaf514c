"""The simulated GPU gives what a real one gave, program by program."""

from __future__ import annotations

import pytest
import torch

from grader import simgpu

from . import harness

PROGRAMS = harness.load_programs()
RECORDINGS = harness.recordings()

# Messages that other versions of PyTorch than the recording's word differently: where in the outcome.
# outcome.
OTHER_WORDS = {
    "make/devices_that_do_not_exist": frozenset({"[8]", "[9]"}),
    "ops/reduction_errors": frozenset({"[8]"}),
}

# What a newer PyTorch than the recording's does otherwise, on a real GPU too.
SINCE_THEN = {}
if hasattr(torch, "bcomplex32"):
    SINCE_THEN["jit-more/promotion_table"] = "since 2.14, bfloat16 and a complex number give bcomplex32"

# What the simulated GPU does not reproduce, and why.
DIFFERENCES = {
    "ops/embedding_out_of_range_on_the_device": (
        "an index out of range raises IndexError at once, where a GPU fails later and for good: nothing that "
        "a learner writes may ruin the process"
    ),
}


@pytest.fixture
def simulated():
    with simgpu.simulated():
        yield


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_outcome_is_that_of_a_real_gpu(name):
    program = PROGRAMS[name]
    if name in SINCE_THEN:
        pytest.skip(SINCE_THEN[name])
    got = harness.outcome(program)
    if name not in RECORDINGS:
        assert not program.recorded, f"{name} claims to be recorded, but h200.json has no outcome for it"
        _stands_on_its_own(name, got)
        pytest.skip(f"{name}: no recording on a real GPU yet; run record.py on one")
    assert program.recorded, f"{name} is recorded in h200.json: take recorded=False off it"
    difference = harness.differ(RECORDINGS[name], got, OTHER_WORDS.get(name, frozenset()))
    if name in DIFFERENCES:
        assert difference is not None, f"{name} agrees now: take it off DIFFERENCES"
    else:
        assert difference is None, f"{name}, real / simulated: {difference}"


if not simgpu.is_simulated():

    # An index out of range costs a real GPU's context, and with it every test that follows.
    @pytest.mark.parametrize("name", sorted(set(RECORDINGS) - set(DIFFERENCES)))
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
    assert set(OTHER_WORDS) | set(DIFFERENCES) <= set(PROGRAMS)


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
        ({"ok": 1}, {"exc": "TypeError", "msg": ""}, "TypeError"),
        (True, 1, "true"),
    ],
)
def test_the_comparison_sees_differences(real, sim, where):
    assert where in harness.differ(real, sim)
    assert harness.differ(real, real) is None
