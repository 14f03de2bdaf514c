"""What `grader release` makes of a solution, and what it refuses."""

import json

import nbformat
import pytest

from grader.course import drift, nbfile, release
from tests.course.making import EXERCISES, LESSON_1, code, save, solution

LESSON = {i: EXERCISES[i] for i in LESSON_1}


def cell_of(notebook, cell_id):
    return next(cell for cell in notebook["cells"] if cell["id"] == cell_id)


def test_the_answer_is_cut_and_the_starter_put_in_and_the_rest_of_the_cell_stays():
    built = release.build(solution(), LESSON)
    for i in LESSON_1:
        source = cell_of(built, f"answer-{i}")["source"]
        assert source == f"# yours\n{EXERCISES[i].starter.strip(chr(10))}\n# end of yours"
    assert not any(
        EXERCISES[i].solution.strip() in json.dumps(built).encode().decode("unicode_escape") for i in LESSON_1
    )


def test_outputs_counts_and_traces_are_dropped_and_all_else_is_kept():
    made = solution()
    made["metadata"]["widgets"] = {"x": 1}
    made["cells"][1]["metadata"] |= {
        "execution": {"iopub": 1},
        "collapsed": True,
        "tags": ["mine"],
        "jupyter": {"outputs_hidden": True, "source_hidden": True},
    }
    built = release.build(made, LESSON)
    assert built["metadata"] == {
        "grader": {"lesson": 1},
        "language_info": {"name": "python"},
        "tags": ["kept"],
    }
    setup = cell_of(built, "setup")
    assert setup["outputs"] == [] and setup["execution_count"] is None
    assert setup["metadata"] == {
        "grader": {"role": "setup"},
        "tags": ["mine"],
        "jupyter": {"source_hidden": True},
    }
    assert [cell["id"] for cell in built["cells"]] == [cell["id"] for cell in made["cells"]]
    assert made["cells"][1]["execution_count"] == 7, "the solution itself must not be changed"


def test_answers_and_checks_carry_nbgraders_metadata():
    built = release.build(solution(), LESSON)
    answer = cell_of(built, "answer-jit-add")["metadata"]["nbgrader"]
    check = cell_of(built, "check-jit-add")["metadata"]["nbgrader"]
    assert answer == {
        "schema_version": 3, "grade": False, "solution": True, "locked": False, "task": False,
        "grade_id": "jit-add", "cell_type": "code",
    }  # fmt: skip
    assert check == {
        "schema_version": 3, "grade": True, "solution": False, "locked": True, "task": False,
        "grade_id": "check-jit-add", "cell_type": "code", "points": EXERCISES["jit-add"].points,
        "checksum": release.nbgrader_checksum(cell_of(built, "check-jit-add")),
    }  # fmt: skip


def test_the_checksum_is_nbgraders():
    """The MD5 of source, type, grade, solution, locked, id and points, as nbgrader's compute_checksum
    joins them.
    """
    cell = {
        "cell_type": "code",
        "source": "ex.check(add)",
        "metadata": {
            "nbgrader": {
                "grade": True,
                "solution": False,
                "locked": True,
                "grade_id": "check-jit-add",
                "points": 2,
            }
        },
    }
    import hashlib

    joined = b"ex.check(add)codeTrueFalseTruecheck-jit-add2.0"
    assert release.nbgrader_checksum(cell) == hashlib.md5(joined).hexdigest()


def test_a_released_notebook_is_valid_and_released_again_the_same():
    text = nbfile.to_text(release.build(solution(), LESSON))
    nbformat.validate(nbformat.reads(text, as_version=4))
    assert text == nbfile.to_text(release.build(solution(), LESSON))


def broken(change):
    made = solution()
    change(made)
    with pytest.raises(release.ReleaseError) as caught:
        release.build(made, LESSON)
    return str(caught.value)


def test_missing_markers_are_named():
    said = broken(lambda made: cell_of(made, "answer-jit-add").update(source="add = 1"))
    assert "cell 'answer-jit-add' (number 4)" in said and "BEGIN SOLUTION" in said


@pytest.mark.parametrize("text", ["### END SOLUTION\n### BEGIN SOLUTION", "### BEGIN SOLUTION\nadd = 1"])
def test_markers_out_of_order_or_single_are_named(text):
    assert "answer-jit-add" in broken(lambda made: cell_of(made, "answer-jit-add").update(source=text))


def test_an_answer_to_an_unknown_exercise_is_named():
    said = broken(
        lambda made: cell_of(made, "answer-jit-add")["metadata"]["grader"].update(exercise="jit-ad")
    )
    assert "answers an exercise that does not exist: 'jit-ad'" in said


def test_two_cells_with_one_id_are_named():
    assert "another cell has the same id" in broken(
        lambda made: made["cells"].append(code("setup", "1", "demo"))
    )


def test_a_second_answer_cell_is_named():
    def double(made):
        made["cells"].append(cell_of(made, "answer-jit-add") | {"id": "again"})

    assert "cell 'again' (number 15) is a second answer cell for jit-add" in broken(double)


def test_markers_outside_an_answer_are_named():
    leak = code("leak", "### BEGIN SOLUTION\n1\n### END SOLUTION", "demo")
    assert "cell 'leak'" in broken(lambda made: made["cells"].append(leak))


def test_an_answer_that_is_not_the_syllabus_solution_is_named():
    def change(made):
        cell = cell_of(made, "answer-jit-add")
        cell["source"] = cell["source"].replace("x + y", "y + x")

    assert "not the solution of jit-add" in broken(change)


def test_a_notebook_of_the_wrong_lesson_is_named():
    assert "of lesson 1; this is lesson 0" in broken(lambda made: made["metadata"]["grader"].update(lesson=0))


@pytest.fixture
def folders(tmp_path):
    save(tmp_path / "solutions" / "01_first.ipynb", solution())
    release.release(tmp_path / "solutions", tmp_path / "notebooks", LESSON)
    return tmp_path / "solutions", tmp_path / "notebooks"


def test_what_was_just_released_has_not_drifted(folders):
    assert drift.find(*folders, LESSON) == []
    assert release.release(*folders, LESSON) == []


def test_one_changed_character_names_notebook_and_cell(folders):
    path = folders[1] / "01_first.ipynb"
    text = path.read_text(encoding="utf-8")
    for old, new, cell in [
        ("# end of yours", "# end of yoursx", "answer-jit-add"),
        ("import torch", "import torcH", "setup"),
        ('"grade_id": "check-jit-add"', '"grade_id": "check-jit-adD"', "check-jit-add"),
    ]:
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        (said,) = drift.find(*folders, LESSON)
        assert str(path) in said and f"'{cell}'" in said


def test_every_changed_character_is_found(folders):
    """Wherever a character is changed, the notebook is named; inside a cell, the cell too (or what took
    its place).
    """
    path = folders[1] / "01_first.ipynb"
    data = path.read_bytes()
    for place in range(0, len(data), 97):
        path.write_bytes(
            data[:place] + (b"x" if data[place : place + 1] != b"x" else b"y") + data[place + 1 :]
        )
        assert all(str(path) in line for line in drift.find(*folders, LESSON)) and drift.find(
            *folders, LESSON
        )


def test_missing_added_and_moved_cells_are_named(folders):
    path = folders[1] / "01_first.ipynb"
    notebook = json.loads(path.read_bytes())
    cells = notebook["cells"]
    cases = [
        (cells[1:], "cell 'title' is missing"),
        ([*cells, code("new", "1")], "cell 'new' (number 15) is not in the solution"),
        ([*cells, cells[1]], "cell 'setup' (number 15) has the id of an earlier cell"),
        ([cells[1], cells[0], *cells[2:]], "the cells are in another order"),
    ]
    for changed, says in cases:
        save(path, notebook | {"cells": changed})
        assert says in "\n".join(drift.find(*folders, LESSON))


def test_layout_and_metadata_of_the_notebook_count_too(folders):
    path = folders[1] / "01_first.ipynb"
    data = path.read_bytes()
    path.write_bytes(data + b"\n")
    assert "layout only" in drift.find(*folders, LESSON)[0]
    path.write_bytes(data.replace(b'"lesson": 1', b'"lesson": 2'))
    assert "the notebook's metadata differs" in drift.find(*folders, LESSON)[0]


def test_missing_and_extra_notebooks_are_named(folders):
    (folders[1] / "01_first.ipynb").rename(folders[1] / "99_other.ipynb")
    said = drift.find(*folders, LESSON)
    assert (
        said[0].endswith("01_first.ipynb is missing")
        and "99_other.ipynb has no notebook of that name" in said[1]
    )


def test_a_notebook_that_is_not_json_is_named(folders):
    (folders[1] / "01_first.ipynb").write_text("{", encoding="utf-8")
    assert "01_first.ipynb is not valid JSON" in drift.find(*folders, LESSON)[0]


def test_an_exercise_that_no_notebook_asks_for_is_named(folders):
    assert "no notebooks have an answer cell for hello-gpu" in drift.find(*folders, EXERCISES)[0]


def answered(folders, source):
    path = folders[1] / "01_first.ipynb"
    made = json.loads(path.read_bytes())
    cell_of(made, "answer-jit-add")["source"] = source
    return save(path, made)


def test_a_notebook_with_somebodys_answer_is_not_overwritten_unless_forced(folders):
    path = answered(folders, "# yours\nadd = mine\n# end of yours")
    before = path.read_bytes()
    with pytest.raises(release.ReleaseError) as caught:
        release.release(*folders, LESSON)
    assert str(path) in str(caught.value) and "cell 'answer-jit-add' (number 4)" in str(caught.value)
    assert path.read_bytes() == before
    assert release.release(*folders, LESSON, force=True) == [path]
    assert drift.find(*folders, LESSON) == []


@pytest.mark.parametrize("marked", [True, False])
def test_a_notebook_with_the_solution_or_a_blank_answer_is_overwritten(folders, marked):
    text = cell_of(solution(), "answer-jit-add")["source"]
    if not marked:
        text = text.replace(f"{release.BEGIN}\n", "").replace(f"{release.END}\n", "") + "\n\n"
    for source in (text, ""):
        path = answered(folders, source)
        assert release.release(*folders, LESSON) == [path]
