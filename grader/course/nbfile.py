"""Reading and writing notebook files. Reading takes whatever a learner may hand in, and says what is wrong
with it.
"""

import json
import os
import stat
from pathlib import Path

import nbformat

SIZE_LIMIT = 16 * 2**20  # bytes; a lesson with all its pictures has about one


class NotebookError(Exception):
    """The file is no notebook that can be read; the message is one clause that fits after the file's name."""


class EmptyFile(NotebookError):
    """There is nothing in the file."""


def read(path: Path) -> tuple[dict, bytes]:
    """The notebook in `path` as plain JSON data, and the bytes it was read from.

    Takes any Unicode encoding of JSON, with or without a byte order mark. Checked is the frame (a dict with a
    list of cells that are dicts), nothing inside the cells. Raises EmptyFile or NotebookError.
    """
    data = _read_bytes(path)
    if not data.strip(b"\xef\xbb\xbf \t\r\n\0"):
        raise EmptyFile("is empty")
    try:
        notebook = json.loads(data)
    except RecursionError:
        raise NotebookError("is nested too deeply to be a notebook") from None
    except ValueError as error:  # JSONDecodeError, UnicodeDecodeError, an endless number
        raise NotebookError(f"is not valid JSON: {error}") from None
    if not isinstance(notebook, dict):
        raise NotebookError("is not a notebook: its JSON is not an object")
    if "worksheets" in notebook:
        raise NotebookError("is in notebook format 3; open it in JupyterLab and save it again")
    cells = notebook.get("cells")
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise NotebookError("is not a notebook: it has no list of cells")
    return notebook, data


def _read_bytes(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a FIFO would be waited for, a device has no end
            raise NotebookError("is not a regular file")
        if status.st_size > SIZE_LIMIT:
            raise NotebookError(
                f"has {status.st_size / 2**20:.0f} MiB; the limit is {SIZE_LIMIT // 2**20} MiB"
            )
        with path.open("rb") as file:
            return file.read(SIZE_LIMIT)
    except OSError as error:
        raise NotebookError(f"cannot be read: {error.strerror or error}") from None


def source(cell: dict) -> str:
    """The text of a cell, lines ended by \\n. A cell without text has ''."""
    text = cell.get("source", "")
    if isinstance(text, list):
        text = "".join(part for part in text if isinstance(part, str))
    return text.replace("\r\n", "\n").replace("\r", "\n") if isinstance(text, str) else ""


def metadata(holder: dict, key: str) -> dict:
    """The dict at `metadata.key` of a notebook or cell; {} if there is none or it is something else."""
    found = holder.get("metadata")
    found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def to_text(notebook: dict) -> str:
    """The file's text exactly as Jupyter writes it: indent 1, sorted keys, a newline at the end."""
    return nbformat.writes(nbformat.from_dict(notebook), version=nbformat.NO_CONVERT).rstrip("\n") + "\n"


def write(path: Path, text: str) -> None:
    """Replace the file in one step, so that a reader never sees half of it."""
    part = path.with_name(f".{os.getpid()}.{path.name[:80]}.part")
    part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    os.replace(part, path)
