"""Matrices of similarities on the pages: brought, learned from, and refused."""

import numpy as np
import pytest

from pages.state import table_store
from pages.state.host import resolve
from pages.work import cache, file_process
from smpcore import METHODS, load_dataset
from smpcore.datasets import matrix_of
from smpcore.live import MINE, Choice
from tests import app
from tests.app import kernels, metrics, opened, said, session_of, sound
from tests.smpcore.datasets.cases import npz
from tests.test_live import Browser

pytestmark = pytest.mark.usefixtures(kernels.__name__)
POINTS = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[-1], [1]], 30, 0)
LABELS = np.repeat(["<b>a", "b"], 30)
APART = ((POINTS[:, None] - POINTS) ** 2).sum(axis=2)
NEAR, FAR = np.exp(-APART / 4), -np.sqrt(APART)
ABLE = [k for k, m in METHODS.items() if not m.refusal(load_dataset("similarities"))]


def bring(page, data):
    return app.bring(page, data, "my.npz")


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Files are read in this process."""
    call = lambda reader, file, *args, **options: reader(file, *args, **options)  # noqa: E731
    monkeypatch.setattr(file_process, "read", call)


def test_a_file_of_matrices_becomes_the_visitors_data():
    page = bring(opened({}, "data.py"), npz(near=NEAR, y=LABELS, names=np.arange(60)))
    choice = session_of(page).choice
    dataset = resolve(choice).dataset
    assert choice.data == MINE and dataset.private
    facts = metrics(page)
    assert (facts["Rows"], facts["Matrices"], facts["Training"]) == ("60", "1", "36")
    assert [tab.label for tab in page.tabs] == ["Matrices", "Table", "Classes", "Map"]
    np.testing.assert_array_equal(matrix_of(dataset, "near"), (NEAR + NEAR.T) / 2)
    assert not page.data_editor
    page.switch_page("pages/prototypes.py").run()
    assert "is used instead" in said(page) or choice.method in resolve(choice).methods


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"near": FAR, "y": LABELS}, "is no kernel: it has the eigenvalue -"),
        ({"near": NEAR, "y": np.full(60, "x")}, "one class only"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(arrays, words):
    page = bring(opened({}, "data.py"), npz(**arrays))
    assert words in said(page)
    assert session_of(page).choice.data == "moons"


def test_what_is_no_kernel_can_be_raised_or_kept():
    page = bring(opened({}, "data.py"), npz(far=FAR, y=LABELS))
    sound(page.selectbox(key="indefinite_0").select("shift").run())
    raised = resolve(session_of(page).choice)
    able = raised.methods
    assert raised.dataset.matrices[0].least == 0.0
    assert "mprotsvm" in able and "its diagonal was raised" in said(page)
    sound(page.selectbox(key="indefinite_0").select("keep").run())
    kept = resolve(session_of(page).choice)
    assert kept.dataset.matrices[0].least < -1
    assert set(kept.methods) < set(able)
    assert "so it is no kernel" in said(page)


def test_one_of_several_matrices_is_chosen_on_data():
    page = opened({"data": "similarities"}, "data.py")
    chosen = page.multiselect[0]
    assert chosen.value == ["place", "word", "chance"]
    sound(chosen.set_value(["word"]).run())
    choice = session_of(page).choice
    assert choice.forbidden == ("place", "chance")
    context = resolve(choice)
    assert len(context.methods) > len(resolve(Choice(data="similarities")).methods)
    n_train = len(context.data.split.train)
    assert context.data.X.shape == (120, n_train)
    sound(page.multiselect[0].set_value([]).run())
    assert "Choose at least one matrix" in said(page)
    assert session_of(page).choice.forbidden == ("place", "chance")


def test_what_a_visitor_brings_is_in_no_cache_of_others():
    page = bring(opened({}, "data.py"), npz(near=NEAR, y=LABELS))
    choice = session_of(page).choice
    before = resolve(choice).data
    assert cache.computed.parts(before.dataset, before.split) is before
    again = table_store.visit(choice.token)[0]
    table_store.delete(choice.token)
    assert cache.computed.parts(again, before.split) is not before


@pytest.mark.parametrize("method", ABLE)
def test_the_figure_shows_a_plane_of_the_similarities(method):
    plane = {"kind": "pca"}
    header = Browser(data="similarities", method=method, view=plane).last
    picture, scene = header["picture"], header["scene"]
    assert "kernel PCA" in scene["view"]["note"]
    assert not scene["editable"] and scene["image"] is None
    assert picture["canonical"] and 0.4 < picture["own_share"] <= 1.0
    context = resolve(Choice(data="similarities", method=method))
    model = context.model()
    predicted = model.classes[picture["predicted"]]
    X = context.data.X[scene["points"]["row"]]
    np.testing.assert_array_equal(predicted, model.predict(X))
    marks = picture["prototypes"]["marks"]
    xy = np.column_stack([scene["points"]["x"], scene["points"]["y"]])
    assert all((np.abs(xy - mark).max(axis=1) < 1e-5).any() for mark in marks)
    assert {row["name"] for row in header["controls"]} >= {"data", "method"}
    hidden = {row["name"]: row["shown"] for row in header["controls"]}
    assert not hidden.get("kernels") and not hidden.get("similarity")
    (picker,) = [row for row in header["controls"] if row["name"] == "method"]
    assert "it weighs features, and a matrix has none" in picker["remark"]
    if method == "supersparse":
        assert "A handful of real rows decides" in header["headline"]


def test_new_rows_come_with_their_similarities():
    page = bring(opened({}, "data.py"), npz(near=NEAR, y=LABELS))
    page.switch_page("pages/apply.py").run()
    assert "60 columns, how similar it is to the samples" in said(page)
    new = POINTS[:5] + 0.01  # four of them are on the side of their class
    near = np.exp(-((new[:, None] - POINTS) ** 2).sum(axis=2) / 4)
    bring(page, npz(near=near[:, :50]))
    assert "should have 60 columns" in said(page)
    bring(page, npz(near=near, y=LABELS[:5]))
    shown = metrics(page)
    assert (shown["Rows"], shown["Correct rows"]) == ("5", "4 of 5")
    context = resolve(session_of(page).choice)
    answers = context.model().predict(near[:, context.data.split.train])
    assert page.dataframe[-1].value["answer"].tolist() == answers.tolist()


def test_similarities_are_in_no_standard_deviations():
    for section in ("All", "Why this prediction"):
        query = {"data": "similarities", "p.prototypes_section": section}
        words = said(sound(opened(query, "prototypes.py")))
        assert "eight" in words and "standard deviation" not in words
