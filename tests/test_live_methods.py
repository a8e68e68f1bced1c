"""What the live dialogue owes to every method, and words that only some use."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from pages.explore import picture
from pages.state import links
from pages.state.choice import Choice
from pages.state.context import resolve
from pages.work import cache
from smpcore import METHODS, IMKPLClassifier
from tests.test_live import Browser, kernels  # noqa: F401


@pytest.fixture(params=METHODS)
def browser(request):
    return Browser(method=request.param, data="iris")


def _slider(browser):
    """A control of the method that is committed, and a value for it."""
    control = next(
        c
        for c in browser.last["controls"]
        if c["group"] == "method" and c["scale"] == "log" and c["shown"]
    )
    return control["name"], float(np.sqrt(control["low"] * control["high"]))


def test_the_first_picture_is_canonical_and_described(browser):
    picture = browser.last["picture"]
    assert picture["canonical"]
    names = [readout["name"] for readout in picture["readouts"]]
    wanted = {
        "Validation accuracy",
        "Training accuracy",
        "Prototypes",
        "Optimality gap",
        "Solver",
    }
    assert wanted <= set(names)
    assert all(r["value"] for r in picture["readouts"])
    assert browser.last["scene"]["view"]["note"]


def test_a_preview_is_no_canonical_fit_and_letting_go_gives_it_again(browser):
    name, value = _slider(browser)
    first = browser.drag(**{name: value}, release=True)["picture"]
    preview = browser.drag(**{name: 1.3 * value})["picture"]
    assert not preview["canonical"]
    again = browser.drag(**{name: value}, release=True)["picture"]
    assert again["canonical"]
    np.testing.assert_array_equal(again["winner"], first["winner"])
    np.testing.assert_array_equal(again["margin"], first["margin"])


def test_the_link_gives_the_same_picture_back(browser):
    name, value = _slider(browser)
    picture = browser.drag(**{name: float(f"{value:.3g}")}, release=True)["picture"]
    choice, notices = links.read_url(links.write_url(browser.choice))
    assert not notices
    back = Browser(method=choice.method, data=choice.data, values=choice.values)
    np.testing.assert_array_equal(back.last["picture"]["margin"], picture["margin"])


def test_knots_belong_to_the_path_or_there_is_none(browser):
    path = browser.last["path"]
    row = METHODS[browser.choice.method]
    if row.path is None:
        assert path is None
        assert browser.send("knots", want=[0, 1])["knots"] == []
        assert not any(c["scrub"] for c in browser.last.get("controls", ()))
        return
    assert path["param"] == row.path
    assert path["from_right"] == row.from_right
    knots = browser.send("knots", want=[0, len(path["values"]) - 1])["knots"]
    assert {k["knot"] for k in knots} <= {0, len(path["values"]) - 1}
    assert all(k["value"] == path["values"][k["knot"]] for k in knots)


def test_models_without_weights_show_the_rows_they_are_mixed_from(browser):
    shown = browser.last["picture"]["prototypes"]
    if "marks" not in shown:
        assert shown["weights"] is not None
        return
    assert shown["marks"].shape[1] == 2 and len(shown["marks"])
    assert len(shown["size"]) == len(shown["owner"])
    assert shown["marks_label"]


def _control(browser, name):
    return next(c for c in browser.last["controls"] if c["name"] == name)


def test_counts_are_brought_into_the_range_of_the_data_and_it_is_said():
    browser = Browser(method="smallk", data="moons")
    assert _control(browser, "k")["value"] == 2
    assert not browser.last["notices"], "a default needs no excuse"
    browser.drag(data="breast_cancer", release=True)
    browser.drag(k=9, release=True)
    assert browser.last["picture"]["strip"]["nonzeros"] <= 18
    moved = browser.drag(data="moons", release=True)
    assert [n["text"] for n in moved["notices"]] == [
        "k features was out of range; reset to 2, the maximum."
    ]
    assert browser.choice.values["k"] == 2


def test_the_positive_class_is_one_of_the_data_and_can_be_swapped():
    browser = Browser(method="smallk", data="breast_cancer")
    control = _control(browser, "positive_class")
    labels = [option["value"] for option in control["options"]]
    assert labels == ["", "benign", "malignant"] and control["value"] == ""
    before = browser.last["picture"]["prototypes"]["owner"]
    browser.drag(positive_class="benign", release=True)
    after = browser.last["picture"]["prototypes"]["owner"]
    assert (np.bincount(before)[::-1] == np.bincount(after)).all()
    assert resolve(browser.choice).values["positive_class"] == "benign"
    choice, _ = links.read_url(links.write_url(browser.choice))
    assert resolve(choice).values == resolve(browser.choice).values
    browser.drag(data="moons", release=True)
    assert resolve(browser.choice).values["positive_class"] is None
    browser.drag(data="iris", release=True)
    assert not _control(browser, "positive_class")["shown"]
    assert _control(browser, "multiclass")["shown"]


def test_there_is_no_path_where_its_control_means_nothing():
    browser = Browser(method="imkpl", data="iris")
    assert browser.last["path"]["param"] == "kappa"
    assert browser.drag(kernels="rbf", release=True)["path"] is None
    assert browser.send("knots", want=[0])["knots"] == []


def _fitted(browser):
    """The fit that the picture shows."""
    choice = browser.choice
    return resolve(choice).fit().estimator


def test_what_an_estimator_measures_stands_between_size_and_solver(browser):
    texts = {r["key"]: r for r in browser.last["picture"]["readouts"]}
    own = _fitted(browser).measures_
    assert list(texts)[list(texts).index("n_features") + 1 :] == [
        *own,
        *list(texts)[-2:],
    ]
    for name, (value, sentence) in own.items():
        assert (texts[name]["value"], texts[name]["detail"]) == (value, sentence)


def test_the_measures_of_mixes_are_those_of_the_fit():
    browser = Browser(method="imkpl", data="digits", values={"n_prototypes": 1})
    while "picture" not in browser.last:
        browser.send("poll")
    fitted = _fitted(browser)
    texts = {r["name"]: r for r in browser.last["picture"]["readouts"]}
    assert texts["Interpretability"]["value"] == f"{fitted.ip_:.1f} %"
    assert texts["Discrimination"]["value"] == f"{fitted.dr_:.1f} %"
    kept = np.count_nonzero(fitted.kernel_weights_)
    assert texts["Kernels kept"]["value"] == f"{kept} of 64"
    names = browser.scene["features"]
    assert names[fitted.dropped_[0]] in texts["Kernels kept"]["detail"]
    assert f"{len(fitted.dropped_) - 6} more" in texts["Kernels kept"]["detail"]


def test_bars_are_the_largest_weights_of_features_and_move_with_the_slider():
    browser = Browser(method="imkpl", data="breast_cancer")
    names = browser.scene["features"]
    seen = []
    for kappa in (0.1, 5.0):
        bars = browser.drag(kappa=kappa, release=True)["picture"]["bars"]
        weights = _fitted(browser).kernel_weights_
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


def test_methods_without_such_weights_have_no_bars():
    assert Browser(method="smp", data="iris").last["picture"]["bars"] is None


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
    rows = cache.problem(
        resolve(browser.choice).data, "supersparse", resolve(browser.choice).values
    ).rows.cases
    near = NearestNeighbors(n_neighbors=2).fit(rows)
    usual = np.quantile(near.kneighbors(rows)[0][:, 1], 0.95)
    away = near.kneighbors(_fitted(browser).model_.anchors)[0][:, 0] > usual
    picture = browser.last["picture"]
    np.testing.assert_array_equal(picture["prototypes"]["mark_off"], away)
    assert 0 < away.sum() < len(away)
    texts = {r["name"]: r["value"] for r in picture["readouts"]}
    assert texts["Far from all data"] == f"{away.sum()} of {len(away)}"
    blind = browser.drag(similarity="cosine", release=True)["picture"]
    assert blind["prototypes"]["mark_off"] is None
    assert "Far from all data" not in {r["name"] for r in blind["readouts"]}


def test_ways_begin_where_the_solver_did_also_of_cases_that_fell_together():
    browser = Browser(method="supersparse", data="moons")
    browser.drag(n_prototypes=30, release=True)
    browser.drag(lam=0.1, release=True)
    fitted, data = _fitted(browser), resolve(browser.choice).data
    shown = browser.last["picture"]["prototypes"]
    assert fitted.model_.n_prototypes < 30, "some fell together"
    assert len(shown["mark_start"]) == len(shown["marks"]) == fitted.model_.n_prototypes
    model = fitted.model_
    starts = fitted.start_ * model.scale + model.center
    view = cache.view(data, resolve(browser.choice).view)
    for j in range(model.n_prototypes):
        first = np.flatnonzero(fitted.merged_ == j)[:1]
        place = view.project(starts[first])[0]
        np.testing.assert_allclose(shown["mark_start"][j], place, atol=1e-5)


def test_a_mix_names_its_heaviest_training_rows():
    browser = Browser(method="imkpl", data="iris")
    data, model = resolve(browser.choice).data, _fitted(browser).model_
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


def test_invented_cases_of_pictures_come_in_the_units_of_the_data():
    browser = Browser(method="supersparse", data="digits")
    shown = browser.last["picture"]["prototypes"]
    context = resolve(browser.choice)
    model = context.model()
    np.testing.assert_allclose(shown["weights"], model.prototypes, rtol=1e-6, atol=1e-5)
    X, _ = context.data.of("train")
    assert shown["range"] == [X.min(), X.max()] == [0, 16]
    assert "0 (white) to 16 (black)" in shown["caption"]


def test_invented_cases_of_a_table_come_in_standard_deviations():
    browser = Browser(method="supersparse", data="iris")
    shown = browser.last["picture"]["prototypes"]
    anchors = resolve(browser.choice).model().anchors
    np.testing.assert_allclose(shown["weights"], anchors, rtol=1e-6)
    assert "range" not in shown
    assert "standard deviations from the training mean" in shown["caption"]
