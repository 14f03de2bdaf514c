"""Messages in a real browser, on light and dark pages, wide and narrow.

Needs Playwright and Chromium, which the course itself does not:
    pip install playwright; apt install chromium   (or set CHROMIUM to the browser's path)
"""

import os
import shutil
from types import SimpleNamespace

import pytest

from grader import display, exercises
from grader.check.verdict import Reason, Speed, Values, Verdict
from grader.progress_file import Record

BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(sync_playwright is None, reason="Playwright is not installed"),
    pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed"),
]

# The page and text colours of JupyterLab's two themes, of VS Code's dark one and of Colab's dark one.
PAGES = {
    "light": ("#ffffff", "rgba(0,0,0,.87)"),
    "dark": ("#111111", "rgba(255,255,255,1)"),
    "vscode": ("#1f1f1f", "#cccccc"),
    "colab": ("#383838", "#e3e3e3"),
}
LONG = "x" * 300
HOSTILE = Verdict(
    "jit-add",
    Values.ERROR,
    Reason.RAISED,
    headline=f"<script>document.title='bad'</script> {LONG}",
    lines=(LONG, "<img src=x onerror=\"document.title='bad'\">"),
    explanation=f"`{LONG}` and {LONG}",
    warnings=(LONG,),
)
NOTHING = Verdict("jit-add", Values.NOT_ATTEMPTED, headline="add is not written yet")
ALIASED = Verdict(
    "jit-add", Values.UNSAFE, Reason.ALIASED, headline="add([1], [2])", families={"small": (0, 2)}, seed=1
)


def messages():
    everything = exercises.all()
    first = everything[-1]
    passed = Verdict(first.id, Values.PASS, counts={"launches": 1, "passes": 3}, families={"small": (4, 4)})
    slow = Verdict(first.id, Values.PASS, speed=Speed.SLOW, headline="1.9 times the reference", gpu="real")
    wrong = Verdict(
        first.id, Values.WRONG, Reason.VALUE, headline="f([1])", lines=("expected  [1]", "got       [2]")
    )
    findings = [
        SimpleNamespace(
            name="C++ compiler", status=status, detail=f"/a/long/path{LONG}", fix="pip install this"
        )
        for status in ("ok", "note", "warn", "bad")
    ]
    return [
        *(display.card(ex, 3, simulated=True) for ex in everything),
        *(display.verdict(v, first) for v in (passed, slow, wrong, ALIASED, NOTHING, HOSTILE)),
        *(display.hint(first, i) for i in (1, 4)),
        display.solution(first),
        display.progress(exercises.by_lesson(), {first.id: Record(2, True, 3, True)}),
        display.doctor(findings),
        display.predict("How long?", ["as long as the GPU computes", LONG]),
    ]


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=PAGES)
def page(request, browser):
    """All messages one below the other, on a page as wide as half a laptop's screen."""
    paper, ink = PAGES[request.param]
    page = browser.new_page(viewport={"width": 640, "height": 900})
    style = f"margin:8px;background:{paper};color:{ink};font:14px sans-serif"
    body = "".join(message.html for message in messages())
    page.set_content(f'<!doctype html><title>fine</title><body style="{style}">{body}</body>')
    yield page
    page.close()


@pytest.mark.parametrize("width", [1400, 640, 360])
def test_nothing_is_wider_than_the_page(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    wide = page.evaluate(
        """() => [...document.querySelectorAll("body *")]
            .filter(e => e.getBoundingClientRect().right > innerWidth + 1
                || (e.clientWidth && e.scrollWidth > e.clientWidth + 1))
            .map(e => e.outerHTML.slice(0, 200))"""
    )
    assert wide == []


CONTRASTS = """() => {
    const parse = c => { const n = c.match(/[\\d.]+/g).map(Number); return [n[0], n[1], n[2], n[3] ?? 1]; };
    const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
    const lum = c => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => {
        const v = c[i] / 255; return sum + w * (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        }, 0);
    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (words.nextNode()) {
        const text = words.currentNode.textContent.trim();
        if (!text || words.currentNode.parentElement.closest('[aria-hidden]')) continue;
        const chain = [];
        for (let e = words.currentNode.parentElement; e; e = e.parentElement) chain.unshift(e);
        let paper = [255, 255, 255], opacity = 1;
        for (const e of chain) {
            const style = getComputedStyle(e);
            paper = over(parse(style.backgroundColor), paper);
            opacity *= Number(style.opacity);
        }
        const ink = parse(getComputedStyle(words.currentNode.parentElement).color);
        ink[3] *= opacity;
        const [a, b] = [lum(over(ink, paper)), lum(paper)].sort((x, y) => y - x);
        found.push([(a + 0.05) / (b + 0.05), text.slice(0, 60)]);
    }
    return found;
}"""


def test_text_is_easy_to_read_on_every_page(page):
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 100
    assert [text for ratio, text in contrasts if ratio < 4.5] == []


def test_no_script_of_a_learner_runs(page):
    page.wait_for_timeout(100)
    assert page.title() == "fine"


def test_each_message_has_a_name_for_screen_readers(page):
    groups = page.get_by_role("group")
    names = [groups.nth(i).get_attribute("aria-label") for i in range(groups.count())]
    named = [name for name in names if name]
    assert len(named) == len(messages())
    assert "Verdict for jit-add: NOT ATTEMPTED" in named


def test_choosing_opens_one_choice_and_closes_the_other(page):
    first, second = page.locator("summary").nth(0), page.locator("summary").nth(1)
    first.click()
    assert page.get_by_text("Now run the next cell").nth(0).is_visible()
    second.click()
    assert not page.get_by_text("Now run the next cell").nth(0).is_visible()
    assert page.get_by_text("Now run the next cell").nth(1).is_visible()
