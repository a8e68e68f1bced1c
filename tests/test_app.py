"""Every page without a browser: no exception, whatever data, method or URL."""

from itertools import product
from pathlib import Path

import pytest

from pages.state.host import resolve
from pages.work import cache, studies
from smpcore import METHODS, list_datasets, load_dataset
from smpcore.live import Choice
from tests.app import kernels, opened, said, session_of
from tests.test_live import figure_of

pytestmark = pytest.mark.usefixtures(kernels.__name__)

ROOT = Path(__file__).parents[1]
PAGES = sorted(path.name for path in (ROOT / "pages").glob("*.py"))
DATA = [info.key for info in list_datasets()]
#: Every method with data of every task that it has.
PAIRS = [
    (key, data)
    for key, method in METHODS.items()
    for data in ("moons", "iris", "sine", "hills", "diabetes")
    if resolve(Choice(data=data)).task in method.estimators
]


def _able(method: str) -> list[str]:
    """Data sets that a method can learn."""
    return [
        info.key
        for info in list_datasets()
        if METHODS[method].learns(load_dataset(info.key), info.task)
    ]


#: Pages that are the same whatever the model is.
CALM = {"guide.py", "lessons.py", "papers.py"}
#: Pages that show a model, with every method at both ends of its sliders. The data
#: take turns; those with many rows and features are left to the defaults.
LARGE = {"digits", "series", "friedman", "checkerboard"}


def _round(page: str, method: str, data: str, end: int, turn: int) -> object:
    """One end of the sliders in turns; the other one by `tests/run --all`."""
    late = [pytest.mark.exhaustive] * (turn % 2 != end)
    return pytest.param(page, method, data, end, marks=late)


ROUNDS = [
    _round(page, method, able[(number + m) % len(able)], end, m + number // 2)
    for m, method in enumerate(METHODS)
    for able in [[data for data in _able(method) if data not in LARGE]]
    for number, (page, end) in enumerate(
        product(sorted(set(PAGES) - CALM - {"explore.py", "data.py"}), (0, 1))
    )
]
ROUNDS += [
    _round("explore.py", *pair, end, turn)
    for turn, pair in enumerate(PAIRS)
    for end in (0, 1)
]


def test_an_answer_comes_without_the_script_of_the_figure():
    """30 students who drag would fill a class's network with it."""
    figure, script = opened({"data": "moons"}).get("bidi_component")
    assert len(figure.proto.js_content) + len(figure.proto.css_content) < 1000
    assert len(script.proto.js_content) > 50_000


#: Of each kind that does not take its turn in the rounds above: others differ from
#: these in their points only.
KINDS = {"digits", "series", "drawn", "words", "similarities"}


@pytest.mark.parametrize(
    ("page", "data"),
    [
        pytest.param(page, data, marks=() if usual else pytest.mark.exhaustive)
        for page in PAGES
        for data in (DATA if page not in CALM else ["digits"])
        for usual in [data in KINDS or page in ("explore.py", "data.py")]
    ],
)
def test_every_page_with_every_data_set(page, data):
    assert not opened({"data": data}, page).error


@pytest.mark.parametrize(("page", "method", "data", "end"), ROUNDS)
def test_every_model_page_with_every_method_at_slider_ends(
    page, method, data, end, monkeypatch
):
    monkeypatch.setattr(studies, "COARSE", 2)
    choice, row = Choice(data=data, method=method), METHODS[method]
    ends = cache.computed.bounds(resolve(choice).data, method, resolve(choice).values)
    params = {param.name: param for param in row.controls(resolve(choice).task)}
    query = {name: f"{params[name].clean(ends[name][end]):.6g}" for name in ends}
    app = opened({"method": method, "data": data} | query, page)
    assert session_of(app).choice.method == method
    assert "Internal error" not in said(app)
    if page == "explore.py":
        header = figure_of(app)
        assert header["kind"] == "full" and header["picture"]["readouts"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"lam": "nan"}, "lam should be a number"),
        ({"lam": "<script>alert(1)</script>"}, "lam should be a number"),
        ({"method": "'; drop"}, "names an unknown method"),
        ({"data": "../../etc/passwd"}, "names an unknown data set"),
        ({"data": "mine", "mine": "x" * 500}, "not on the server"),
        ({"loss": "squared"}, "loss should be one of"),
        ({"v.at0": "inf"}, "at0 should be a number"),
        ({"seed": "one"}, "seed should be a number"),
        ({"validation": "0.6", "test": "0.6"}, "too few rows for training"),
    ],
)
def test_a_hostile_link_is_answered_in_words(query, words):
    header = figure_of(opened(query))
    texts = " ".join(notice["text"] for notice in header["notices"])
    assert words in texts
    assert header["picture"]["canonical"]
