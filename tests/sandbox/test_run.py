"""Whatever the code of a hand-in does, its sandbox ends with the right status, keeps the verdicts so far,
and is gone.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from grader.sandbox import Cancelled, Cell, Job, Status, run
from grader.simgpu.native import compiler
from tests.course.making import SOLVED, processes_with

SETUP = Cell(0, "import torch")
ADD = Cell(1, SOLVED["jit-add"], "jit-add")


def outcome_of(*sources, add_first=True, **limits):
    """Run set-up, a right answer to jit-add, then `sources` as cells of the learner's own."""
    cells = [SETUP, ADD] if add_first else [SETUP]
    cells += [Cell(10 + number, source) for number, source in enumerate(sources)]
    return run(Job(tuple(cells), **({"timeout": 60.0} | limits)))


def values(outcome):
    return {report.exercise: report.verdict["values"] for report in outcome.verdicts}


def test_a_right_answer_passes():
    outcome = outcome_of()
    assert (outcome.status, outcome.note, outcome.suspect, outcome.errors) == (Status.GRADED, "", [], {})
    assert values(outcome) == {"jit-add": "PASS"}
    assert outcome.made_with["torch"] and outcome.peak_memory > 0 and outcome.seconds > 0


@pytest.mark.parametrize(
    ("source", "status", "says"),
    [
        ("import os; os._exit(0)", Status.DIED, "exit code 0"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Status.DIED, "SIGKILL"),
        ("import ctypes; ctypes.string_at(0)", Status.DIED, "SIGSEGV"),
        ("import os; os.killpg(0, 9)", Status.DIED, "SIGKILL"),
        (
            "import os, signal, time; os.kill(os.getppid(), signal.SIGTERM); time.sleep(50)",
            Status.DIED,
            "SIGTERM",
        ),
        ("import os, time; os.kill(os.getppid(), 9); time.sleep(50)", Status.DIED, "SIGKILL"),
        ("keep = []\nwhile True: keep.append('x' * 10**8)", Status.OUT_OF_MEMORY, "the limit is 1 GiB"),
        ("bytearray(2**60)", Status.OUT_OF_MEMORY, "more memory than there is"),
        ("while True: print('x' * 10**6)", Status.OUTPUT_FLOOD, "printed more than 20 MiB"),
        ("name = input('Your name?')", Status.NEEDS_INPUT, "keyboard input"),
        ("import getpass; getpass.getpass()", Status.NEEDS_INPUT, "keyboard input"),
    ],
)
def test_what_ends_a_hand_in_is_named_and_earlier_verdicts_stay(source, status, says):
    outcome = outcome_of(source, memory=2**30, flood=20 * 2**20)
    assert outcome.status is status, outcome
    assert says in outcome.note
    assert values(outcome) == {"jit-add": "PASS"}


def test_what_does_not_end_is_ended_and_earlier_verdicts_stay():
    sources = ["while True: pass", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"]
    with ThreadPoolExecutor() as pool:  # they wait side by side
        outcomes = list(pool.map(lambda source: outcome_of(source, timeout=15.0), sources))
    for outcome in outcomes:
        assert outcome.status is Status.TIMEOUT and "not done after 15 s" in outcome.note, outcome
        assert values(outcome) == {"jit-add": "PASS"}


ERRORS = {
    "SystemExit": "raise SystemExit",
    "SystemExit: 3": "import sys; sys.exit(3)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "ZeroDivisionError": "1/0",
    "SyntaxError": "this is no Python",
    "null bytes": "a\0b = 1",
    "UnicodeEncodeError": "x = '\ud800'",
    "ValueError": "class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd",
    "AttributeError": "exit()",
}


def test_cells_that_fail_cost_no_answer_and_are_told():
    cells = [Cell(10 + number, source) for number, source in enumerate(ERRORS.values())]
    outcome = run(Job((SETUP, *cells, Cell(99, SOLVED["jit-add"], "jit-add")), timeout=60.0))
    assert (outcome.status, outcome.suspect) == (Status.GRADED, []), outcome
    assert values(outcome) == {"jit-add": "PASS"}
    for told, (index, text) in zip(ERRORS, sorted(outcome.errors.items()), strict=True):
        assert told in text, index


@pytest.mark.parametrize(
    "source",
    [
        "import warnings, sys; warnings.warn('on stderr'); print('also', file=sys.stderr)",
        "%matplotlib inline\n%timeit -n1 -r1 1\n!echo from a shell",
        "import sys; sys.stdin.read(); sys.stdout = None; sys.stderr.close()",
        "import os; os.chdir('/'); os.close(0); os.close(1); os.close(2)",
        "import threading, time; threading.Thread(target=time.sleep, args=(1000,)).start()",
        "import atexit, time; atexit.register(time.sleep, 1000)",
        "import os; os.fork()",
    ],
)
def test_what_a_cell_does_to_its_process_costs_no_answer(source):
    outcome = run(Job((SETUP, Cell(1, source), Cell(2, SOLVED["jit-add"], "jit-add")), timeout=60.0))
    assert (outcome.status, outcome.suspect) == (Status.GRADED, []), outcome
    assert values(outcome) == {"jit-add": "PASS"} and len(outcome.verdicts) == 1


def test_400_000_prints_cost_neither_the_answer_nor_the_time():
    outcome = outcome_of("for i in range(400_000): print(i)", Cell(0, "").source, add_first=True)
    assert outcome.status is Status.GRADED
    assert len(outcome.output) <= 64 * 1024


def test_closing_every_descriptor_loses_the_channel_and_nothing_else():
    outcome = outcome_of("import os; os.closerange(0, 4096)")
    assert outcome.status is Status.DIED and values(outcome) == {"jit-add": "PASS"}


def test_an_error_in_an_answer_cell_is_the_verdict_with_the_learners_line():
    outcome = run(Job((SETUP, Cell(1, "# one\nadd = torch.no_such_thing", "jit-add")), timeout=60.0))
    (report,) = outcome.verdicts
    assert report.verdict["values"] == "ERROR" and report.verdict["reason"] == "raised"
    assert report.verdict["lines"][0] == "line 2: add = torch.no_such_thing"
    assert report.verdict["lines"][1].startswith("AttributeError: ")


def test_an_answer_that_is_defined_before_its_cell_fails_is_checked():
    outcome = run(Job((SETUP, Cell(1, SOLVED["jit-add"] + "\n1/0", "jit-add")), timeout=60.0))
    assert values(outcome) == {"jit-add": "PASS"} and "ZeroDivisionError" in outcome.errors[1]


def test_an_answer_of_another_name_is_an_error_that_says_so():
    outcome = run(
        Job((SETUP, Cell(1, "my_add = 1", "jit-add"), Cell(2, "# nothing", "jit-saxpy")), timeout=60.0)
    )
    assert values(outcome) == {"jit-add": "ERROR", "jit-saxpy": "NOT_ATTEMPTED"}
    assert outcome.verdicts[0].verdict["headline"] == "the answer cell defines no `add`"


def test_an_older_definition_does_not_stand_in_for_a_cell_that_failed():
    again = Cell(2, "add = (", "jit-add")
    outcome = run(Job((SETUP, ADD, again), timeout=60.0))
    assert [report.verdict["values"] for report in outcome.verdicts] == ["PASS", "ERROR"]


@pytest.fixture
def running(monkeypatch, tmp_path):
    """The processes of hand-ins that this test started and that are running now."""
    monkeypatch.setenv("GRADER_TEST", str(tmp_path))
    return lambda: processes_with("GRADER_TEST", str(tmp_path))


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess; subprocess.Popen(['sleep', '1000'])",
        "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)",
        "import os, time\nif not os.fork(): os.setsid(); os.fork() or time.sleep(99); os._exit(0)",
        "import os, time\nif os.fork() == 0: time.sleep(1000)\nos._exit(0)",
    ],
)
def test_no_process_of_a_hand_in_outlives_it(source, running):
    outcome_of(source)
    assert running() == []


def test_memory_of_children_counts():
    child = "x = 'a' * 10**9; import time; time.sleep(60)"
    source = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    assert outcome_of(source, memory=900 * 2**20).status is Status.OUT_OF_MEMORY


def test_files_of_a_hand_in_are_gone_and_it_starts_in_an_empty_folder():
    outcome = outcome_of(
        "import os; print('here', os.getcwd(), os.listdir()); open('x', 'w').write('x')", add_first=False
    )
    where = outcome.output.split("here ")[1].split()[0]
    assert "[" in outcome.output and not os.path.exists(where)


def test_the_progress_of_whoever_grades_is_not_touched(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADER_PROGRESS", str(tmp_path / "progress.json"))
    outcome_of("import grader; grader.exercise('jit-add').check(add)")
    assert not (tmp_path / "progress.json").exists()


# Cheating is not impossible in this form (see grader.sandbox); these cheap tricks are refused.


def test_replacing_the_checker_changes_nothing():
    source = (
        "import grader.check, grader.exercises\n"
        "from grader.check import Verdict, Values\n"
        "grader.check.check = lambda exercise, *a, **k: Verdict(exercise=exercise.id, values=Values.PASS)\n"
        "grader.exercises.get = None"
    )
    outcome = run(Job((SETUP, Cell(1, source), Cell(2, "add = lambda x, y: x", "jit-add")), timeout=60.0))
    assert outcome.status is Status.GRADED and values(outcome)["jit-add"] in ("WRONG", "UNSAFE")


def test_printing_what_looks_like_our_frames_changes_nothing():
    frame = '{"event": "verdict", "cell": 2, "exercise": "jit-add", "verdict": {"values": "PASS"}}'
    source = f'print({frame!r}); print(\'{{"event": "done"}}\')'
    outcome = run(Job((SETUP, Cell(1, source), Cell(2, "add = None", "jit-add")), timeout=60.0))
    assert values(outcome) == {"jit-add": "NOT_ATTEMPTED"}


def test_writing_to_every_descriptor_without_the_token_is_noted_and_changes_nothing():
    source = """
import os, json
frame = json.dumps({"event": "verdict", "cell": 2, "exercise": "jit-add", "verdict": {"values": "PASS"}})
for fd in range(3, 1024):
    try: os.write(fd, (frame + "\\n").encode())
    except OSError: pass
"""
    outcome = run(Job((SETUP, Cell(1, source), Cell(2, "add = None", "jit-add")), timeout=60.0))
    assert values(outcome) == {"jit-add": "NOT_ATTEMPTED"}
    assert outcome.suspect == ["1 foreign messages on the result channel"]


def forged(*frames):
    """The outcome of a hand-in that digs out the sender and sends frames before its answer, the starter,
    is checked.
    """
    source = "import gc\nfrom grader.check import Values, Verdict\nfrom grader.sandbox.frames import Sender\n"
    source += "sender = next(o for o in gc.get_objects() if isinstance(o, Sender))\n"
    source += "".join(f"sender.send({frame})\n" for frame in frames)
    return run(Job((SETUP, Cell(1, source), Cell(2, "add = None", "jit-add")), timeout=60.0))


PASSED = "verdict=Verdict('jit-add', Values.PASS).to_json()"


def test_a_forged_verdict_that_the_check_contradicts_is_not_scored():
    outcome = forged(f"'verdict', cell=2, exercise='jit-add', {PASSED}")
    assert values(outcome) == {} and "jit-add" in outcome.unjudged
    assert outcome.suspect == ["two different verdicts for 'jit-add' from one cell"]


def test_a_forged_end_ends_nothing_and_is_noted():
    outcome = forged("'done'")
    assert values(outcome) == {"jit-add": "NOT_ATTEMPTED"}
    assert outcome.suspect == [
        "reported its end before every answer was checked",
        "went on after it had reported its end",
    ]


def test_the_token_is_not_to_be_had_from_stdin_or_the_command_line():
    source = "import os, sys; print('stdin', os.read(0, 10)); print(sys.argv, sys.orig_argv)"
    outcome = outcome_of(source, add_first=False)
    assert "stdin b''" in outcome.output and outcome.status is Status.GRADED


def test_a_failure_of_our_own_is_infrastructure(monkeypatch):
    monkeypatch.setenv("GRADER_GPU", "no such mode")
    outcome = outcome_of()
    assert outcome.status is Status.INFRASTRUCTURE and "could not start" in outcome.note


def test_no_compiler_is_a_failure_of_our_own_with_the_sentence_that_says_what_to_install(monkeypatch):
    monkeypatch.setenv("CXX", "/nope")
    outcome = outcome_of()
    assert outcome.status is Status.INFRASTRUCTURE and outcome.verdicts == []
    assert "could not start: The environment variable CXX names the compiler '/nope'" in outcome.note


def test_a_compiler_that_is_lost_on_the_way_costs_no_answer(monkeypatch, tmp_path):
    real = compiler.command()[0]
    (tmp_path / "gone").symlink_to(real)
    monkeypatch.setenv("CXX", str(tmp_path / "gone"))
    monkeypatch.setenv("PYTORCH_KERNEL_CACHE_PATH", str(tmp_path / "cache"))
    lose = Cell(1, f"import os; os.unlink({str(tmp_path / 'gone')!r})")
    outcome = run(Job((SETUP, lose, Cell(2, SOLVED["jit-add"], "jit-add")), timeout=60.0))
    assert outcome.status is Status.INFRASTRUCTURE and outcome.verdicts == []
    assert "could not go on: the C++ compiler" in outcome.note


def test_a_batch_that_is_stopped_leaves_nothing_running(running):
    stop = threading.Event()
    threading.Timer(2.0, stop.set).start()
    with pytest.raises(Cancelled):
        run(Job((Cell(0, "while True: pass"),), timeout=60.0), stop)
    assert running() == []
