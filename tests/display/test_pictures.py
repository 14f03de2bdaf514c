"""Pictures are right by what they plot, show once, and come with their content in words."""

import base64
import io
import subprocess
import sys

import pytest
import torch
from matplotlib.image import imread
from matplotlib.text import Text

from grader.display import pictures
from grader.display.readme_picture import readme_picture

FLAT = ([1, 2, 3], [10, 20, 30], [11, 22, 33])
ONE = ([1, 2, 3], [10], [11, 12, 13])
TABLE = ([[1], [2]], [10, 20, 30], [[11, 21, 31], [12, 22, 32]])
ALL = {
    "host_queue_device": pictures.host_queue_device,
    "elementwise": lambda: pictures.elementwise(*FLAT),
    "elementwise, one element": lambda: pictures.elementwise(*ONE),
    "elementwise, broadcast": lambda: pictures.elementwise(*TABLE),
    "elementwise, eight": lambda: pictures.elementwise(range(8), [-0.25] * 8, [1234] * 8, "x * y + 1"),
    "call_times": lambda: pictures.call_times([55.0, 0.02, 0.021]),
    "readme_picture": readme_picture,
}


@pytest.fixture(params=ALL)
def picture(request):
    return ALL[request.param]()


def ends(spans):
    return [start + length for start, length in spans]


def test_every_picture_has_words_and_a_readable_size(picture):
    assert len(picture.alt) > 60 and picture.alt.endswith(".") and "\n" not in picture.alt
    assert 7 <= picture.figure.get_figwidth() <= 8
    shown = [t for t in picture.figure.findobj(Text) if t.get_text() and t.get_visible()]
    assert min(t.get_fontsize() for t in shown) >= 10


def test_nothing_is_cut_off(picture):
    picture.png()  # lays it out
    drawn = picture.figure.get_tightbbox()  # inches
    width, height = picture.figure.get_size_inches()
    hair = 0.02
    assert -hair <= drawn.x0 and drawn.x1 <= width + hair
    assert -hair <= drawn.y0 and drawn.y1 <= height + hair


def test_png_is_an_image_of_that_size_on_white(picture):
    image = imread(io.BytesIO(picture.png()))
    assert image.shape[1] == round(picture.figure.get_figwidth() * 160)
    assert (image[0, 0, :3] == 1).all()


def test_a_picture_shows_one_image_with_its_words(picture, monkeypatch):
    shown = []
    monkeypatch.setattr(
        "IPython.display.display", lambda data, raw, metadata=None: shown.append((data, metadata))
    )
    picture._ipython_display_()
    (image, metadata), (words, _) = shown
    assert base64.b64decode(image["image/png"]).startswith(b"\x89PNG")
    assert picture.alt in image["text/plain"] and metadata["image/png"]["alt"] == picture.alt
    assert "<details>" in words["text/html"] and "image/png" not in words
    assert "0x" not in repr(picture)


def test_pictures_are_unknown_to_pyplot(picture):
    from matplotlib import pyplot

    assert pyplot.get_fignums() == []


def test_the_device_works_in_order_and_never_before_the_launch():
    data = pictures.host_queue_device().data
    launched, device = ends(data["host"]), data["device"]
    assert all(start >= end for (start, _), end in zip(device, launched, strict=True))
    assert [start for start, _ in device[1:]] == pytest.approx(ends(device)[:-1])
    assert ends(data["queue"]) == pytest.approx([start for start, _ in device])


def test_python_is_free_long_before_the_device_and_synchronize_ends_with_it():
    data = pictures.host_queue_device().data
    assert max(ends(data["host"])) < data["free"][0] < ends([data["free"]])[0] < data["synchronize"][0]
    assert ends([data["synchronize"]]) == pytest.approx([max(ends(data["device"]))])
    assert max(ends(data["host"])) < min(ends(data["device"]))


@pytest.mark.parametrize(("arguments", "threads"), [(FLAT, 3), (ONE, 3), (TABLE, 6)])
def test_elementwise_has_a_thread_for_each_element(arguments, threads):
    picture = pictures.elementwise(*arguments)
    assert picture.data == {"a": arguments[0], "b": arguments[1], "out": arguments[2], "threads": threads}
    written = {t.get_text() for t in picture.figure.findobj(Text)}
    numbers = torch.tensor(arguments[2]).flatten().tolist()
    assert {str(n) for n in numbers} <= written and all(str(n) in picture.alt for n in numbers)


def test_elementwise_takes_tensors():
    a, b = torch.tensor([1.5, 2.0]), torch.tensor([1.0, 1.0])
    assert pictures.elementwise(a, b, a + b).data["out"] == [2.5, 3.0]


def test_a_shared_element_is_said_to_be_shared():
    assert "broadcasting" in pictures.elementwise(*ONE).alt
    assert "broadcasting" not in pictures.elementwise(*FLAT).alt


@pytest.mark.parametrize(
    "arguments", [([1, 2], [1, 2, 3], [1, 2]), ([[1, 2]], [1, 2], [[2, 4]]), ([], [], [])]
)
def test_elementwise_refuses_what_it_cannot_draw(arguments):
    with pytest.raises(ValueError, match="no picture for shapes"):
        pictures.elementwise(*arguments)


def test_call_times_plots_the_times_it_was_given():
    times = [55.0, 0.02, 0.021]
    picture = pictures.call_times(times)
    (axes,) = picture.figure.axes
    assert [bar.get_width() for bar in axes.patches] == times
    assert axes.get_xscale() == "log"
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == picture.data["labels"] == ["first call (compiles)", "second call", "third call"]
    assert "first call (compiles): 55 ms" in picture.alt


def test_call_times_marks_bars_that_compile_by_more_than_colour():
    picture = pictures.call_times([50, 0.02, 60], ["float32 (compiles)", "again", "float64 (compiles)"])
    assert [bool(bar.get_hatch()) for bar in picture.figure.axes[0].patches] == [True, False, True]


@pytest.mark.parametrize(
    ("times", "labels"), [([1], None), ([1, 0], None), ([1, float("nan")], None), ([1, 2], ["a"])]
)
def test_call_times_refuses_what_it_cannot_draw(times, labels):
    with pytest.raises(ValueError, match="call_times"):
        pictures.call_times(times, labels)


def test_the_readme_picture_shows_code_that_compiles():
    compile(readme_picture().data["code"], "picture", "exec")


def test_the_readme_picture_is_written_by_its_module(tmp_path):
    command = [sys.executable, "-m", "grader.display.readme_picture", str(tmp_path / "picture.png")]
    subprocess.run(command, check=True, timeout=120)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
