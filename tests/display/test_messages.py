"""Cards, hints, verdicts and tables: what they say, and that both forms say it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from grader import display
from grader.check.verdict import Speed
from grader.display.words import plural
from grader.exercises import Limits
from grader.progress_file import Record
from grader.simgpu.limits import LIMITS


def all_messages(exercise, verdicts):
    other = SimpleNamespace(**{**vars(exercise), "id": "jit-add", "points": 2})
    finding = SimpleNamespace(
        name="C++ compiler", status="bad", detail="none found", fix="apt install g++ <or> clang"
    )
    fine = SimpleNamespace(name="Python", status="ok", detail="3.11.2", fix="")
    return [
        *(display.verdict(v, exercise) for v in verdicts.values()),
        display.card(exercise, 3, simulated=True),
        *(display.hint(exercise, i) for i in (1, 3, 4)),
        display.solution(exercise),
        display.note("jit-add", "Hand over your answer: check(add)"),
        display.progress({0: [], 1: [exercise, other]}, {"jit-add": Record(2, True, 1, True)}),
        display.doctor([fine, finding]),
        display.limits(LIMITS),
        display.predict("How long, x < y?", ["a tenth & less", "<much> longer"]),
    ]


def words(text):
    return text.replace("`", "").split()


def test_text_and_html_say_the_same_words(exercise, verdicts, read_html):
    for message in all_messages(exercise, verdicts):
        html = [word.replace("`", "") for word in read_html(message.html).words]
        assert [word for word in html if word] == words(message.text)


def test_html_is_made_of_plain_elements_with_a_name_for_screen_readers(exercise, verdicts, read_html):
    allowed = {
        "div",
        "span",
        "strong",
        "code",
        "pre",
        "br",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
    }
    for message in all_messages(exercise, verdicts):
        assert set(read_html(message.html).tags) <= allowed
        assert message.html.startswith('<div role="group" aria-label="')
        assert "class=" not in message.html and "<style" not in message.html


def test_messages_are_the_same_each_time(exercise, verdicts):
    first, second = all_messages(exercise, verdicts), all_messages(exercise, verdicts)
    assert [(m.text, m.html) for m in first] == [(m.text, m.html) for m in second]


def test_both_forms_reach_the_notebook(any_verdict, exercise):
    shown = display.verdict(any_verdict, exercise)
    assert shown._repr_mimebundle_() == {"text/plain": shown.text, "text/html": shown.html}
    assert repr(shown) == str(shown) == shown.text


def test_lines_of_prose_wrap_and_keep_their_words(exercise, verdicts):
    for message in all_messages(exercise, verdicts):
        assert all(len(line) <= 100 for line in message.text.split("\n"))
        assert all(line == line.rstrip() for line in message.text.split("\n"))


def test_card_is_the_sample_card(exercise):
    assert display.card(exercise, 3, simulated=True).text == "\n".join(
        [
            "jit-leaky-relu                                                      3 points",
            "Write a jiterator kernel `leaky_relu` with one input and a keyword `slope`: x where x > 0, else",
            "slope * x. NaN stays NaN.",
            "signature   leaky_relu(x, slope=0.01) -> tensor of x's shape and dtype",
            "promised    float16, bfloat16, float32, float64; any shape and strides",
            "allowed     your own jiterator kernel; no torch operation",
            "graded      values; 2 passes over memory, 1 launch   (not timed here: no GPU)",
            "hint() 3 left · solution() costs nothing, it is noted in your progress",
        ]
    )


def test_card_on_a_real_gpu_does_not_speak_of_a_missing_one(exercise):
    assert "no GPU" not in display.card(exercise, 3, simulated=False).text


def test_pass_says_what_was_counted_and_which_cases_passed(verdicts, exercise):
    assert display.verdict(verdicts["pass"], exercise).text == (
        "PASS   jit-saxpy   3 points   1 launch, 3 passes over memory (modelled)   "
        "speed: not timed (no GPU)\n"
        "saxpy is right in all 20 cases\n"
        "kinds of cases: sizes · strided"
    )


def test_pass_holds_no_seed(verdicts, exercise):
    shown = display.verdict(verdicts["pass"], exercise)
    assert "77" not in shown.text + shown.html and "seed" not in shown.text + shown.html


def test_wrong_shows_case_cause_warning_and_seed(verdicts, exercise):
    assert display.verdict(verdicts["wrong"], exercise).text == "\n".join(
        [
            "WRONG (nan_mask)   leaky_relu([nan, -1, 0, 2], slope=0.1), float32",
            "expected  [nan, -0.1, 0, 2]",
            "got       [0, -0.1, 0, 2]       first bad index 0",
            "NaN was lost. In C++ `nan > 0` is false, as is `nan < 0`, so `x > 0 ? x : 0` sends NaN to the "
            "second",
            "branch. Which branch keeps it?",
            "cases passed: 15 of 16 (special values 3 of 4)",
            "the same inputs again: check(..., seed=1234)",
            "warning: `0.5` is a double: write `T(0.5)`.",
        ]
    )


def test_error_in_the_code_needs_no_seed(verdicts, exercise):
    text = display.verdict(verdicts["error"], exercise).text
    assert text.startswith("ERROR   jiterator could not read your code") and "seed" not in text


def test_not_attempted_is_friendly(verdicts, exercise):
    text = display.verdict(verdicts["not attempted"], exercise).text
    assert text.startswith("NOT ATTEMPTED   jit-add") and "Define `add`" in text and "seed" not in text


def test_slow_does_not_look_like_a_pass(verdicts, exercise):
    assert display.verdict(verdicts["slow"], exercise).text == "\n".join(
        [
            "SLOW   1.9 times the reference (95% interval 1.87 to 1.92)",
            "Where does the intermediate result go?",
            "the values are right: 2 launches, 5 passes over memory (modelled)",
        ]
    )


@pytest.mark.parametrize(
    ("speed", "gpu", "told"),
    [
        (Speed.FAST, "real", "speed: fast"),
        (Speed.INCONCLUSIVE, "real", "speed: inconclusive (too noisy to say"),
        (Speed.NOT_TIMED, "real", "speed: not timed"),
        (Speed.NOT_TIMED, "simulated", "speed: not timed (no GPU)"),
    ],
)
def test_speed_is_said_in_words(verdicts, speed, gpu, told, exercise):
    text = " ".join(display.verdict(replace(verdicts["pass"], speed=speed, gpu=gpu), exercise).text.split())
    assert told in text and ("no GPU" in text) == ("no GPU" in told)


def test_learners_text_never_becomes_markup(verdicts, read_html, exercise):
    shown = display.verdict(verdicts["hostile"], exercise)
    assert not {"script", "img", "style", "b"} & set(read_html(shown.html).tags)
    assert "<script>alert('x')</script>" in shown.text
    assert "\x1b" not in shown.text + shown.html and r"\x1b[31mred" in shown.text
    assert "tab\there" in shown.html and "&amp;lt; stays" in shown.html


def test_each_tone_has_its_own_icon(verdicts, exercise):
    icons = {
        name: display.verdict(v, exercise).html.split('aria-hidden="true">')[1][0]
        for name, v in verdicts.items()
    }
    shown = [icons[name] for name in ("pass", "wrong", "unsafe", "error", "not attempted")]
    assert len(set(shown)) == len(shown)


def test_hints_come_one_by_one_and_then_all(exercise):
    assert (
        "hint 1 of 3" in display.hint(exercise, 1).text
        and "Which branch" not in display.hint(exercise, 1).text
    )
    assert "2 left" in display.hint(exercise, 1).text
    assert "solution()" in display.hint(exercise, 3).text
    assert all(hint in display.hint(exercise, 4).text for hint in exercise.hints)


def test_solution_keeps_its_indentation_and_names_its_place(exercise):
    text = display.solution(exercise).text
    assert "\n    '...', slope=0.01\n)" in text and "solutions/" in text and "lesson 01" in text


def test_progress_counts_lessons_and_points(exercise):
    other = SimpleNamespace(**{**vars(exercise), "id": "jit-add", "points": 2})
    text = display.progress({1: [exercise, other]}, {"jit-add": Record(2, True, 1, True)}).text
    first = " ".join(text.split("\n")[0].split())
    assert first == "your progress 1 of 2 exercises done 2 of 5 points"
    assert ["lesson", "01", "2", "of", "5", "1", "of", "2", "done"] in [
        line.split() for line in text.split("\n")
    ]
    rows = {line.split()[0]: line.split() for line in text.split("\n")}
    assert rows["jit-add"] == ["jit-add", "2", "of", "2", "passed", "1", "hint,", "solution"]
    assert rows["jit-leaky-relu"] == ["jit-leaky-relu", "0", "of", "3", "not", "started"]


def test_doctor_shows_each_finding_and_its_fix():
    finding = SimpleNamespace(name="C++ compiler", status="bad", detail="none found.", fix="install g++")
    text = display.doctor([finding]).text
    assert "1 finding to look at" in text and "fix" in text and "none found. Fix: install g++" in text


def test_predict_needs_choices():
    for choices in ("abc", ["one"], ["same", "same"]):
        with pytest.raises(ValueError, match="at least two different choices"):
            display.predict("?", choices)


def test_predict_lists_its_choices_without_a_notebook(capsys):
    shown = display.predict("How long?", ["short", "long"])
    assert capsys.readouterr().out == shown.text + "\n"
    assert shown.text.split("\n")[1:3] == ["  1. short", "  2. long"]


def test_predict_has_only_one_choice_open_and_no_need_of_a_kernel():
    html = display.predict("How long?", ["short", "long"]).html
    names = [part.split('"')[0] for part in html.split('<details name="')[1:]]
    assert len(names) == 2 and len(set(names)) == 1
    assert "You chose <strong>long</strong>. Now run the next cell." in html
    assert names[0] not in display.predict("How long?", ["short", "longer"]).html


def test_compiles_are_said_where_they_are_graded(verdicts, exercise):
    found = replace(verdicts["pass"], counts={"launches": 1, "passes": 2.5, "compiles": 1, "creates": 1})
    assert "1 launch, 2.5 passes over memory (modelled)" in display.verdict(found, exercise).text
    exercise = SimpleNamespace(**{**vars(exercise), "limits": Limits(compiles=1)})
    assert "1 launch, 2.5 passes over memory, 1 compile (modelled)" in display.verdict(found, exercise).text


def test_a_verdict_without_counts_speaks_of_none(verdicts, exercise):
    text = display.verdict(replace(verdicts["pass"], counts={}, gpu="real"), exercise).text
    assert text.split("\n")[0] == "PASS   jit-saxpy   3 points   speed: not timed"


def test_failures_everywhere_are_not_listed_one_by_one(verdicts, exercise):
    found = replace(verdicts["wrong"], families={name: (0, 2) for name in "abcd"} | {"e": (1, 1)})
    assert "cases passed: 1 of 9\n" in display.verdict(found, exercise).text


@pytest.mark.parametrize(
    "count, words",
    [(1, "1 try"), (2, "2 tries"), (2.5, "2.5 tries"), (1010, "1010 tries"), (3.001, "3 tries")],
)
def test_counts_are_written_out(count, words):
    assert plural(count, "try", "tries") == words


def test_tries_are_counted_until_the_exercise_is_passed(exercise):
    def state(record):
        return display.progress({1: [exercise]}, {exercise.id: record}).text

    assert "not passed yet (2 tries)" in state(Record(2, False, 0, False))
    assert "try" not in state(Record(3, True, 0, False)) and "tries" not in state(Record(3, True, 0, False))


def test_limits_say_what_each_gpu_does_and_why():
    text = display.limits(LIMITS).text
    assert len({entry.name for entry in LIMITS}) == len(LIMITS)
    for entry in LIMITS:
        for part in (entry.name, entry.real, entry.here, entry.why):
            assert all(word in words(text) for word in words(part)), part
