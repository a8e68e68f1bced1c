"""What the live dialogue owes to every method, and words that only some use."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from pages.state import links
from pages.state.host import resolve
from pages.work import cache, studies
from smpcore import METHODS, IMKPLClassifier
from smpcore.explain import deciding_prototypes
from smpcore.live import Choice, picture
from tests.app import session_of
from tests.test_live import Browser, kernels  # noqa: F401


@pytest.fixture(params=METHODS)
def browser(request):
    return Browser(method=request.param, data="iris")


def test_a_preview_is_no_canonical_fit_and_letting_go_gives_it_again(browser):
    name, value = browser.slider()
    first = browser.drag(**{name: value}, release=True)["picture"]
    preview = browser.drag(**{name: 1.3 * value})["picture"]
    assert not preview["canonical"] and "scene" not in browser.last
    again = browser.drag(**{name: value}, release=True)["picture"]
    assert again["canonical"]
    np.testing.assert_array_equal(again["winner"], first["winner"])
    np.testing.assert_array_equal(again["margin"], first["margin"])


def test_knots_belong_to_the_path_or_there_is_none(browser):
    path = browser.last["path"]
    row = METHODS[browser.choice.method]
    if row.path is None:
        assert path is None
        assert browser.send("knots", want=[0, 1])["knots"] == []
        assert not any(c["scrub"] for c in browser.last.get("controls", ()))
        return
    assert path["param"] == row.path
    assert [c["name"] for c in browser.last["controls"] if c["scrub"]] == [row.path]
    assert path["from_right"] == row.from_right
    end = len(path["values"]) - 1
    knots = browser.send("knots", want=[0, end, end + 1])["knots"]
    assert {k["knot"] for k in knots} <= {0, end}
    assert all(k["value"] == path["values"][k["knot"]] for k in knots)


def test_counts_are_brought_into_the_range_of_the_data_and_it_is_said():
    browser = Browser(method="smallk", data="moons")
    assert browser.control("k")["value"] == 2
    assert not browser.last["notices"], "a default needs no excuse"
    browser.drag(data="breast_cancer", release=True)
    browser.drag(k=9, release=True)
    assert browser.last["picture"]["strip"]["nonzeros"] <= 18
    moved = browser.drag(data="moons", release=True)
    words = "Features per prototype (k) was out of range; reset to 2, the maximum."
    assert [n["text"] for n in moved["notices"]] == [words]
    assert browser.choice.values["k"] == 2


def test_the_outcome_is_one_of_the_data_and_can_be_swapped():
    browser = Browser(method="smallk", data="breast_cancer")
    control = browser.control("positive_class")
    labels = [option["value"] for option in control["options"]]
    assert labels == ["benign", "malignant"] and control["value"] == "malignant"
    before = browser.last["picture"]["prototypes"]["owner"]
    browser.drag(positive_class="benign", release=True)
    after = browser.last["picture"]["prototypes"]["owner"]
    assert (np.bincount(before)[::-1] == np.bincount(after)).all()
    assert browser.context.values["positive_class"] == "benign"
    assert browser.choice.outcome == "benign" and browser.choice.values == {}
    assert browser.context.outcome == 0
    choice, _ = links.read_url(links.write_url(browser.choice))
    assert resolve(choice).values == browser.context.values
    browser.drag(data="moons", release=True)
    assert browser.control("positive_class")["value"] == "1"
    assert browser.context.outcome == 1
    browser.drag(data="iris", release=True)
    assert not browser.control("positive_class")["shown"]
    assert browser.control("multiclass")["shown"]


def test_there_is_no_path_where_its_control_means_nothing():
    browser = Browser(method="imkpl", data="iris")
    assert browser.last["path"]["param"] == "kappa"
    assert browser.drag(kernels="rbf", release=True)["path"] is None
    assert browser.send("knots", want=[0])["knots"] == []


def test_bars_are_the_largest_weights_of_features_and_move_with_the_slider():
    browser = Browser(method="imkpl", data="breast_cancer")
    names = browser.scene["features"]
    seen = []
    for kappa in (0.1, 5.0):
        bars = browser.drag(kappa=kappa, release=True)["picture"]["bars"]
        weights = browser.fitted.kernel_weights_
        order = np.argsort(-weights, kind="stable")[:12]
        assert bars["names"] == [names[i] for i in order]
        np.testing.assert_allclose(bars["values"], weights[order], rtol=1e-6)
        left = np.count_nonzero(weights) - np.count_nonzero(bars["values"])
        said = " with weight 0" if left == 0 else f", {left} of them"
        assert bars["note"].startswith("and 18 more" + (said if left < 18 else ";"))
        seen.append(bars["values"])
    assert not np.array_equal(*seen)
    knot = browser.send("knots", want=[0])["knots"][0]
    assert len(knot["bars"]["values"]) == 12
    assert browser.drag(kernels="rbf", release=True)["picture"]["bars"] is None


@pytest.mark.parametrize("data", ["moons", "iris"])
def test_a_star_says_how_much_a_case_weighs_and_for_whom(data):
    picture = Browser(method="supersparse", data=data).last["picture"]
    shown, bars = picture["prototypes"], picture["bars"]
    order = [int(name.split()[1]) - 1 for name in bars["names"]]
    np.testing.assert_array_equal(shown["mark_weight"][order], bars["values"])
    np.testing.assert_array_equal(shown["mark_owner"][order], bars["owner"])
    size = np.abs(shown["mark_weight"])
    np.testing.assert_allclose(shown["mark_size"], size / size.max(), rtol=1e-6)
    if data == "moons":  # of two classes, the sign says which
        assert ((shown["mark_weight"] > 0) == (shown["mark_owner"] == 1)).all()


def test_cases_off_the_data_are_those_far_from_every_training_row():
    browser = Browser(method="supersparse", data="iris")
    values = browser.context.values
    rows = cache.computed.problem(
        browser.context.data, "supersparse", values
    ).rows.cases
    near = NearestNeighbors(n_neighbors=2).fit(rows)
    usual = np.quantile(near.kneighbors(rows)[0][:, 1], 0.95)
    away = near.kneighbors(browser.fitted.model_.anchors)[0][:, 0] > usual
    shown = browser.last["picture"]["prototypes"]["mark_off"]
    np.testing.assert_array_equal(shown, away)
    assert 0 < away.sum() < len(away)
    blind = browser.drag(similarity="cosine", release=True)["picture"]
    assert blind["prototypes"]["mark_off"] is None
    assert "Far from all data" not in {r["name"] for r in blind["readouts"]}


def test_ways_begin_where_the_solver_did_also_of_cases_that_fell_together():
    browser = Browser(method="supersparse", data="moons")
    browser.drag(n_prototypes=30, release=True)
    browser.drag(lam=0.1, release=True)
    fitted, data = browser.fitted, browser.context.data
    shown = browser.last["picture"]["prototypes"]
    assert fitted.model_.n_prototypes < 30, "some fell together"
    assert len(shown["mark_start"]) == len(shown["marks"]) == fitted.model_.n_prototypes
    model = fitted.model_
    starts = fitted.start_ * model.scale + model.center
    view = studies.view(data, browser.context.view)
    for j in range(model.n_prototypes):
        first = np.flatnonzero(fitted.merged_ == j)[:1]
        place = view.project(starts[first])[0]
        np.testing.assert_allclose(shown["mark_start"][j], place, atol=1e-5)


def test_a_mix_names_its_heaviest_training_rows():
    browser = Browser(method="imkpl", data="iris")
    data, model = browser.context.data, browser.fitted.model_
    shown = browser.last["picture"]["prototypes"]
    row, share = shown["cases"]["row"], shown["cases"]["share"]
    assert shown["cases"]["pixels"] is None
    assert (np.diff(share, axis=1) <= 0).all()
    assert np.array_equal(row < 0, share == 0)
    for j, mix in enumerate(model.mixing.T):
        used = row[j][row[j] >= 0] - 1  # rows are counted from 1, as in the file
        assert np.isin(used, data.split.train).all()
        assert len(used) == min(5, np.count_nonzero(mix))
        largest = np.sort(mix)[::-1][: len(used)] / mix.sum()
        np.testing.assert_allclose(share[j, : len(used)], largest, rtol=1e-6)
        anchors = model.prototypes[np.argsort(-mix, kind="stable")[: len(used)]]
        np.testing.assert_allclose(data.X[used].sum(0), anchors.sum(0), rtol=1e-9)
        labels = model.classes[shown["cases"]["label"][j, : len(used)]]
        assert (labels == data.y[used]).all()


def test_cases_of_images_come_with_their_pixels_unless_they_are_too_many(monkeypatch):
    data = resolve(Choice(data="digits")).data
    X, y = data.of("train")
    fitted = IMKPLClassifier(n_prototypes=1, max_iter=2).fit(X[:150], y[:150])
    cases = picture._cases(fitted, [8, 8], data)
    assert cases["pixels"].shape == (*cases["row"].shape, 64)
    first = data.X[cases["row"][0, 0] - 1]  # counted from 1, as in the file
    np.testing.assert_array_equal(cases["pixels"][0, 0], (255 * first / 16).astype(int))
    monkeypatch.setattr(picture, "CASE_PIXELS", 100)
    assert picture._cases(fitted, [8, 8], data)["pixels"] is None


@pytest.mark.parametrize("data", ["digits", "iris"])
def test_invented_cases_come_in_units_that_are_said(data):
    browser = Browser(method="supersparse", data=data)
    shown, model = browser.last["picture"]["prototypes"], browser.context.model()
    values, words = model.anchors, "standard deviations from the training mean"
    if data == "digits":
        values, words = model.prototypes, "0 (white) to 16 (black)"
        X, _ = browser.context.data.of("train")
        assert shown["range"] == [X.min(), X.max()] == [0, 16]
    np.testing.assert_allclose(shown["weights"], values, rtol=1e-6, atol=1e-5)
    assert words in shown["caption"]


# The layer of assignments: which prototype has which row, and which decides where.

CLASSIFIERS = [k for k, m in METHODS.items() if "classification" in m.estimators]


def layer_of(browser):
    return browser.send("set", values={}, dragging=False, assignments=True)["picture"]


@pytest.mark.parametrize("method", CLASSIFIERS)
def test_the_layer_is_that_of_the_fit(method):
    browser = Browser(data="circles", method=method)
    picture = layer_of(browser)
    layer, context = picture["assignments"], browser.context
    estimator, points = context.fit().estimator, browser.scene["points"]
    model, data = estimator.model_, context.data
    training = np.flatnonzero(points["part"] == 0)
    order = np.argsort(data.split.train)
    places = order[np.searchsorted(data.split.train[order], points["row"][training])]
    tied = estimator.merged_[estimator.assignment_[places]]
    assert len(tied)
    tied = np.where(tied < 0, 255, tied)
    np.testing.assert_array_equal(layer["rows"][training], tied)
    others = np.flatnonzero(points["part"] != 0)
    nodes = session_of(browser.app).live.scene.view.nodes(picture["grid"][0])
    for rows, X in (
        (layer["rows"][others], data.X[points["row"][others]]),
        (layer["winner"], nodes),
    ):
        expected = deciding_prototypes(model, model.activations(X))
        np.testing.assert_array_equal(rows, expected)
    votes = model.votes[layer["winner"], picture["winner"].ravel()]
    assert (votes != 0).mean() > 0.99, "it belongs to the class that wins"
    assert layer["lead"].max() == 255


def test_the_lead_falls_to_zero_where_two_prototypes_of_a_class_meet():
    browser = Browser(data="circles", method="smp")
    picture = layer_of(browser)
    shape = picture["grid"]
    winner, lead = (
        np.reshape(picture["assignments"][n], shape) for n in ("winner", "lead")
    )
    same = np.reshape(picture["winner"], shape)
    border = (winner[:, 1:] != winner[:, :-1]) & (same[:, 1:] == same[:, :-1])
    assert border.any()
    beside = np.minimum(lead[:, 1:], lead[:, :-1])[border]
    assert np.median(beside) < np.median(lead) / 2


def test_pictures_have_the_layer_when_it_is_asked_for():
    browser = Browser()
    assert "assignments" not in browser.drag(mu=0.05)["picture"]
    for tied in (True, False):
        knots = browser.send("knots", want=[0, 50], assignments=tied)["knots"]
        steps = browser.send("steps", want=[0], assignments=tied)["steps"]
        assert [bool(p.get("assignments")) for p in (*knots, *steps)] == [tied] * 3
    regression = Browser(data="sine", method="supersparse")
    assert layer_of(regression)["assignments"] is None


# The codes that come with a picture are those of the model that it shows.


@pytest.mark.parametrize("data", ["moons", "iris"])
def test_a_row_is_reconstructed_from_the_training_rows_of_its_code(data):
    browser = Browser(method="imkpl", data=data)
    picture, points = browser.last["picture"], browser.scene["points"]
    codes, context = picture["codes"], browser.context
    fitted = context.fit().finished()
    model, scene = fitted.model_, session_of(browser.app).live.scene
    weights = model.activations(scene.X)
    mixed = weights @ model.mixing.T
    for i in range(len(points["x"])):
        used = codes["prototype"][i] < 255
        shown = np.zeros(model.n_prototypes)
        shown[codes["prototype"][i][used]] = codes["weight"][i][used]
        np.testing.assert_allclose(shown, weights[i], rtol=1e-6)
        cases = np.zeros(len(model.anchors))
        for j, weight in zip(np.flatnonzero(shown), shown[shown > 0], strict=True):
            held = codes["case"][j] >= 0
            cases[codes["case"][j][held]] += weight * codes["share"][j][held]
        np.testing.assert_allclose(cases, mixed[i], rtol=1e-5, atol=1e-7)
    rows = context.data.split.train[fitted.anchor_rows_]
    np.testing.assert_array_equal(codes["row"], context.data.dataset.row_numbers(rows))
    names = np.array(browser.scene["classes"])[codes["label"]]
    np.testing.assert_array_equal(names, context.data.y[rows].astype(str))
    places = scene.view.project(model.prototypes)
    np.testing.assert_allclose(picture["prototypes"]["marks"], places, rtol=1e-5)


def test_codes_are_of_models_that_have_them_at_rest_and_in_recorded_states():
    assert "codes" not in Browser(data="moons").last["picture"]
    browser = Browser(method="imkpl", data="moons")
    assert "codes" not in browser.drag(lam=0.4)["picture"]
    assert "codes" in browser.drag(lam=0.4, release=True)["picture"]
    first, last = (browser.send("steps", want=[i])["steps"] for i in (0, 1))
    assert first[0]["codes"]["weight"].any() and last[0]["codes"]["weight"].any()
