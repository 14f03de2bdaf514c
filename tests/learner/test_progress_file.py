"""The progress file survives restarts, and never stands in the way."""

import json
import os
import threading

import pytest

from grader import progress_file
from grader.progress_file import Progress, Record


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "progress.json"


def test_nothing_done_yet_writes_nothing(path):
    assert Progress(path).records() == {}
    assert not path.exists()


def test_records_survive_a_restart(path):
    before = Progress(path)
    before.checked("jit-add", passed=False)
    before.checked("jit-add", passed=True)
    before.hint_shown("jit-add", 2)
    before.solution_shown("jit-saxpy")
    assert Progress(path).records() == {
        "jit-add": Record(attempts=2, passed=True, hints=2),
        "jit-saxpy": Record(solution_seen=True),
    }


def test_passed_stays_passed_and_hints_are_never_fewer(path):
    progress = Progress(path)
    progress.checked("jit-add", passed=True)
    progress.checked("jit-add", passed=False)
    progress.hint_shown("jit-add", 3)
    progress.hint_shown("jit-add", 1)
    assert progress.records()["jit-add"] == Record(attempts=2, passed=True, hints=3)


def test_two_notebooks_keep_each_others_records(path):
    one, two = Progress(path), Progress(path)
    one.records(), two.records()
    one.checked("jit-add", passed=True)
    two.checked("jit-saxpy", passed=True)
    assert set(Progress(path).records()) == {"jit-add", "jit-saxpy"}


def test_writing_leaves_no_other_file(path):
    Progress(path).checked("jit-add", passed=True)
    assert os.listdir(path.parent) == ["progress.json"]


DAMAGED = {
    "empty": b"",
    "cut": b'{"version": 1, "exerc',
    "not utf-8": b"\xff\xfe{",
    "a list": b"[1, 2]",
    "no exercises": b'{"version": 1}',
    "a field of the wrong type": b'{"version": 1, "exercises": {"jit-add": {"attempts": "3"}}}',
    "an unknown field": b'{"version": 1, "exercises": {"jit-add": {"grade": 1}}}',
    "a bare record": b'{"version": 1, "exercises": {"jit-add": 3}}',
    "nested without end": b"[" * 100_000,
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_damaged_file_is_put_aside_with_one_line(path, content, capsys):
    path.parent.mkdir()
    path.write_bytes(content)
    progress = Progress(path)
    progress.checked("jit-add", passed=True)
    progress.checked("jit-add", passed=True)
    assert progress.records() == Progress(path).records() == {"jit-add": Record(attempts=2, passed=True)}
    assert path.with_name("progress.json.damaged").read_bytes() == content
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "damaged" in said


def test_read_only_file_is_left_alone_and_the_session_remembers(path, capsys, monkeypatch):
    Progress(path).checked("jit-add", passed=True)
    before = path.read_bytes()
    monkeypatch.setattr(
        os, "access", lambda where, mode: mode != os.W_OK
    )  # root may write whatever the mode says
    progress = Progress(path)
    progress.checked("jit-saxpy", passed=True)
    progress.hint_shown("jit-saxpy", 1)
    assert progress.records() == {
        "jit-add": Record(attempts=1, passed=True),
        "jit-saxpy": Record(attempts=1, passed=True, hints=1),
    }
    assert path.read_bytes() == before
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "for this session only" in said and "read-only" in said


@pytest.mark.parametrize("make", ["folder", "below a file"])
def test_impossible_place_is_no_obstacle(tmp_path, capsys, make):
    place = tmp_path / "progress.json"
    if make == "folder":
        place.mkdir()
    else:
        (tmp_path / "file").write_text("")
        place = tmp_path / "file" / "progress.json"
    progress = Progress(place)
    progress.checked("jit-add", passed=True)
    assert progress.records()["jit-add"].passed
    assert capsys.readouterr().out.count("\n") == 1


def test_file_of_a_newer_version_is_not_touched(path, capsys):
    path.parent.mkdir()
    path.write_text(json.dumps({"version": 2, "exercises": []}))
    Progress(path).checked("jit-add", passed=True)
    assert json.loads(path.read_text()) == {"version": 2, "exercises": []}
    assert "another version" in capsys.readouterr().out


def test_failed_write_leaves_the_old_file_and_no_draft(path, monkeypatch):
    Progress(path).checked("jit-add", passed=True)
    before = path.read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Progress(path).checked("jit-saxpy", passed=True)
    assert path.read_bytes() == before and os.listdir(path.parent) == ["progress.json"]


def test_a_reader_never_sees_half_a_file(path):
    writer = Progress(path)
    stop = threading.Event()

    def write():
        for i in range(200):
            writer.checked(f"exercise-{i % 40}", passed=True)
        stop.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not stop.is_set():
        Progress(path).records()
    thread.join()
    assert os.listdir(path.parent) == ["progress.json"]


def test_the_environment_chooses_the_place(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADER_PROGRESS", str(tmp_path / "mine.json"))
    assert progress_file.current().path == tmp_path / "mine.json"
    assert progress_file.current() is progress_file.current()
    monkeypatch.delenv("GRADER_PROGRESS")
    assert progress_file.path().name == "progress.json" and progress_file.path().is_absolute()
