"""The figure in a notebook cell, without its browser: what it is told and gives."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris, make_moons

import smpcore
from smpcore import METHODS, SMaLLClassifier, SMPClassifier, SmpcoreError
from smpcore.errors import cautions
from smpcore.live import STOPPED, notebook
from tests.test_live import unpacked


class Cell:
    """A browser that sends messages to a figure and reads its answers."""

    def __init__(self, *table, **options):
        self.figure = smpcore.explore(*table, **options)
        self.figure.send = self._received
        self.seq, self.scene, self.last = 0, "", {}
        self.say("set", values={}, dragging=False)

    def _received(self, content, buffers):
        assert content == {"kind": "answer"}
        self.last = unpacked(buffers[0])
        self.scene = self.last.get("scene", {}).get("id", self.scene)

    def say(self, kind, **more):
        self.seq += 1
        message = {"kind": kind, "seq": self.seq, "have": self.scene, **more}
        self.figure._handle_custom_msg(message, [])
        assert self.last["seq"] == self.seq
        return self.last

    def drag(self, dragging=False, **values):
        return self.say("set", values=values, dragging=dragging)


@pytest.fixture(scope="module")
def moons():
    return make_moons(100, noise=0.3, random_state=3)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_names_and_classes_are_those_of_the_table(kind):
    X, y = load_iris(return_X_y=True, as_frame=True)
    named = np.array(["setosa", "versicolor", "virginica"])[y]
    scene = Cell(kind(X), named).last["scene"]
    assert scene["features"] == [*X.columns]
    assert scene["classes"] == ["setosa", "versicolor", "virginica"]


def test_the_model_is_the_one_on_the_screen(moons):
    cell, seen = Cell(*moons, method="smp"), []
    cell.figure.observe(lambda change: seen.append(change["new"]), "values")
    cell.drag(lam=0.02, dragging=True)
    cell.drag(lam=0.05)
    assert seen == [{"lam": 0.02}, {"lam": 0.05}] and cell.figure.values == seen[1]
    fitted, points = cell.figure.model_, cell.last["picture"]
    rows = smpcore.split(cell.figure._context.table).train
    anew = SMPClassifier(lam=0.05).fit(moons[0][rows], moons[1][rows])
    np.testing.assert_array_equal(fitted.model_.anchors, anew.model_.anchors)
    assert points["canonical"] and points["value"] == 0.05
    owners = points["prototypes"]["owner"]
    np.testing.assert_array_equal(owners, anew.model_.prototype_labels)


def test_values_and_method_can_be_set_and_what_cannot_be_is_refused(moons):
    cell = Cell(*moons, method="smp", lam=0.01)
    cell.figure.values = {"mu": 0.05}
    assert cell.figure.model_.mu == 0.05 and cell.last["picture"]["canonical"]
    with pytest.raises(SmpcoreError, match="lam cannot be -3"):
        cell.figure.values = {"lam": -3.0}
    assert cell.figure.values == {"mu": 0.05}
    cell.figure.method = "smallk"
    assert isinstance(cell.figure.model_, SMaLLClassifier)
    assert cell.figure.values == {}
    with pytest.raises(SmpcoreError, match="Unknown settings were ignored"):
        smpcore.explore(*moons, method="smp", wheels=4)


def test_points_are_drawn_and_taken_back(moons):
    cell = Cell(*moons, method="smp")
    before = cell.figure.model_
    n_rows = len(cell.last["scene"]["points"]["x"])
    cell.say("edit", op="add", x=0.5, y=0.5, label=0, dragging=False)
    assert len(cell.last["scene"]["points"]["x"]) == n_rows + 1
    assert cell.last["undo"] == "the added point"
    assert np.any(cell.figure.model_.model_.anchors != before.model_.anchors)
    cell.say("edit", op="undo", dragging=False)
    assert len(cell.last["scene"]["points"]["x"]) == n_rows
    np.testing.assert_array_equal(
        cell.figure.model_.model_.anchors, before.model_.anchors
    )


def test_other_data_come_and_the_own_table_again(moons):
    cell = Cell(*moons)
    cell.drag(data="wine")
    assert len(cell.last["scene"]["classes"]) == 3
    cell.drag(data="mine")
    assert cell.last["scene"]["title"] == "My table"
    kinds = [c for c in cell.drag(data="iris")["controls"] if c["name"] == "v.kind"]
    assert "map" not in [option["value"] for option in kinds[0]["options"]]


def test_a_long_fit_goes_on_in_a_thread_and_can_be_stopped(moons, monkeypatch):
    cell = Cell(*moons, method="mprotsvm", C=0.3)
    cell.figure._figure.host.computed.quick_seconds = 0.0
    began, solve = [], METHODS["mprotsvm"].estimators["classification"].solve

    def slow(self, problem, *args, stop=None, **options):
        began.append(stop)
        while stop is not None and not stop[0] and len(began) == 1:
            pass
        return solve(self, problem, *args, stop=stop, **options)

    kind = METHODS["mprotsvm"].estimators["classification"]
    monkeypatch.setattr(kind, "solve", slow)
    assert cell.drag(C=0.4)["job"]["text"].startswith("Fitting")
    assert cell.say("poll")["job"]
    cell.say("stop")
    assert not cell.last["picture"]["canonical"]
    fitted = cell.figure.model_
    assert fitted.history_.status != STOPPED and fitted.C == 0.4, "never a stopped one"


def test_what_goes_wrong_in_a_fit_is_raised(moons, monkeypatch):
    monkeypatch.setattr(SMPClassifier, "solve", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        _ = smpcore.explore(*moons, method="smp").model_


def test_a_notebook_without_its_kernel_has_the_last_picture(moons):
    cell = Cell(*moons, method="smp")
    cell.drag(lam=0.3)
    last = unpacked(cell.figure._last)
    assert last["kind"] == "full" and last["picture"]["value"] == 0.3
    assert len(last["scene"]["points"]["x"]) == 80, "test rows stay closed"


def test_a_strange_message_is_refused_in_a_sentence(moons):
    cell = Cell(*moons)
    cell.figure._handle_custom_msg({"kind": "import os"}, [])
    assert cell.last["kind"] == "notice"
    assert "unexpected" in cell.last["notices"][0]["text"]


def test_without_the_widget_library_a_sentence_says_what_to_install(moons, monkeypatch):
    monkeypatch.delitem(sys.modules, notebook.__name__)
    monkeypatch.delattr(smpcore.live, "notebook")
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(SmpcoreError, match=r"needs anywidget.*smpcore\[notebook\]"):
        smpcore.explore(*moons)


def test_rows_selected_in_the_picture_are_compared_with_the_others(moons):
    X, y = moons
    cell, seen = Cell(X, y, method="smp"), []
    cell.figure.observe(lambda change: seen.append(change["new"]), "selected")
    drawn = cell.last["scene"]["points"]["row"]
    inside = np.flatnonzero(X[:, 0] > 1)
    sent = cell.say("select", want=inside.tolist())["selection"]
    chosen = np.intersect1d(drawn, inside)
    assert sorted(sent["rows"]) == chosen.tolist() and seen == [inside.tolist()]
    others = np.setdiff1d(drawn, inside)
    expected = {
        f"x{j + 1}": (X[chosen, j].mean(), X[others, j].mean(), X[drawn, j].std())
        for j in range(2)
    }
    order = sorted(
        expected, key=lambda n: -abs(np.diff(expected[n][:2])) / expected[n][2]
    )
    assert len(sent["features"]) == 2
    means = [expected[name][:2] for name in order]
    np.testing.assert_allclose(sent["means"], means, rtol=1e-12)
    np.testing.assert_allclose(np.sort(sent["values"][:, 0]), np.sort(X[chosen, 0]))


def test_rows_that_the_caller_selects_light_up(moons):
    cell = Cell(*moons, method="smp")
    cell.figure.selected = [3, 5, 90]
    drawn = set(cell.last["scene"]["points"]["row"]) if "scene" in cell.last else None
    assert cell.last["kind"] == "select"
    assert set(cell.last["selection"]["rows"]) <= {3, 5, 90} and drawn is None
    assert cell.figure.selected == [3, 5, 90]
    cell.scene = ""  # the cell is shown anew
    again = cell.say("poll")
    assert again["kind"] == "full" and len(again["selection"]["rows"]) >= 2


@pytest.mark.parametrize(
    ("key", "task"),
    [(row.key, task) for row in METHODS.values() for task in row.estimators],
)
def test_a_model_opens_the_figure_with_its_settings(moons, key, task):
    X, y = moons if task == "classification" else (moons[0], moons[0][:, 0] ** 2)
    row = METHODS[key]
    numbers = [p for p in row.controls(task) if p.scale in ("log", "int")]
    chosen = {p.name: p.clean(np.sqrt(max(p.low, 1e-4) * p.high)) for p in numbers[:2]}
    model = row.estimators[task](**chosen, max_iter=77).fit(X, y)
    with cautions() as heard:
        figure = model.explore(X, y)
    assert heard == ["The figure has no control for max_iter: it has defaults."]
    rows = smpcore.split(figure._context.table).train
    shown = figure.model_
    assert type(shown) is type(model) and chosen.items() <= shown.get_params().items()
    anew = type(model)(**model.get_params() | {"max_iter": shown.max_iter})
    np.testing.assert_array_equal(
        anew.fit(X[rows], y[rows]).predict(X).astype(str), shown.predict(X).astype(str)
    )
