"""The live dialogue where a number is predicted: surface, curve, errors, edits."""

import numpy as np
import pytest

from pages.compare import candidates
from pages.state import links, table_store
from pages.state.host import resolve, validated
from pages.work import studies
from smpcore import METHODS, list_datasets
from smpcore.live import ANSWERS, Choice
from tests.test_live import Browser, kernels  # noqa: F401

REGRESSION = [info.key for info in list_datasets() if info.task == "regression"]
ABLE = [key for key, row in METHODS.items() if "regression" in row.estimators]


def _open(data="hills", **more):
    return Browser(method=ABLE[0], data=data, **more)


def _drawn(browser):
    """Inputs, targets and parts of the visitor's own points."""
    dataset, division = table_store.visit(browser.choice.token)
    return dataset.frame[dataset.feature_columns].to_numpy(), dataset.y, division


def test_other_data_bring_the_first_method_that_learns_them_and_say_so():
    browser = Browser(data="moons", values={"mu": 0.2})
    assert set(METHODS) == {o["value"] for o in browser.control("method")["options"]}
    assert "remark" not in browser.control("method")
    browser.drag(data="diabetes", release=True)
    assert browser.choice.method == ABLE[0] and browser.choice.values == {}
    assert "does not predict a number" in browser.texts()[0]
    picker = browser.control("method")
    assert [option["value"] for option in picker["options"]] == ABLE
    for key in set(METHODS) - set(ABLE):
        assert METHODS[key].title in picker["remark"]
    missing = next(key for key in METHODS if key not in ABLE)
    refused = browser.drag(method=missing, release=True)
    assert "one of the listed methods" in refused["notices"][0]["text"]
    browser.drag(data="moons", release=True)
    assert browser.choice.method == ABLE[0] and not browser.texts()


def test_what_only_classes_have_is_left_out_and_it_is_said():
    values = {"class_weight": "balanced", "target": "teacher", "lam": 1e-3}
    browser = Browser(method="supersparse", data="moons", values=values)
    browser.drag(data="hills", release=True)
    assert browser.choice.values == {"lam": 1e-3}
    assert browser.texts() == [
        "Settings not used when predicting a number: Target, Class weights."
    ]
    names = [c["name"] for c in browser.last["controls"]]
    assert "class_weight" not in names
    options = [o["value"] for o in browser.control("target")["options"]]
    assert options == ["labels", "ridge", "lasso", "svr"]
    browser.drag(target="ridge", release=True)
    assert browser.fitted.target == "ridge"
    browser.drag(data="moons", release=True)
    assert browser.choice.values == {"lam": 1e-3}


@pytest.mark.parametrize("data", REGRESSION)
def test_the_picture_is_what_the_model_predicts(data):
    browser = _open(data)
    picture, scene = browser.last["picture"], browser.scene
    assert picture["canonical"] and scene["classes"] == []
    model, parts = browser.fitted.model_, browser.context.data
    view = studies.view(parts, browser.context.view)
    n, m = picture["grid"]
    x = np.linspace(*view.x, n)
    assert scene["target"]["curve"] == (m == 1) == (parts.X.shape[1] == 1)
    if m == 1:
        nodes = np.column_stack([x, np.zeros(n)])
    else:
        nodes = np.column_stack([np.tile(x, n), np.repeat(np.linspace(*view.y, m), n)])
    values = model.predict(view.lift(nodes))
    np.testing.assert_allclose(picture["surface"].ravel(), values, rtol=1e-5, atol=1e-4)
    rows = scene["points"]["row"]
    np.testing.assert_allclose(scene["points"]["value"], parts.y[rows], rtol=1e-6)
    own = model.predict(parts.X[rows])
    np.testing.assert_allclose(picture["predicted"], own, rtol=1e-5, atol=1e-4)
    shown = np.column_stack([scene["points"]["x"], scene["points"]["y"]])
    apart = np.abs(model.predict(view.lift(shown.astype(float))) - own)
    near = 0.05 * np.ptp(parts.of("train")[1])
    sure = np.abs(apart - near) > 1e-3 * near  # places came in single precision
    np.testing.assert_array_equal(picture["hollow"][sure], apart[sure] > near)
    # Of a map, with surfaces that did not know the row.
    unknown = view.left_out(parts.X[rows], view.lift(shown.astype(float)))
    share = (np.abs(model.predict(unknown) - own) <= near).mean()
    assert picture["own_share"] == pytest.approx(share, abs=0.005)
    assert scene["target"]["low"] == parts.of("train")[1].min()


def test_one_feature_of_many_is_a_curve_with_the_others_standing():
    browser = _open("diabetes")
    kinds = [o["value"] for o in browser.control("v.kind")["options"]]
    assert kinds == ["pca", "map", "axes", "curve"]
    browser.drag(**{"v.kind": "curve"}, release=True)
    browser.drag(**{"v.first": 2}, release=True)
    parts, model = browser.context.data, browser.fitted.model_
    names = list(parts.preparation.feature_names)
    view = browser.scene["view"]
    assert (view["xlabel"], view["ylabel"]) == (names[2], parts.dataset.target)
    sliders = [c["label"] for c in browser.last["controls"] if c["name"][:4] == "v.at"]
    assert sliders == [name for name in names if name != names[2]]
    line = np.tile(np.median(parts.of("train")[0], axis=0), (400, 1))
    line[:, 2] = np.linspace(*view["x"], 400)
    curve = browser.last["picture"]["surface"]
    np.testing.assert_allclose(curve, model.predict(line), rtol=1e-5)
    moved = browser.drag(**{"v.at8": 6.0}, release=True)["picture"]["surface"]
    line[:, 8] = 6.0
    np.testing.assert_allclose(moved, model.predict(line), rtol=1e-5)
    stars = browser.last["picture"]["prototypes"]
    assert stars["mark_start"] is None
    height = np.interp(stars["marks"][:, 0], line[:, 2], moved)
    inside = np.abs(stars["marks"][:, 0] - line[200, 2]) < np.ptp(line[:, 2]) / 2
    np.testing.assert_allclose(stars["marks"][inside, 1], height[inside], rtol=1e-2)
    choice, notices = links.read_url(links.write_url(browser.choice))
    assert not notices and resolve(choice).view == browser.context.view


def test_stars_and_bars_say_who_raises_and_who_lowers():
    browser = _open("hills")
    shown, bars = (browser.last["picture"][name] for name in ("prototypes", "bars"))
    votes = browser.fitted.model_.votes[:, 0]
    words = np.where(votes > 0, "raises", "lowers")
    assert shown["words"] == words.tolist()
    np.testing.assert_allclose(shown["mark_weight"], votes, rtol=1e-6)
    assert (shown["mark_owner"] == 255).all() and bars["owner"] is None
    order = np.argsort(-np.abs(votes), kind="stable")
    assert bars["names"] == [f"Prototype {j + 1} ({words[j]})" for j in order]


def test_points_on_a_curve_are_drawn_with_their_target():
    browser = _open("sine")
    n = browser.context.dataset.n_samples
    browser.send("edit", op="add", x=0.5, y=1.25, row=None, dragging=False)
    X, y, division = _drawn(browser)
    assert (X[-1, 0], y[-1], len(y)) == (0.5, 1.25, n + 1)
    assert n in division.train
    view = browser.scene["view"]
    browser.send("edit", op="move", row=n, x=-0.25, y=-1.0, dragging=True)
    browser.send("edit", op="move", row=n, x=-0.5, y=-1.5, dragging=False)
    X, y, _ = _drawn(browser)
    assert (X[-1, 0], y[-1]) == (-0.5, -1.5)
    assert browser.scene["view"] == view, "the window stands still under the hand"
    places = [[float(np.float32(-0.5)), float(np.float32(-1.5))]]
    browser.send("edit", op="erase", places=places, dragging=False)
    assert len(_drawn(browser)[1]) == n
    for _ in range(3):
        browser.send("edit", op="undo")
    assert browser.choice.data == "sine"


def test_points_on_a_surface_are_drawn_with_a_value():
    browser = _open("hills")
    assert browser.scene["editable"]
    browser.send("edit", op="add", x=0.0, y=0.0, value=9.5, row=None, dragging=False)
    X, y, _ = _drawn(browser)
    assert X[-1].tolist() == [0.0, 0.0] and y[-1] == 9.5
    assert browser.scene["target"]["high"] == 9.5
    browser.send("edit", op="move", row=3, x=1.0, y=-1.0, dragging=False)
    X, moved, _ = _drawn(browser)
    assert X[3].tolist() == [1.0, -1.0]
    np.testing.assert_array_equal(moved, y)
    browser.drag(**{"v.kind": "curve"}, release=True)
    assert browser.scene["target"]["curve"] and not browser.scene["editable"]


FORGED = "The page sent something unexpected; reload it."


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((v, "A new point needs a value up to 1e+09.") for v in (None, 1e300)),
        (np.nan, FORGED),
        ("7", FORGED),
    ],
)
def test_a_point_without_a_value_is_refused_in_words(value, text):
    browser = _open("hills")
    browser.send("edit", op="add", x=0.0, y=0.0, value=value, dragging=False)
    assert browser.texts() == [text]
    assert browser.choice.data == "hills"


def test_the_last_training_points_stay():
    browser = _open("sine", data_values={"n_samples": 20})
    parts = browser.context.data
    xy = np.column_stack([parts.X, parts.y]).astype(np.float32)
    everything = [[float(x), float(y)] for x, y in xy]
    browser.send("edit", op="erase", places=everything, dragging=False)
    _, y, division = _drawn(browser)
    assert len(division.train) == len(y) == len(parts.split.train)
    browser.send("edit", op="erase", places=everything, dragging=False)
    assert browser.texts() == ["The last 3 training points stay."]


@pytest.mark.parametrize("start", ["moons", "hills", "sine"])
def test_what_was_drawn_does_not_stand_in_the_way_of_other_data(start):
    browser = Browser(method=ABLE[0], data=start)
    extra = {"label": 0} if start == "moons" else {"value": 1.0}
    browser.send("edit", op="add", x=0.1, y=0.1, row=None, dragging=False, **extra)
    assert browser.choice.data == "mine"
    for data in ("iris", "sine", "diabetes", "hills", "moons", "mine"):
        header = browser.drag(data=data, release=True)
        assert not [n for n in header["notices"] if n["level"] == "error"], data
        assert header["scene"]["title"] and header["picture"]["canonical"]


def test_links_know_the_task():
    choice, notices = links.read_url({"data": "diabetes"})
    assert choice.method == ABLE[0] and not notices
    choice, notices = links.read_url({"data": "diabetes", "method": "smp", "mu": "1"})
    assert choice.method == ABLE[0]
    assert "does not predict a number" in notices[0] and "mu" in notices[1]
    query = {"data": "hills", "method": "supersparse", "target": "teacher"}
    choice, notices = links.read_url(query)
    assert notices == ["Settings not used when predicting a number: Target."]
    choice, notices = links.read_url({**query, "target": "other"})
    assert "target should be one of: labels, ridge, lasso" in notices[0]
    choice, notices = links.read_url({**query, "target": "lasso"})
    assert not notices and resolve(choice).values["target"] == "lasso"
    assert links.write_url(choice)["target"] == "lasso"
    assert validated(Choice(data="hills", method="supersparse"))[1] == []


def test_a_pinned_model_is_kept_where_its_task_has_all_its_values():
    entry = candidates.Entry("supersparse", (("lam", 1e-3),))
    assert all(candidates._learns(entry, task) for task in ANSWERS)
    entry = candidates.Entry("supersparse", (("class_weight", "balanced"),))
    assert candidates._learns(entry, "classification")
    assert not candidates._learns(entry, "regression")
    entry = candidates.Entry("supersparse", (("target", "ridge"),))
    assert not candidates._learns(entry, "classification")
    assert not candidates._learns(candidates.Entry("smp", ()), "regression")
