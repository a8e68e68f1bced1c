"""The map on Explore: what opens with it, what is painted, and what a link keeps."""

from types import SimpleNamespace

import numpy as np
import pytest

from pages.compare.candidates import Maps
from pages.state import links
from pages.state.host import resolve
from pages.work import cache, studies
from smpcore import SMPClassifier, figures, load_dataset, prepare, split
from smpcore.live import Choice, Scene, laying_out
from tests.app import laid_out
from tests.bench.maps import mixed
from tests.test_live import Browser, kernels  # noqa: F401

WORDS = "A map is being laid out: 40 %."


@pytest.fixture(scope="module")
def digits():
    job = laid_out(resolve(Choice(data="digits")).data)
    return job


def test_digits_open_with_their_map_and_say_how_true_it_is(digits):
    browser = Browser(data="digits")
    view = browser.scene["view"]
    assert view["far"].shape == (100, 100) and 0 < view["far"].mean() < 1
    # The same by hand: a model of its own, answers behind the places of all rows.
    dataset = load_dataset("digits")
    division = split(dataset)
    X = prepare(dataset, division.train).transform(dataset.frame)
    rows = X[division.train]
    model = SMPClassifier().fit(rows, dataset.y[division.train]).model_
    held_out = X[division.validation]
    seen = digits.view.lift(digits.view.project(held_out))
    shown = np.vstack([digits.view.unseen, seen])
    truth = model.predict(np.vstack([rows, held_out]))
    share = (model.predict(shown) == truth).mean()
    assert browser.last["picture"]["own_share"] == pytest.approx(share, abs=0.003)
    assert share > 0.95
    # And where people look: by hand again.
    training, rest = (
        model.predict(S) == model.predict(R)
        for S, R in ((digits.view.unseen, rows), (seen, held_out))
    )
    right, y = (
        np.r_[training, rest],
        np.r_[dataset.y[division.train], dataset.y[division.validation]],
    )
    scores = np.sort(model.scores(np.vstack([rows, held_out])), axis=1)
    lead = scores[:, -1] - scores[:, -2]
    border = right[lead <= np.quantile(lead, 0.1)]
    errors = right[truth != y]
    expected = [part.mean() for part in (training, rest, border, errors)]
    assert rest.mean() >= 0.97 and border.mean() >= 0.8 and errors.mean() >= 0.8
    assert browser.last["picture"]["shares"] == pytest.approx(expected, abs=0.01)
    painted = np.unique(browser.last["picture"]["winner"])
    assert len(painted) == 10


def test_the_picture_behind_a_place_is_its_input(digits):
    behind = Browser(data="digits").scene["behind"]["pixels"]
    n = len(behind)
    assert behind.shape == (n, n, 64) and behind.size <= 200_000
    view = digits.view
    x, y = np.linspace(*view.x, n)[20], np.linspace(*view.y, n)[33]
    expected = view.lift(np.array([[x, y]]))[0] / 16 * 255
    np.testing.assert_allclose(behind[33, 20], expected, atol=0.51)


def test_rows_known_by_similarities_are_laid_out_by_them():
    plane = Browser(data="similarities", view={"kind": "pca"})
    flat = plane.last["picture"]["own_share"]
    data = resolve(Choice(data="similarities")).data
    laid_out(data)
    browser = Browser(data="similarities", view={"kind": "map"})
    scene, points = browser.scene, browser.scene["points"]
    assert scene["view"]["far"] is not None
    assert browser.last["picture"]["own_share"] > flat
    xy = np.column_stack([points["x"], points["y"]])[points["part"] == 0]
    number, n = points["number"][points["part"] == 0], len(scene["behind"]["row"])
    x, y = (np.linspace(*scene["view"][axis], n)[20] for axis in "xy")
    nearest = number[np.linalg.norm(xy - [x, y], axis=1).argmin()]
    assert scene["behind"]["row"][20, 20, 0] == nearest
    assert scene["behind"]["feature"].shape == (n, n, 0)
    # Alike by the matrices, alike by their places: more than by chance.
    alike = data.of("train")[0].reshape(len(xy), -1, len(xy)).mean(axis=1)
    near = -np.linalg.norm(xy[:, None] - xy, axis=2)
    others = ~np.eye(len(xy), dtype=bool)
    assert np.corrcoef(alike[others], near[others])[0, 1] > 0.4


def test_a_place_names_the_nearest_row_and_the_columns_that_differ_most_from_it():
    job = laid_out(resolve(Choice(data="wine")).data)
    browser = Browser(data="wine", view={"kind": "map"})
    behind, points = browser.scene["behind"], browser.scene["points"]
    n = len(behind["row"])
    dataset = load_dataset("wine")
    names = browser.scene["features"]
    raw = dataset.frame[names].to_numpy(float)
    training = points["part"] == 0
    xy = np.column_stack([points["x"], points["y"]])[training]
    x, y = (np.linspace(*browser.scene["view"][axis], n) for axis in "xy")
    for i, j in ((3, 7), (n // 2, n // 2), (30, 12), (n - 1, 0)):
        place = np.array([x[j], y[i]])
        nearest = np.linalg.norm(xy - place, axis=1).argmin()
        number = points["number"][training][nearest]
        assert behind["row"][i, j, 0] == number
        own = raw[number - 1]
        there = job.view.lift(place[None])[0]
        train = raw[points["row"][training]]
        order = np.argsort(-np.abs(there - own) / train.std(axis=0))[:3]
        np.testing.assert_array_equal(behind["feature"][i, j], order)
        np.testing.assert_allclose(behind["value"][i, j], there[order], rtol=1e-5)
        np.testing.assert_allclose(behind["of_row"][i, j], own[order], rtol=1e-6)


def test_bundled_places_are_those_of_the_table(digits):
    """Else its file would be of other rows, and the map be laid out anew each time."""
    assert studies.stored(resolve(Choice(data="digits")).data).exists()
    assert digits.opens and digits.plane_share < 0.5


def test_the_map_that_a_table_opened_with_stays_and_is_part_of_the_link(digits):
    browser = Browser(data="digits")
    assert "v.kind" not in links.write_url(browser.choice)  # nobody did anything
    browser.drag(mu=0.02, release=True)
    query = links.write_url(browser.choice)
    assert query["v.kind"] == "map"
    browser.drag(data="iris", release=True)
    assert "v.kind" not in links.write_url(browser.choice)
    # As on a machine on which the map is not there yet: it waits for it.
    with pytest.MonkeyPatch.context() as patched:
        waiting = type("Waiting", (), {"view": None, "opens": False})()
        patched.setattr(studies, "map_of", lambda data: waiting)
        assert resolve(links.read_url(query)[0]).view["kind"] == "map"
        assert resolve(Choice(data="digits")).view["kind"] == "pca"


def test_rows_are_scored_by_models_that_do_not_know_them(monkeypatch):
    data = resolve(Choice(data="friedman")).data
    job = laid_out(data)
    train, others = studies.laid_out_rows(data)
    fitted = []
    fit = job._default_model
    monkeypatch.setattr(
        job, "_default_model", lambda rows: fitted.append(rows) or fit(rows)
    )
    scores = job._scores(train, others, np.zeros(1))
    for row, found in ((0, scores[0]), (7, scores[7])):
        (knows_not,) = (rows for rows in fitted if train[row] not in rows)
        model = SMPClassifier().fit(data.X[knows_not], data.y[knows_not]).model_
        expected = model.scores(data.X[train[row : row + 1]])[0]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("data", ["moons", "words", "iris"])
def test_other_tables_open_as_before(data):
    context = resolve(Choice(data=data))
    job = studies.map_of(context.data)
    assert (job is None) == (data in ("moons", "words"))
    assert job is None or not laid_out(context.data).opens
    assert context.view["kind"] != "map"


def test_the_figure_says_how_far_a_map_is_and_looks_again(monkeypatch):
    choice = {"data": "wine", "view": {"kind": "map"}}
    job = laid_out(resolve(Choice(**choice)).data)
    assert Browser(**choice).last["laying_out"] is None
    monkeypatch.setattr(job, "view", None)
    job.progress[0] = 0.4
    said = Browser(**choice).last["laying_out"]
    assert said == {"words": WORDS, "share": 0.4}
    monkeypatch.setattr(job, "problem", "There is no map.")
    said = Browser(**choice).last["laying_out"]
    assert said == {"words": "There is no map.", "share": None}


def test_a_map_that_comes_while_a_message_is_answered_is_looked_for_again(digits):
    browser = Browser(data="digits")
    flat = figures.pca_view(browser.context.data.of("train")[0])
    before = Scene(browser.context.data, flat, False)
    assert laying_out(browser.context, before)["share"] == 1
    now = Scene(browser.context.data, digits.view, False)
    assert laying_out(browser.context, now) is None


def test_where_neither_picture_is_true_rows_are_looked_at_and_it_is_said(monkeypatch):
    monkeypatch.setattr(studies, "_map", cache.memo(4)(studies.MapJob))
    monkeypatch.setattr(studies, "TRUE_SHARE", 0.99)
    data = resolve(Choice(data="friedman")).data
    job = laid_out(data)
    browser = Browser(data="friedman")
    assert browser.scene["view"]["far"].all()
    rows, y = data.of("train")
    model = SMPClassifier().fit(rows, y).model_
    components = np.linalg.svd((rows - rows.mean(0)) / rows.std(0))[2][:2]
    flat = (rows - rows.mean(0)) / rows.std(0) @ components.T @ components
    flat = flat * rows.std(0) + rows.mean(0)
    share = (model.predict(flat) == model.predict(rows)).mean()
    words = browser.scene["view"]["note"]
    assert f"plane shows {share:.0%} of the training rows" in words
    share = (model.predict(job.view.unseen) == model.predict(rows)).mean()
    assert f"this map {share:.0%} of rows left out" in words
    # Compare leaves them out, too.
    maps = Maps(browser.context, "validation")
    one = maps.of(
        SimpleNamespace(
            loss=np.zeros(200), candidate=SimpleNamespace(answers=model.predict)
        )
    )
    assert all(
        cell is None or np.isnan(cell) for line in one.data[0].z for cell in line
    )
    browser.drag(**{"v.kind": "pca"}, release=True)
    assert browser.scene["view"]["far"] is None


def test_a_table_with_categories_opens_with_what_is_true_enough():
    data = cache.computed.parts(mixed(), split(mixed()))
    job = laid_out(data)
    assert job.plane_share < 0.5 and job.opens
    assert job.map_share > 0.75 and job.view.holds == (job.map_share >= 0.8)
