"""Results of a batch run on the trade-off page: opened, told apart, closed."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from pages.state.session import Slot
from pages.work import studies
from smpcore import METHODS, load_dataset, split, sweep
from smpcore.evaluation import Subject, baseline_paths, edition, folds, method_path
from smpcore.evaluation.journal import write_results
from tests.app import bring, kernels, opened, said, session_of, sound, swept

pytestmark = [
    pytest.mark.usefixtures(kernels.__name__),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    dataset = load_dataset("iris")
    parts = split(dataset)
    drawn = folds(dataset, parts.train, 3)
    where = dataset, parts.train
    walks = [method_path(key, *where, n_points=3) for key in ("smallk", "smp")]
    walks += baseline_paths(dataset.task)[:1]
    rows = list(sweep(dataset, drawn, walks, mode="cold"))
    of = dataset.name, dataset.digest, parts.key, dataset.task, 3
    path = tmp_path_factory.mktemp("batch") / "r.parquet"
    write_results(path, Subject(*of, edition()), rows)
    return path.read_bytes()


def _page(content: bytes, name: str = "r.parquet", **query: str) -> AppTest:
    """The page with a file, once what is not in it has been swept."""
    page = opened({"data": "iris", "method": "smallk", **query}, "tradeoff.py")
    return swept(bring(page, content, name))


def test_its_points_open_models_and_nothing_is_fitted_again(content, monkeypatch):
    begun = []
    begin = studies.SweepJob._begin
    _page(content)  # what is not in the file is swept before
    monkeypatch.setattr(
        studies.SweepJob,
        "_begin",
        lambda job: begun.append(job.key) or begin(job),
    )
    app = _page(content)
    assert "144 fits of SMP" in said(app) and "SMaLL" in said(app)
    assert len(app.selectbox(key="point").options) == 6
    (n_folds,) = (n for n in app.number_input if n.label == "Folds")
    assert n_folds.disabled and n_folds.value == 3, "those of the file"
    assert not begun
    drawn = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    titles = {METHODS[key].title for key in ("smallk", "smp")}
    assert titles <= {trace["name"] for trace in drawn}, "SMP is in the file only"
    session_of(app).choice = session_of(app).choice.__class__(
        data="iris", method="smallk", values={"lam": 0.3}
    )
    app.run()
    point = app.selectbox(key="point")
    mine = [i for i, text in enumerate(point.options) if "SMaLL" in text]
    point.select_index(mine[1]).run()
    app.button(key="use_point").click().run()
    choice = session_of(app).choice
    assert set(choice.values) == {"k"}, "other values are those of the batch run"
    assert "Used on every page" in sound(app).success[0].value


def test_it_stays_while_other_pages_are_seen_and_goes_when_closed(content):
    app = _page(content)
    app.switch_page("pages/prototypes.py").run()
    app.switch_page("pages/tradeoff.py").run()
    assert "From r.parquet" in said(sound(app))
    app.button(key="close_batch").click().run()
    assert "From r.parquet" not in said(sound(app))
    assert session_of(app).results[Slot("batch")][1] is None


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"data": "wine"}, "not of the data that"),
        ({"seed": "3"}, "other training rows"),
    ],
)
def test_results_of_something_else_are_told_apart(content, query, words):
    app = _page(content, **query)
    assert words in " ".join(w.value for w in app.warning)
    assert app.selectbox(key="point").options, "its own sweep is there"


def test_a_cut_file_is_told_and_the_page_stays(content):
    app = _page(content[: len(content) // 2], "<b>half</b>.parquet")
    (error,) = app.error
    assert "is cut off" in error.value and "<b>" not in error.value.replace("\\<", "")
    assert app.selectbox(key="point").options
