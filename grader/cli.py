"""The `grader` command. Exit codes: 0 all well, 1 something did not pass, 2 the command cannot be carried
out as given.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="The command of the course Kernels & Streams.",
)

_Timeout = Annotated[float, typer.Option(min=1, help="Seconds that one notebook may take, start included.")]
_Memory = Annotated[float, typer.Option(min=0.1, help="GiB of memory that one notebook may use.")]


def main() -> None:
    """Entry point of the `grader` script."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(
            errors="backslashreplace"
        )  # a name that the terminal cannot show must not end a batch
    try:
        app()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _stop(message: str) -> NoReturn:
    typer.echo(f"grader: {message}", err=True)
    raise typer.Exit(2)


def _course_folder() -> Path:
    """The folder with solutions/ and notebooks/: the current one, else the one the package lies in."""
    here = Path.cwd()
    return here if (here / "notebooks").is_dir() else Path(__file__).resolve().parent.parent


def _need_a_compiler() -> None:
    """Without one every answer would fail on the simulated GPU, which must cost nobody any points."""
    from grader import diagnosis, simgpu

    if simgpu.is_simulated() and (found := diagnosis.cpp_compiler()).status != "ok":
        _stop(f"nothing can be checked without a C++ compiler: {found.detail}. To mend it: {found.fix}")


def _exercises() -> dict:
    from grader import exercises

    return {exercise.id: exercise for exercise in exercises.all()}


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def lab(context: typer.Context) -> None:
    """Open JupyterLab on the course's notebooks. Further arguments go to JupyterLab."""
    import importlib.util

    notebooks = _course_folder() / "notebooks"
    if not notebooks.is_dir():
        _stop("there is no folder notebooks/ here; change to the course's folder first")
    if importlib.util.find_spec("jupyterlab") is None:
        _stop('JupyterLab is not installed for this Python; install it with: pip install "jupyterlab>=4.2"')
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", str(notebooks), *context.args])


@app.command()
def doctor(
    clear_cache: Annotated[
        bool, typer.Option("--clear-cache", help="Delete the cache of compiled kernels first.")
    ] = False,
) -> None:
    """Look at everything that the course needs on this machine, and say what to mend."""
    from grader import diagnosis, display

    if clear_cache:
        typer.echo(diagnosis.clear_cache())
    found = diagnosis.examine()
    typer.echo(display.doctor(found).text)
    raise typer.Exit(any(finding.status == "bad" for finding in found))


@app.command()
def progress() -> None:
    """Show which exercises are done."""
    from grader import display, exercises
    from grader.progress_file import current

    typer.echo(display.progress(exercises.by_lesson(), current().records()).text)


@app.command()
def check(
    notebooks: Annotated[list[Path], typer.Argument(metavar="NOTEBOOK...", show_default=False)],
    require_speed: Annotated[
        bool, typer.Option("--require-speed", help="Only FAST will do, on a real GPU.")
    ] = False,
    timeout: _Timeout = 300,
    memory: _Memory = 4,
) -> None:
    """Run the answer cells of notebooks and check them. Nothing is written.

    Exit code: 0 if every exercise of every notebook passes, 1 if one does not, 2 if a file is no notebook
    (the others are checked all the same) or nothing can be checked here.
    """
    for path in notebooks:
        if not path.exists():
            _stop(f"there is no file {path}")
        if path.is_dir():
            _stop(f"{path} is a folder; name the notebooks in it")
    from grader.course import grade, report

    _need_a_compiler()
    settings = grade.Settings(timeout, int(memory * 2**30), threads=os.cpu_count() or 1)
    exercises = _exercises()
    code = 0
    for number, path in enumerate(notebooks):
        result = grade.judge(grade.prepare(path, exercises), exercises, settings)
        if result.status in ("corrupt", "empty"):
            typer.echo(f"grader: {path} is not a notebook: {result.notes[0]}", err=True)
            code = 2
            continue
        typer.echo(("\n" if number else "") + report.of(str(path), result, exercises))
        if not report.accepted(result, require_speed):
            code = max(code, 1)
            if report.accepted(result, require_speed=False):
                typer.echo(f"\n{report.speed_asked_for(result)}")
    raise typer.Exit(code)


@app.command()
def release(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail if notebooks/ has drifted.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite also notebooks in which somebody has answered.")
    ] = False,
) -> None:
    """Make notebooks/ from solutions/. A notebook in which an answer cell holds neither the starter nor the
    solution is not overwritten.
    """
    from grader.course import drift
    from grader.course import release as making

    folder = _course_folder()
    solutions, notebooks = (_short(folder / name) for name in ("solutions", "notebooks"))
    if not solutions.is_dir():
        _stop(f"there is no folder {solutions}")
    if check:
        found = drift.find(solutions, notebooks, _exercises())
        for line in found:
            typer.echo(line)
        raise typer.Exit(1 if found else 0)
    try:
        changed = making.release(solutions, notebooks, _exercises(), force)
    except making.ReleaseError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    typer.echo("\n".join(f"wrote {path}" for path in changed) or "nothing has changed")


def _short(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


@app.command()
def grade(
    handins: Annotated[
        Path,
        typer.Argument(metavar="HANDINS", help="A folder of notebooks, in any depth.", show_default=False),
    ],
    out: Annotated[
        Path, typer.Option(metavar="BOOK", help="The folder for the results.", show_default=False)
    ],
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Notebooks graded at a time.", show_default="one a CPU; 1 with a real GPU"),
    ] = None,
    timeout: _Timeout = 300,
    memory: _Memory = 4,
) -> None:
    """Grade a folder of notebooks into BOOK/gradebook.csv and one JSON file each. Started again, it goes
    on where it was.

    Columns of the gradebook: `learner` is the first folder inside HANDINS (deep/er/x.ipynb: deep), or the
    file's name if it lies in none. `max` is what the exercises of the notebook's lessons are worth; for a
    file that cannot be read, the same as for all others if they are of one lesson, else it stays empty.
    `status` says how a hand-in ended, apart from its `score`.

    A folder in HANDINS that is an earlier BOOK is not looked into. Exit code: 0, or 1 if a hand-in could not
    be graded through no fault of its own (status infrastructure), or 2 if nothing can be graded here.
    """
    if not handins.is_dir():
        _stop(f"there is no folder {handins}")
    if out.exists() and not out.is_dir():
        _stop(f"{out} is a file; --out names a folder")
    if out.resolve() == handins.resolve():
        _stop("the results cannot go among the hand-ins; let --out name another folder")
    from grader.course import batch, book, report
    from grader.course.grade import Settings

    _need_a_compiler()
    found, others, books = batch.find(handins, out)
    if not found:
        _stop(f"there is no notebook in {handins}")
    made_with, real_gpu = _made_with()
    cpus = os.cpu_count() or 1
    jobs = jobs or (1 if real_gpu else cpus)
    settings = Settings(timeout, int(memory * 2**30), threads=max(1, cpus // jobs))
    kept: list[dict] = []

    def say(row: dict, was_kept: bool) -> None:
        kept.extend([row] if was_kept else [])
        typer.echo(report.graded(row, was_kept))

    try:
        rows = batch.run(found, out, _exercises(), settings, jobs, made_with, say)
    except book.BookBusy as error:
        _stop(str(error))
    typer.echo("\n" + report.batch(rows, len(kept), others, books))
    typer.echo(f"the gradebook is {out / 'gradebook.csv'}")
    raise typer.Exit(1 if any(row["status"] == "infrastructure" for row in rows) else 0)


def _made_with() -> tuple[str, bool]:
    import platform
    from importlib import metadata

    from grader import simgpu

    simgpu.activate()
    versions = [f"{name} {metadata.version(name)}" for name in ("kernels-and-streams", "torch", "numpy")]
    made_with = ", ".join([*versions, f"Python {platform.python_version()}", simgpu.describe()])
    return made_with, not simgpu.is_simulated()


if __name__ == "__main__":
    main()
