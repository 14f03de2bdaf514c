"""`.ci/run` on machines that lack something: one sentence, before anything is set up."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci/run"
BASH = shutil.which("bash")


@pytest.fixture
def machine(tmp_path):
    """machine(name="script", ...): run .ci/run with nothing on the path but these programs, this Python as
    python3 and a `make` and a `g++` that say what they are called with; None: without that program.
    """

    def run(**programs):
        for name in ("bash", "dirname"):
            (tmp_path / name).symlink_to(shutil.which(name))
        told = {name: f'echo {name} "$@"' for name in ("make", "g++")}
        told["python3"] = f'exec {sys.executable} "$@"'
        for name, script in (told | {name.replace("_", "-"): s for name, s in programs.items()}).items():
            if script is not None:
                (tmp_path / name).write_text(f"#!{BASH}\n{script}\n", encoding="utf-8")
                (tmp_path / name).chmod(0o755)
        environment = {"PATH": str(tmp_path)}
        return subprocess.run([BASH, SCRIPT], capture_output=True, encoding="utf-8", env=environment)

    return run


def test_a_machine_that_has_everything_runs_the_tests(machine):
    done = machine()
    assert (done.returncode, done.stdout) == (0, "make test PYTHON=python3\n")


def test_without_apt_get_it_says_what_is_missing(machine):
    done = machine(make=None, python3=None)
    assert done.returncode == 1 and done.stdout == ""
    assert "this machine lacks make python3 python3-venv" in done.stderr and "no apt-get" in done.stderr


def test_apt_get_installs_only_what_is_missing(machine):
    done = machine(make=None, apt_get='echo apt-get "$@"')
    assert done.stdout.splitlines()[1] == "apt-get install -q -y --no-install-recommends make"


def test_an_old_python_is_told(machine):
    old = '[ "$1" = -V ] && echo Python 3.9.2\ncase "$2" in *version_info*) exit 1;; esac'
    done = machine(python3=old)
    assert done.returncode == 1 and "needs Python 3.11 or newer; python3 is Python 3.9.2" in done.stderr


def test_a_python_without_venv_is_told(machine):
    done = machine(python3='case "$2" in *ensurepip*) exit 1;; esac')
    assert done.returncode == 1 and "lacks python3-venv" in done.stderr
