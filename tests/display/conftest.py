"""Verdicts and exercises of every kind, and a reader that gives the words of an HTML message."""

from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from grader.check.verdict import Reason, Speed, Values, Verdict
from grader.exercises import Limits

EXERCISE = SimpleNamespace(
    id="jit-leaky-relu",
    lesson=1,
    title="A branch in the kernel",
    task="Write a jiterator kernel `leaky_relu` with one input and a keyword `slope`: x where x > 0, "
    "else slope * x. NaN stays NaN.",
    signature="leaky_relu(x, slope=0.01) -> tensor of x's shape and dtype",
    entry="leaky_relu",
    promised="float16, bfloat16, float32, float64; any shape and strides",
    limits=Limits(passes=2, launches=1),
    kind="jiterator",
    torch_ops_allowed=False,
    hints=("Think of NaN.", "Which branch does `NaN > 0` take?", "`x > 0 ? x : slope * x`"),
    points=3,
    solution="leaky_relu = torch.cuda.jiterator._create_jit_fn(\n    '...', slope=0.01\n)\n",
)
PASSED = Verdict(
    "jit-saxpy",
    Values.PASS,
    headline="saxpy is right in all 20 cases",
    counts={"launches": 1, "passes": 3},
    families={"sizes": (12, 12), "strided": (8, 8)},
    seed=77,
)
WRONG = Verdict(
    "jit-leaky-relu",
    Values.WRONG,
    Reason.NAN_MASK,
    headline="leaky_relu([nan, -1, 0, 2], slope=0.1), float32",
    lines=("expected  [nan, -0.1, 0, 2]", "got       [0, -0.1, 0, 2]       first bad index 0"),
    explanation="NaN was lost. In C++ `nan > 0` is false, as is `nan < 0`, so `x > 0 ? x : 0` sends NaN to "
    "the second branch. Which branch keeps it?",
    warnings=("`0.5` is a double: write `T(0.5)`.",),
    families={"sizes": (12, 12), "special values": (3, 4)},
    seed=1234,
)
VERDICTS = {
    "pass": PASSED,
    "wrong": WRONG,
    "slow": Verdict(
        "jit-saxpy",
        Values.PASS,
        speed=Speed.SLOW,
        counts={"launches": 2, "passes": 5},
        gpu="real",
        headline="1.9 times the reference (95% interval 1.87 to 1.92)",
        explanation="Where does the intermediate result go?",
    ),
    "unsafe": Verdict("jit-add", Values.UNSAFE, Reason.ALIASED, headline="add([1], [2]) is x itself", seed=9),
    "error": Verdict(
        "jit-add",
        Values.ERROR,
        Reason.PARSE,
        headline="jiterator could not read your code: it must start with `template`.",
        lines=("1 | // my kernel",),
        explanation="Move the comment inside the body.",
        seed=5,
    ),
    "not attempted": Verdict(
        "jit-add",
        Values.NOT_ATTEMPTED,
        Reason.NOT_ATTEMPTED,
        headline="nothing to check yet",
        explanation="Define `add` in the answer cell, run it, then check again.",
    ),
    "hostile": Verdict(
        "jit-add",
        Values.ERROR,
        Reason.RAISED,
        headline="<script>alert('x')</script> & \"quotes\" `a<b>c`",
        lines=("</pre><img src=x onerror=alert(1)>", "\x1b[31mred\x1b[0m", "tab\there", "&lt; stays &lt;"),
        explanation="<b>bold?</b>\nsecond line `unpaired",
        warnings=("<style>*{display:none}</style>",),
        seed=1,
    ),
}


_INLINE = {"code", "strong", "span"}


class _Words(HTMLParser):
    """Collects what a reader sees: nothing hidden from screen readers, no closed details."""

    def __init__(self):
        super().__init__()
        self._text = ""
        self.tags: list[str] = []
        self._hidden: list[str] = []
        self._open: list[str] = []

    @property
    def words(self) -> list[str]:
        return self._text.split()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._text += "" if tag in _INLINE else " "
        if tag == "br":
            return
        closed = bool(self._open) and self._open[-1] == "details" and tag != "summary"
        if self._hidden or closed or dict(attrs).get("aria-hidden") == "true":
            self._hidden.append(tag)
        self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag, f"</{tag}> closes nothing"
        if self._hidden:
            self._hidden.pop()
        self._text += "" if tag in _INLINE else " "

    def handle_data(self, data):
        if not self._hidden:
            self._text += data


@pytest.fixture
def read_html():
    """Parse HTML strictly and return its visible words; `.tags` lists its elements."""

    def read(html: str) -> _Words:
        parser = _Words()
        parser.feed(html)
        parser.close()
        assert not parser._open, f"left open: {parser._open}"
        return parser

    return read


@pytest.fixture(params=VERDICTS)
def any_verdict(request):
    return VERDICTS[request.param]


@pytest.fixture
def verdicts():
    return VERDICTS


@pytest.fixture
def exercise():
    return EXERCISE
