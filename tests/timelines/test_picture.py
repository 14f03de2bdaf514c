"""The picture of a timeline and its words."""

import pytest
from matplotlib.colors import to_hex

from grader.display.picture import VERMILLION
from grader.display.timeline import timeline
from grader.display.timeline_groups import groups
from grader.display.timeline_words import in_words, table
from grader.timelines import Bar, Chart, Span


def chart(*, modelled=True):
    """A kernel on stream 1, one on the default stream that waits for it, and one that finds no room."""
    launches = [Span(f"launch {name}", i * 10e-6, (i + 1) * 10e-6) for i, name in enumerate("abc")]
    first = Bar("mul", "stream 1", "kernel", 10e-6, 100e-6, 10e-6, launch=launches[0], line="line 3: `x * y`")
    second = Bar("add", "the default stream", "kernel", 100e-6, 200e-6, 100e-6, "event", first, launches[1])
    crowded = Bar("tanh", "stream 2", "kernel", 200e-6, 250e-6, 30e-6, "room", second, launches[2])
    copy = Bar("Memcpy DtoH", "stream 2", "d2h", 250e-6, 300e-6, 250e-6, "stream", crowded)
    waiting = Span("torch.cuda.synchronize()", 30e-6, 300e-6, on=copy)
    return Chart([first, second, crowded, copy], [*launches, waiting], "a GPU", modelled)


def drawn_texts(picture):
    axes = picture.figure.axes[0]
    ticks = [label.get_text() for label in axes.get_yticklabels()]
    titles = [axes.get_title(loc=loc) for loc in ("left", "right")]
    legend = [text.get_text() for text in picture.figure.legends[0].get_texts()]
    return [t.get_text() for t in axes.texts] + ticks + titles + legend


def test_every_stream_has_a_lane_the_host_first():
    axes = timeline(chart()).figure.axes[0]
    lanes = {label.get_text(): y for label, y in zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)}
    top_down = sorted(lanes, key=lanes.get, reverse=True)
    assert top_down == ["host", "default stream", "stream 1", "stream 2"]


def test_what_fits_is_labelled_and_the_origin_is_said():
    texts = drawn_texts(timeline(chart()))
    assert {"mul", "add", "tanh", "waits for room"} <= set(texts)
    assert "modelled, a GPU" in texts
    assert "critical path 300 microseconds" in texts
    assert "measured on a GPU" in drawn_texts(timeline(chart(modelled=False)))


def test_the_critical_path_is_outlined():
    outlined = [
        box
        for box in timeline(chart()).figure.axes[0].patches
        if to_hex(box.get_edgecolor()) == VERMILLION.lower()
    ]
    starts = sorted(round(box.get_x()) for box in outlined)
    assert starts == [0, 10, 100, 200, 250]


def test_waits_between_lanes_are_arrows():
    arrows = [a for a in timeline(chart()).figure.axes[0].texts if a.get_text() == ""]
    # The first launch, the event, the missing room, and the host's return; work of one stream needs none.
    assert len(arrows) == 4


def test_nothing_reaches_out_of_the_picture():
    figure = timeline(chart()).figure
    figure.draw_without_rendering()
    axes = figure.axes[0]
    inside = figure.bbox
    for artist in [*axes.texts, *figure.legends, axes.title, axes.xaxis.label, *axes.get_yticklabels()]:
        box = artist.get_window_extent()
        assert inside.x0 <= box.x0 and box.x1 <= inside.x1, artist
        assert inside.y0 <= box.y0 and box.y1 <= inside.y1, artist


def test_labels_stay_inside_their_boxes():
    figure = timeline(chart()).figure
    figure.draw_without_rendering()
    axes = figure.axes[0]
    boxes = [box.get_window_extent() for box in axes.patches]
    for text in axes.texts:
        if text.get_text():
            extent = text.get_window_extent()
            assert any(box.x0 <= extent.x0 and extent.x1 <= box.x1 for box in boxes), text.get_text()


def test_many_short_equal_pieces_are_drawn_as_one():
    launch = Span("launch add", 0, 1e-6)
    bars = []
    for i in range(50):
        before = bars[-1] if bars else None
        why = "stream" if before else "host"
        bars.append(Bar("add", "s", "kernel", (i + 1) * 1e-6, (i + 2) * 1e-6, i * 1e-6, why, before, launch))
    long = Chart(bars, [launch], "a GPU", modelled=True)
    kernels = [g for g in groups(long, {id(s) for s in long.path}) if g.stream == "s"]
    assert [(g.count, g.labels[0]) for g in kernels] == [(50, "50 × add")]
    assert "50 × add" in drawn_texts(timeline(long))
    assert "50 times add from 1 to 51" in in_words(long)


@pytest.mark.parametrize(
    "words",
    [
        "300 microseconds, modelled, a GPU",
        "3 streams below it",
        "The default stream: add from 100 to 200.",
        "add on the default stream waits for mul on stream 1.",
        "tanh on stream 2 waits for room, which add on the default stream takes.",
        "Critical path: launch a (host), then mul (stream 1), then add (the default stream)",
    ],
)
def test_the_words_say_what_the_picture_shows(words):
    assert words in timeline(chart()).alt


def test_the_table_lists_everything_in_order_of_time_with_the_learners_line():
    lines = table(chart()).splitlines()
    assert [line.split()[1 if line[0] == "*" else 0] for line in lines[1:-1]] == [
        "0", "10", "10", "20", "30", "100", "200", "250",
    ]  # fmt: skip
    assert any("mul" in line and "line 3: `x * y`" in line for line in lines)
    assert any("until Memcpy DtoH on stream 2 is done" in line for line in lines)
    assert lines[-1] == "critical path (*): 300 microseconds, modelled, a GPU"


def test_a_long_table_is_cut():
    spans = [Span(f"call {i}", i * 1e-6, (i + 1) * 1e-6) for i in range(100)]
    text = table(Chart([], spans, "a GPU", modelled=True))
    assert "... and 40 more" in text
    assert len(text.splitlines()) < 65


def test_an_empty_timeline_can_be_drawn():
    picture = timeline(Chart([], [], "a GPU", modelled=True))
    assert picture.png().startswith(b"\x89PNG")
    assert "nothing ran" in picture.alt


def test_an_empty_timeline_says_that_nothing_ran():
    for empty in (Chart([], [], "a GPU", True), Chart([], [Span("synchronize", 0, 1e-6)], "a GPU", True)):
        assert "nothing ran on the GPU" in drawn_texts(timeline(empty))
        assert "nothing ran on the GPU" in table(empty) and "nothing ran on the GPU" in in_words(empty)
