"""Every number of the page Prototypes against an independent value."""

import functools
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from statsmodels.stats.proportion import proportion_confint

from pages.prototypes import stability
from pages.state.host import resolve
from smpcore import METHODS, SMPClassifier, load_dataset
from smpcore.evaluation import Stability
from tests.app import kernels, opened, session_of, sound, until, words
from tests.shown import oracle
from tests.shown.oracle import says
from tests.shown.test_figure import link

pytestmark = pytest.mark.usefixtures(kernels.__name__)

FITS = [(m, d) for m in METHODS for d in ("clinic", "wine")]
FITS += [("supersparse", "diabetes"), ("supersparse", "numbers")]
CLASSES = [(m, d) for m, d in FITS if d in ("clinic", "wine")]


def test_shares_of_refits_that_recover_a_prototype():
    rng = np.random.default_rng(0)
    cosines = rng.uniform(0.5, 1.0, (40, 3))
    cosines[:5, 0] = np.nan  # they have no partner of it
    result = Stability(40, cosines, *[np.zeros((3, 2))] * 4)
    lines = stability.recovered(result, ["a", "b", "c"])
    for line, column in zip(lines.itertuples(), cosines.T, strict=True):
        hits = sum(cosine >= 0.8 for cosine in column)
        expected = hits / 40, *proportion_confint(hits, 40, method="wilson")
        shown = line.value, line.low, line.high
        np.testing.assert_allclose(shown, 100 * np.array(expected), rtol=1e-6)


def furthest_pair(a, b, sigma):
    """By how many steps the best alignment of two series differs, by recursion."""
    e = np.exp(-(np.subtract.outer(a, b) ** 2) / (2 * sigma**2))
    factor = e / (2 - e)

    @functools.cache
    def best(i, j):
        before = [(i - 1, j - 1), (i - 1, j), (i, j - 1)]
        parts = [best(*pair) for pair in before if min(pair) >= 0]
        product, most = max(parts, default=(1.0, 0))
        return product * factor[i, j], max(most, abs(i - j))

    return best(len(a) - 1, len(b) - 1)[1]


def test_the_alignment_of_a_near_row_with_the_heaviest_case():
    small = {"d.n_samples": "40", "d.n_times": "20", "method": "imkpl"}
    query = {"data": "series", "kernels": "gak", "n_prototypes": "2"} | small
    page = opened(query, "prototypes.py", "One by one")
    sound(page.selectbox(key="aligned_channel").select_index(4).run())
    model = resolve(session_of(page).choice).model()
    number = int(page.selectbox(key="aligned_row").options[0].split()[-1])
    frame = load_dataset("series", n_samples=40, n_times=20).frame
    row = frame.iloc[number - 1, 80:100].to_numpy(float)
    weights = np.abs(model.mixing[:, 0])
    case = (model.anchors * model.scale + model.center)[weights.argmax(), 80:100]
    most = furthest_pair(case, row, model.similarity.widths[4])
    assert f"Paired values are up to {most} steps apart" in words(page)
    share = 100 * weights.max() / weights.sum()
    assert f"The case has {share:.3g} % of the prototype's weight" in words(page)


def section(fit, name, **more):
    """A section of the page for a fit, with more in its address."""
    return opened(link(fit) | more, "prototypes.py", name)


def frames(app):
    """Tables of the page by their first columns."""
    return {tuple(table.value)[:2]: table.value for table in app.dataframe}


def activations(fit):
    """What each prototype says to each training row, written out but for a code."""
    model = fit.model
    if model.similarity.kind == "linear":
        return fit.training @ (model.mixing.T @ model.anchors).T + model.bias
    if model.code_size:
        return model.activations(fit.X[fit.parts["train"]])
    return likeness(fit) + model.bias


def likeness(fit):
    """Similarity of each training row to each prototype."""
    model = fit.model
    if model.similarity.kind == "rbf":
        distance = cdist(fit.training, model.anchors, "sqeuclidean")
        return np.exp(-model.similarity.gamma * distance) @ model.mixing
    return model.similarity.values(fit.training, model.anchors) @ model.mixing


def owners(fit):
    """Output that each prototype speaks for."""
    return fit.model.votes.argmax(axis=1)


def winners(fit):
    """Prototype that speaks loudest for the answer to each training row; -1: none."""
    model, said = fit.model, activations(fit)
    if model.pooling == "max":
        return said.argmax(axis=1)
    answer = (said @ model.votes + model.intercept).argmax(axis=1)
    loudest = (said * model.votes[:, answer].T).argmax(axis=1)
    return np.where(said.any(axis=1), loudest, -1) if model.code_size else loudest


def title(fit, j):
    """How the page calls a prototype."""
    votes = fit.model.votes[j]
    if fit.model.classes is not None:
        return f"Prototype {j + 1} (class {fit.model.classes[votes.argmax()]})"
    return f"Prototype {j + 1} ({'raises' if votes[0] > 0 else 'lowers'})"


@pytest.mark.parametrize(("method", "data"), FITS)
def test_all(method, data):
    fit = oracle.fit(method, data)
    tables = frames(section(fit, "All"))
    model, y = fit.model, fit.truth("train")
    won = winners(fit)
    (table,) = [t for names, t in tables.items() if names[0] == "prototype"]
    assert len(table) == len(model.bias)
    linear = model.similarity.kind == "linear"
    portraits = model.mixing.T @ model.anchors
    usual = np.median(fit.neighbours)
    for j, line in table.iterrows():
        assert line["prototype"] == title(fit, j)
        vote = model.votes[j, owners(fit)[j]]
        assert line.get("weight", 1.0) == pytest.approx(vote)
        assert line["bias"] == pytest.approx(model.bias[j])
        if linear:
            assert line["non-zeros"] == (portraits[j] != 0).sum()
        if model.classes is not None:
            label = model.classes[owners(fit)[j]]
            assert line["class"] == str(label)
            mine = won == j
            assert line["training rows won"] == mine.sum()
            assert line["won rows of its class"] == (mine & (y == label)).sum()
        if "distance to nearest row" in table:
            case = model.anchors[j]
            nearest = np.linalg.norm(fit.training - case, axis=1).min()
            assert line["distance to nearest row"] == pytest.approx(nearest)
            assert line["median nearest-neighbour distance"] == pytest.approx(usual)
            values = case * model.scale + model.center
            X = fit.X[fit.parts["train"]]
            outside = (values < X.min(axis=0)) | (values > X.max(axis=0))
            assert line["features out of range"] == outside.sum()
    if model.classes is not None:
        check_distribution(fit, tables["class", "rows"])
    if method == "imkpl":
        beta = np.array(model.similarity.weights)
        of_column = [
            beta[fit.inputs() == name].sum() for name in fit.table.feature_columns
        ]
        shown = tables["kernel", "weight β"].set_index("kernel")["weight β"]
        expected = dict(zip(fit.table.feature_columns, of_column, strict=True))
        assert shown.to_dict() == pytest.approx(expected)


def check_distribution(fit, table):
    """Lowest, median and highest lead of the rows of each class."""
    scores = fit.model.scores(fit.X[fit.parts["train"]])
    classes, y = list(fit.model.classes), fit.truth("train")
    for line in table.itertuples():
        label = next(c for c in classes if str(c) == line._1)
        rows = y == label
        lead = scores[:, 1] - scores[:, 0] - fit.model.tie
        if [*y].count(classes[0]) < len(y) / 2:  # the rarer class is to be detected
            lead = -lead
        if len(classes) > 2:
            place = classes.index(label)
            lead = scores[:, place] - np.delete(scores, place, axis=1).max(axis=1)
        lead = lead[rows]
        assert line.rows == rows.sum()
        shown = line.lowest, line.median, line.highest
        ends = lead.min(), np.median(lead), lead.max()
        assert shown == pytest.approx(ends, abs=1e-5)


@pytest.mark.parametrize(("method", "data"), FITS)
def test_one_by_one(method, data):
    fit = oracle.fit(method, data)
    app = section(fit, "One by one")
    model, rows, y = fit.model, fit.parts["train"], fit.truth("train")
    j = app.selectbox[0].value
    if model.similarity.kind == "linear" and not model.weights[j].any():
        words = "All its weights are 0: its activation is # for every input"
        says(app.info[0].value.partition(" input")[0] + " input", words, model.bias[j])
        return
    alike = activations(fit)[:, j]
    if method == "imkpl":  # a mix is as long as its cases are alike
        prototype = model.mixing[:, j]
        among = model.similarity.values(model.anchors, model.anchors)
        alike = likeness(fit)[:, j] / np.sqrt(prototype @ among @ prototype)
    what = "similarity" if "similarity" in str(list(frames(app))) else "activation"
    (table,) = [t.value for t in app.dataframe if what in t.value]
    nearest = np.argsort(-alike, kind="stable")[:5]
    assert table.index.tolist() == (rows[nearest] + 1).tolist()
    np.testing.assert_allclose(table[what], alike[nearest], rtol=1e-9)
    labels = table[fit.table.target].to_numpy()
    if model.classes is None:
        np.testing.assert_array_equal(labels.astype(float), y[nearest])
    else:
        assert [*map(str, labels)] == [*map(str, y[nearest])]
    if model.classes is not None:
        mine = winners(fit) == j
        counts = {str(c): int((mine & (y == c)).sum()) for c in model.classes}
        (words,) = [e.value for e in app.markdown if "For class" in e.value]
        rest = words.replace("\\", "").partition("rows: ")[2]
        shown = re.findall(r"([\d,]+) of ([^,]+?)(?:,|\.$)", rest)
        assert shown == [(str(n), c) for c, n in counts.items() if n]
        assert f"**{mine.sum()}** of {len(y)} training rows" in words or not mine.any()
        table = [t.value for t in app.dataframe if "stands for" in t.value.columns[0]]
        for typical in table:  # each of them is a row that it wins
            assert mine[np.searchsorted(rows, typical.index - 1)].all()
    if method == "supersparse":
        own = np.median(fit.neighbours)
        words = (
            "Distance to the nearest training row: # standard deviations (median "
            "between training rows and their nearest neighbours: #)."
        )
        distance = np.linalg.norm(fit.training - model.anchors[j], axis=1).min()
        (line,) = [e.value for e in app.markdown if e.value.startswith("Distance to")]
        says(line, words, distance, own)


@pytest.mark.parametrize("method", ["supersparse"])
def test_features_are_offered_by_their_size_in_a_prototype(method):
    fit = oracle.fit(method, "wine")
    app = section(fit, "One by one")
    case = fit.model.anchors[app.selectbox[0].value]
    (box,) = [b for b in app.selectbox if str(b.key).startswith("column_")]
    names = np.array(fit.preparation.feature_names)[np.argsort(-np.abs(case))]
    shown = [name.replace("\\", "") for name in box.options]
    assert shown == names.tolist()


@pytest.mark.parametrize("forbidden", [0, 2, 3])
def test_one_feature_is_left_that_cannot_be_forbidden(forbidden):
    fit = oracle.fit("supersparse", "iris")
    names = list(fit.table.feature_columns)
    app = section(fit, "One by one", without=json.dumps(names[:forbidden]))
    button = app.button(key="forbid_feature")
    assert button.disabled == (forbidden == len(names) - 1)


def test_merged_prototypes_are_named_with_their_rows():
    """Those that are equal as solved: a large mu makes one of those of a class."""
    fit = oracle.fit("smp", "wine")
    app = section(fit, "One by one", mu="0.5")
    rows = fit.parts["train"]
    solved = SMPClassifier(mu=0.5).fit(fit.X[rows], fit.y[rows])
    ties = np.bincount(solved.assignment_, minlength=len(solved.merged_))
    j = app.selectbox[0].value
    among = np.flatnonzero(solved.merged_ == j)
    assert len(among) > 1
    (text,) = [e.value for e in app.markdown if e.value.startswith("Merged from")]
    words = "Merged from # equal prototypes of the fit, with the training rows tied to "
    words += "each: " + ", ".join(["# (# rows)"] * len(among)) + "."
    numbers = [number for i in among for number in (i + 1, ties[i])]
    says(text.replace(" and ", ", "), words, len(among), *numbers)


def row_number(app):
    """Number of the row that is explained; rows count from 1."""
    boxes = [*app.selectbox, *app.number_input]
    return next(box.value for box in boxes if "why_row" in str(box.key))


@pytest.mark.parametrize(("method", "data"), FITS)
def test_why(method, data):
    fit = oracle.fit(method, data)
    app = section(fit, "Why this prediction")
    model = fit.model
    number = row_number(app)
    x = fit.X[[number - 1]]
    said, scores = model.activations(x)[0], model.scores(x)[0]
    text = next(e.value for e in app.markdown if e.value.startswith("Prediction"))
    tables = frames(app)
    table = next(t for t in tables.values() if "activation" in t)
    order = [int(name.split()[1]) - 1 for name in table["prototype"]]
    np.testing.assert_allclose(table["activation"], said[order], atol=1e-12)
    assert (np.diff(table["activation"]) <= 1e-12).all() and len(order) == len(said)
    votes = [model.votes[j, owners(fit)[j]] for j in order]
    np.testing.assert_allclose(table["weight"], votes)
    if model.classes is None:
        says(text, "Prediction: **#**.", model.predict(x)[0])
        goal = scores[0]
    else:
        first, second = np.argsort(-scores, kind="stable")[:2]
        goal = scores[first] - scores[second]
        names = [str(model.classes[i]) for i in (first, second)]
        template = (
            f"Prediction: **{names[0]}**. Lead over the runner-up, {names[1]}: #."
        )
        plain = text.replace("\\", "").replace("class_", "class ")
        says(plain, template.replace("class_", "class "), goal)
        shown = tables["class", "score"].set_index("class")["score"]
        for place, name in enumerate(model.classes):
            assert shown[str(name)] == pytest.approx(scores[place], abs=1e-9)

    def sums():
        return [c.value for c in app.caption if "contributions sum to" in c.value]

    if not sums():  # columns of a kernel: another split is exact
        app.segmented_control(key="why_by").set_value("").run()
    (line,) = sums()
    parts = [t.value for t in app.dataframe if "contribution" in str(list(t.value))]
    total = parts[0].iloc[:, -1].sum()
    match = re.search(r"constant, (\S+), all .*?, (\S+)\.$", line.replace("\\", ""))
    bias, lead = match.groups()
    assert oracle.is_near(lead, goal) and oracle.is_near(bias, goal - total)
    truth = next(c.value for c in app.caption if "True value" in c.value)
    value = fit.y[number - 1]
    text = f"{value:.6g}" if isinstance(value, float) else value
    assert f"True value: **{text}**" in truth.replace("\\", "")


def test_a_value_that_is_changed_is_answered():
    fit = oracle.fit("supersparse", "clinic")
    app = section(fit, "Why this prediction")
    number, frame = row_number(app), fit.table.frame.copy()
    row = frame.index[number - 1]
    levels = (b for b in app.selectbox if str(b.key).startswith("level_"))
    box = next(b for b in levels if b.label == "Geschlecht")
    other = {"m": "w", "w": "m"}[frame.loc[row, "Geschlecht"]]
    app = sound(box.set_value(other).run())
    frame.loc[row, "Geschlecht"] = other
    scores = fit.model.scores(fit.preparation.transform(frame)[[number - 1]])[0]
    text = next(e.value for e in app.markdown if e.value.startswith("Prediction"))
    first, second = np.argsort(-scores, kind="stable")[:2]
    names = [str(fit.model.classes[i]) for i in (first, second)]
    words = f"Prediction: **{names[0]}**. Lead over the runner-up, {names[1]}: #."
    says(text, words, scores[first] - scores[second])


@pytest.mark.parametrize(("method", "data"), CLASSES)
def test_the_counterfactual_changes_the_answer(method, data):
    """What is shown, put into the row, is answered as it says, and as far away."""
    fit = oracle.fit(method, data)
    app = section(fit, "Why this prediction")
    tables = frames(app)
    if ("column", "now") not in tables:
        pytest.skip("no change is shown")
    changes = tables["column", "now"]
    frame = fit.table.frame.copy()
    number = row_number(app)
    row = frame.index[number - 1]
    for line in changes.itertuples():
        old = frame.loc[row, line.column]
        is_number = isinstance(old, int | float | np.number)
        if is_number:
            assert float(line.now) == pytest.approx(float(old))
        frame[line.column] = frame[line.column].astype(float if is_number else object)
        frame.loc[row, line.column] = float(line.then) if is_number else line.then
    x = fit.X[[number - 1]]
    moved = fit.preparation.transform(frame)[[number - 1]]
    text = next(e.value for e in app.markdown if "would change from" in e.value)
    match = re.search(
        r"from (.*?) to (.*?): (\S+) standard deviations, summed",
        text.replace("\\", ""),
    )
    assert match[1] == str(fit.model.predict(x)[0])
    assert match[2] == str(fit.model.predict(moved)[0])
    spread = fit.X[fit.parts["train"]].std(axis=0)
    steps = ((moved - x) / np.where(spread > 0, spread, 1))[0]
    assert oracle.is_near(match[3], np.abs(steps).sum())


@pytest.mark.parametrize(
    ("data", "part"), [("numbers", 1.0), ("diabetes", 1.0), ("diabetes", 0.02)]
)
def test_one_column_moves_the_number_as_far_as_is_said(data, part):
    """At the shown value it has moved so far; one digit nearer it has not."""
    fit = oracle.fit("supersparse", data)
    app = section(fit, "Why this prediction")
    box = next(b for b in app.number_input if "why_amount" in str(b.key))
    amount = part * box.value
    if part != 1:
        app = sound(box.set_value(amount).run())
    number, table = row_number(app), frames(app)["column", "now"]
    before = fit.model.predict(fit.X[[number - 1]])[0]
    row = fit.table.frame.index[number - 1]

    def answer(column, value):
        frame = fit.table.frame.copy()
        frame[column] = frame[column].astype(type(value))
        frame.loc[row, column] = value
        return fit.model.predict(fit.preparation.transform(frame)[[number - 1]])[0]

    checked = 0
    for line in table.to_dict("records"):
        old = fit.table.frame.loc[row, line["column"]]
        for name, sign in (("raises it at", 1), ("lowers it at", -1)):
            if not (shown := line[name]):
                continue
            is_level = isinstance(old, str)
            goal = str(shown) if is_level else float(shown)
            assert sign * (answer(line["column"], goal) - before) >= amount
            checked += 1
            if not is_level:
                places = len(str(shown).partition(".")[2])
                nearer = goal - np.sign(goal - float(old)) * 10.0**-places
                assert sign * (answer(line["column"], nearer) - before) < amount
    assert checked >= 3


def test_how_far_predictions_of_a_number_differ_between_refits(monkeypatch):
    """Of three models: the fit, one that is 10 higher, and one without a slope."""
    fit = oracle.fit("supersparse", "numbers")
    higher = replace(fit.model, intercept=fit.model.intercept + 10)
    flat = replace(fit.model, votes=0 * fit.model.votes)
    models = iter([fit.model, higher, flat])
    monkeypatch.setattr(stability, "refits", lambda *_, **__: models)
    app = section(fit, "Stability")
    sound(app.button(key="refit").click().run())
    words = "standard deviation between refits"
    until(app, lambda page: any(words in one.value for one in page.markdown))
    (text,) = (one.value for one in app.markdown if words in one.value)
    answers = fit.answers("validation")
    level = np.full_like(answers, fit.model.intercept[0])
    deviations = np.std([answers, answers + 10, level], axis=0)
    says(
        text,
        "Predictions of # validation rows: their standard deviation between refits is "
        "# in the median, # at most.",
        *(len(answers), np.median(deviations), deviations.max()),
    )
