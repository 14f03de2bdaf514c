"""What `grader check` and `grader grade` print."""

from collections.abc import Mapping

from grader import display
from grader.check import Verdict
from grader.course.grade import Result
from grader.exercises import Exercise
from grader.sandbox import Status

_HEADINGS = ("exercise", "values", "speed", "points")


def of(name: str, result: Result, exercises: Mapping[str, Exercise]) -> str:
    """The report on the notebook `name` as plain text: a table of its exercises, then what was found in each
    that did not pass plainly. The same result gives the same text.
    """
    of_all = "" if result.maximum is None else f" of {result.maximum}"
    parts = [f"{name}   {result.status}   {result.score}{of_all} points"]
    if result.asked:
        parts.append(table([_HEADINGS, *(_row(i, result, exercises[i].points) for i in result.asked)]))
    parts += [_told(result.best[i], exercises[i]) for i in result.asked if i in result.best]
    parts += [f"note: {note}" for note in result.notes]
    if result.outcome:
        answers = {report.cell for report in result.outcome.verdicts}
        parts += [
            f"cell {index + 1} stopped: " + text.replace("\n", "\n    ")
            for index, text in sorted(result.outcome.errors.items())
            if index not in answers
        ]
    return "\n\n".join(filter(None, parts))


def _row(exercise: str, result: Result, points: int) -> tuple[str, str, str, str]:
    verdict = result.best.get(exercise)
    if verdict is None:
        return exercise, result.standing(exercise), "", f"0 of {points}"
    earned = points if verdict["values"] == "PASS" else 0
    return exercise, result.standing(exercise), str(verdict["speed"]), f"{earned} of {points}"


def _told(verdict: dict, exercise: Exercise) -> str:
    """The message of a verdict that is not a plain pass; '' for one that is."""
    if verdict["values"] == "PASS" and verdict["speed"] != "SLOW" and not verdict.get("warnings"):
        return ""
    return display.verdict(Verdict.from_json(verdict), exercise).text


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows as text with aligned columns; the first row is the heading."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join("  " + line for line in lines)


def accepted(result: Result, require_speed: bool) -> bool:
    """True if every exercise asked for passed in values and none is SLOW; `require_speed`: only FAST will
    do.
    """
    if result.status is not Status.GRADED:
        return False
    verdicts = [result.best.get(i) for i in result.asked]
    if not verdicts or not all(v is not None and v["values"] == "PASS" for v in verdicts):
        return False
    speeds = {str(v["speed"]) for v in verdicts}
    return speeds <= {"FAST"} if require_speed else "SLOW" not in speeds


def speed_asked_for(result: Result) -> str:
    """Why a notebook that is accepted but for `--require-speed` is not accepted with it, in one sentence."""
    speeds = {i: str(result.best[i]["speed"]) for i in result.asked}
    if "NOT_TIMED" in speeds.values():
        untimed = ", ".join(i for i, speed in speeds.items() if speed == "NOT_TIMED")
        gpus = {result.best[i]["gpu"] for i in result.asked}
        why = "the GPU is simulated" if gpus == {"simulated"} else untimed
        return f"speed was not timed here ({why}), and --require-speed asks for FAST"
    unclear = ", ".join(i for i, speed in speeds.items() if speed != "FAST")
    return f"the timing of {unclear} was not conclusive, and --require-speed asks for FAST"


def graded(row: dict, kept: bool) -> str:
    """One line on a hand-in of a batch. `kept`: its row comes from an earlier start of the batch."""
    note = "already graded" if kept else row["notes"]
    points = f"{row['score']:>4} " + (" " * 7 if row["max"] is None else f"of {row['max']:<4}")
    return f"{row['status']:<15}{points}  {row['hand-in']}" + (f"   ({note})" if note else "")


def batch(rows: list[dict], kept: int, others: list[str], books: list[str]) -> str:
    """The end of a batch in a few lines. `others`: names of files that are no hand-ins, `books`: of folders
    that are gradebooks.
    """
    statuses = [row["status"] for row in rows]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in sorted(set(statuses)))
    lines = [f"{len(rows)} hand-ins: {counts}"]
    if kept:
        lines.append(f"{kept} already graded, with the same contents and limits")
    if suspect := [row["hand-in"] for row in rows if "suspect:" in row["notes"]]:
        lines.append(f"worth a look, see their notes: {', '.join(suspect)}")
    if books:
        lines.append(f"earlier gradebooks, so not looked into: {', '.join(books)}")
    if others:
        lines.append(
            f"not notebooks, so not graded: {', '.join(others[:5])}" + (", ..." if others[5:] else "")
        )
    return "\n".join(lines)
