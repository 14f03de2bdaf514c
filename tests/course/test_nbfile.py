"""What is taken as a notebook, and what is said of a file that is none."""

import json
import os

import pytest

from grader.course import nbfile

NOTEBOOK = {
    "cells": [{"cell_type": "code", "source": "a\n"}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}
TEXT = json.dumps(NOTEBOOK)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_every_encoding_of_json_is_read(tmp_path, encoding):
    (tmp_path / "x.ipynb").write_bytes(TEXT.encode(encoding))
    assert nbfile.read(tmp_path / "x.ipynb")[0] == NOTEBOOK


def test_windows_line_ends_become_newlines():
    assert nbfile.source({"source": ["a\r\n", "b\r\n"]}) == "a\nb\n"


@pytest.mark.parametrize("content", [b"", b" \r\n", b"\xef\xbb\xbf", b"\0" * 100])
def test_nothing_in_the_file(tmp_path, content):
    (tmp_path / "x.ipynb").write_bytes(content)
    with pytest.raises(nbfile.EmptyFile):
        nbfile.read(tmp_path / "x.ipynb")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (TEXT[:-20].encode(), "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 10_000, "not valid JSON"),
        (b"[]", "not an object"),
        (b"{}", "no list of cells"),
        (b'{"cells": [1]}', "no list of cells"),
        (b'{"worksheets": []}', "format 3"),
        (b"%PDF-1.7", "not valid JSON"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, content, says):
    (tmp_path / "x.ipynb").write_bytes(content)
    with pytest.raises(nbfile.NotebookError, match=says) as caught:
        nbfile.read(tmp_path / "x.ipynb")
    assert not isinstance(caught.value, nbfile.EmptyFile)


def test_a_huge_file_is_not_read(tmp_path):
    with (tmp_path / "x.ipynb").open("wb") as file:
        file.truncate(100 * 2**20)
    with pytest.raises(nbfile.NotebookError, match="100 MiB; the limit is 16 MiB"):
        nbfile.read(tmp_path / "x.ipynb")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.ipynb")
    with pytest.raises(nbfile.NotebookError, match="not a regular file"):
        nbfile.read(tmp_path / "x.ipynb")


def test_a_link_to_nowhere_is_said_to_be_unreadable(tmp_path):
    (tmp_path / "x.ipynb").symlink_to(tmp_path / "gone")
    with pytest.raises(nbfile.NotebookError, match="cannot be read"):
        nbfile.read(tmp_path / "x.ipynb")


@pytest.mark.parametrize("source", [None, 5, {"a": 1}, [1, None]])
def test_a_cell_without_text_has_none(source):
    assert nbfile.source({"source": source}) == ""


def test_text_is_what_jupyter_writes():
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("a = 'ü'", id="a")])
    assert nbfile.to_text(notebook) == nbformat.writes(notebook) + "\n"
