"""Numbers of a clinical table, each as pandas, statsmodels and scikit-learn have it.

Rows of a patient depend on each other, values are missing, columns are 0 or 1. The
same numbers are looked up for a question of time to event, whose rows are weighted for
censoring, and for rows of a survey, which stand for as many as a column says. What is
shown is read from the page; nothing here is computed by the library but the scores and
probabilities of the model itself.
"""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn.metrics import brier_score_loss, confusion_matrix
from statsmodels.stats.proportion import proportion_confint

from pages.state import table_store
from smpcore import METHODS, prepare, split
from smpcore.datasets import event_within, make_dataset
from smpcore.model.calibration import SPREADS
from tests.app import context_of, kernels, opened, sound
from tests.shown import oracle
from tests.shown.oracle import says
from tests.shown.test_figure import link

pytestmark = pytest.mark.usefixtures(kernels.__name__)
#: Months within which the event is asked for.
HORIZON = 12.0


def clinical(n=420):
    """Visits of patients: a state of the patient, a marker with gaps, 0/1 columns."""
    draw = np.random.default_rng(11)
    patient = np.sort(draw.integers(0, 150, n))
    state = draw.normal(size=150)[patient]
    frame = pd.DataFrame({"patient": [f"p{i}" for i in patient]})
    frame["age"] = draw.integers(25, 88, n)
    frame["crp"] = np.exp(1.5 + 0.6 * state + 0.5 * draw.normal(size=n)).round(1)
    frame["smoker"] = draw.integers(0, 2, n)
    frame["fever"] = (draw.random(n) < 0.3 + 0.2 * (state > 0)) * 1
    frame["stage"] = draw.choice(["I", "II", "III"], n)
    frame["sex"] = draw.choice(["f", "m"], 150)[patient]
    risk = 0.8 * state + frame["fever"] + 0.6 * (frame["stage"] == "III")
    risk += 0.02 * (frame["age"] - 55) + 0.5 * frame["smoker"] + draw.logistic(size=n)
    frame["ill"] = np.where(risk > 1.4, "yes", "no")
    frame.loc[draw.random(n) < 0.08, "crp"] = np.nan
    return make_dataset(frame, "visits", roles={"ill": "target", "patient": "group"})


def followed():
    """The same patients, each visit followed until death or until it was lost."""
    frame = clinical().frame.drop(columns="ill")
    draw = np.random.default_rng(12)
    risk = frame["fever"] + 0.8 * (frame["stage"] == "III") + 0.5 * frame["smoker"]
    event = draw.exponential(70 * np.exp(-risk))
    lost = draw.exponential(40, len(frame))
    frame["months"] = np.minimum(event, lost)
    frame["death"] = (event <= lost) * 1
    roles = {"death": "target", "patient": "group"}
    return make_dataset(frame, "followed", roles=roles)


def surveyed():
    """One visit of each patient, which stands for as many as its weight says."""
    frame = clinical(900).frame.drop_duplicates("patient").drop(columns="patient")
    more = clinical(420).frame.drop(columns="patient")
    frame = pd.concat([frame, more], ignore_index=True)
    frame["pweight"] = np.random.default_rng(13).uniform(20, 900, len(frame)).round(1)
    roles = {"ill": "target", "pweight": "weight"}
    return make_dataset(frame, "surveyed", roles=roles)


def censoring(table, learned):
    """1 / G of each row, by the Kaplan-Meier estimate of staying in the study."""
    times, lost = table.frame["months"], 1 - table.frame["death"]
    stays = sm.SurvfuncRight(times.iloc[learned], lost.iloc[learned])
    known_at = np.minimum(times, HORIZON)
    before = np.searchsorted(stays.surv_times, known_at)
    return 1 / np.append(1.0, stays.surv_prob)[before]


def share(hits, rows, level=0.05):
    """A share of some of the rows, as the oracle has it."""
    rows = rows.loc[hits.index]
    return oracle.share(hits, patients(rows), rows.weight, level)


def patients(rows):
    """Which rows depend on each other; None: none do."""
    return rows.patient if "patient" in rows else None


def weighted_fit(table, weights):
    """The fit of the defaults to the training rows, by these weights."""
    fit = oracle.Fit("smp", "clinic", table)
    method, rows = METHODS["smp"], fit.parts["train"]
    estimator = method.estimator_for(table, method.defaults(table.task))
    estimator.fit(fit.X[rows], fit.y[rows], weights[rows])
    fit.__dict__["estimator"] = estimator
    return fit


@pytest.fixture(scope="module", params=["visits", "followed", "surveyed"])
def fit(request):
    """A fit of the table; its query, and what its rows weigh."""
    if request.param == "visits":
        table = clinical()
        fit = oracle.Fit("smp", "clinic", table)
        return fit, {"data": "mine"}, np.ones(table.n_samples)
    if request.param == "surveyed":
        table = surveyed()
        weights = table.frame["pweight"].to_numpy()
        return weighted_fit(table, weights), {"data": "mine"}, weights
    raw = followed()
    table = event_within(raw, "months", "death", HORIZON)
    weights = censoring(raw, split(table).with_censored)
    asked = json.dumps(["months", "death", "1", HORIZON])
    query = {"data": "mine", "within": asked, "table": raw}
    return weighted_fit(table, weights), query, weights


@pytest.fixture(scope="module")
def rows(fit):
    """Validation rows, with the score of the rarer class and its prediction."""
    fit, _, weights = fit
    places = fit.parts["validation"]
    rows = fit.table.frame.iloc[places].reset_index(drop=True)
    scores = fit.model.scores(fit.X[places])
    rows["margin"] = scores[:, 1] - scores[:, 0] - fit.model.tie
    rows["ill"], rows["said"] = fit.truth("validation") == "yes", rows["margin"] > 0
    return rows.assign(weight=weights[places])


@pytest.fixture(scope="module")
def pages(fit, kernels):
    """Tables of the page by section, of the calibrated model."""
    fit, query, _ = fit
    query = dict(query)
    token = table_store.keep(query.pop("table", fit.table))
    app = opened(query | {"mine": token, "method": "smp"}, "performance.py")
    stop, progress = np.zeros(1, np.int64), np.zeros(1)
    context_of(app).training_scores.compute(stop, progress)
    tables = {}
    for name in ("Confusion", "Subgroups", "Probabilities"):
        app.segmented_control(key="performance_section").set_value(name).run()
        if name == "Subgroups":
            app.selectbox(key="subgroup_column").set_value("sex").run()
        tables[name] = [table.value for table in sound(app).dataframe]
    (tables["Accuracy"],) = (
        text.value
        for text in [*app.markdown, *app.caption]
        if text.value.startswith("Validation accuracy")
    )
    model = context_of(app).model()
    X = fit.X[fit.parts["validation"]]
    words = " ".join(caption.value for caption in app.caption)
    return tables | {"probability": model.probabilities(X)[:, 1], "words": words}


def test_counts_rates_and_predictive_values(rows, pages):
    """Nineteen numbers: four counts, five shares with both ends of their intervals."""
    matrix, rates, *_ = pages["Confusion"]
    lines = rates.set_index("measure")
    counts = confusion_matrix(rows.ill, rows.said, labels=[True, False])
    for (i, j), count in np.ndenumerate(counts):
        part = 100 * count / counts[i].sum()
        says(matrix[str(j)][i], "# (# %)", count, part)
    right = rows.ill == rows.said
    found = {
        "Sensitivity (recall)": share(right[rows.ill], rows),
        "Specificity": share(right[~rows.ill], rows),
        "Accuracy": share(right, rows),
    }
    prevalence = np.average(rows.ill, weights=rows.weight)
    values = oracle.predictive(*list(found.values())[:2], prevalence)
    names = ("Positive predictive value", "Negative predictive value")
    for name, value in (found | dict(zip(names, values, strict=True))).items():
        says(lines.loc[name, "value"], "# %", 100 * value[0])
        ends = lines.loc[name, "95 % interval"]
        says(ends, "#–# %", *(100 * end for end in value[1:3]))


def test_the_accuracy_in_a_sentence(rows, pages):
    right, of = rows.ill == rows.said, rows.ill * 1
    weighted = bool((rows.weight != 1).any())
    note = " (weighted for censoring; censored rows are not counted)" * weighted
    together = " (rows of one group count together)"
    if patients(rows) is None:
        note = " (weighted by pweight; intervals by Kish's effective number of rows)"
        together = ""
    value, low, high, _ = share(right, rows)
    balanced = oracle.balanced(rows.ill, rows.said, patients(rows), rows.weight)
    ill = np.average(of, weights=rows.weight)
    says(
        pages["Accuracy"].partition(" Not better")[0],
        f"Validation accuracy # %: # of # rows{note}, 95 % interval #–# %{together}; "
        "balanced accuracy # % (#–# %); majority-class baseline: # %.",
        *(100 * value, right.sum(), len(right), 100 * low, 100 * high),
        *(100 * part for part in (*balanced, max(ill, 1 - ill))),
    )


def test_the_area_under_the_curve(rows, pages):
    _, rates, *_ = pages["Confusion"]
    line = rates.set_index("measure").loc["AUC"]
    of_rows = rows.margin, rows.ill, patients(rows), rows.weight
    value, low, high = oracle.area(*of_rows)
    says(line["value"], "#", value)
    says(line["95 % interval"], "#–#", low, high)


def test_brier_score_and_calibration_error(rows, pages):
    p, table = pages["probability"], pages["Probabilities"][0]
    assert "Decision curve, " in pages["words"]
    assert (
        "training rows, for rows with the same shares of the classes"
        in (pages["words"])
    )
    line = table.set_index("probabilities").loc["calibrated"]
    score = brier_score_loss(rows.ill, p, sample_weight=rows.weight)
    ends = oracle.weighted_mean((p - rows.ill) ** 2, patients(rows), rows.weight)
    oracle.says_with_ends(line["Brier score"], (score, *ends))
    assert line["intervals by"] == "Student's; Wald's, robust"
    sums = pd.DataFrame({"p": p, "ill": rows.ill}).mul(rows.weight, axis=0)
    n_bins = min(10, len(rows) // 15)
    bins = sums.assign(weight=rows.weight).groupby(pd.qcut(p, n_bins)).sum()
    error = (bins.p - bins.ill).abs().sum() / rows.weight.sum()
    says(line["Expected calibration error"], "#", error)


def test_calibration_intercept_and_slope(rows, pages):
    """Of the calibrated model and of its scores as they are: four with their ends."""
    lines = pages["Probabilities"][0].set_index("probabilities")
    of_scores = 1 / (1 + np.exp(-rows.margin))
    for name, p in (
        ("calibrated", pages["probability"]),
        ("softmax of the scores", of_scores),
    ):
        found = oracle.recalibrated(p, rows.ill, patients(rows), rows.weight)
        for measure, ends in zip(("intercept", "slope"), found, strict=True):
            oracle.says_with_ends(lines.loc[name, f"Calibration {measure}"], ends)
    base = lines.loc["training class shares"]
    assert base["Calibration slope"] == "none (equal probabilities)"


def test_the_smoothed_curve_and_its_band(rows, pages):
    """Natural splines with 3 knots, or a straight line of fewer rows."""
    of_rows = rows.ill, patients(rows), rows.weight
    (curve, *_) = (
        t for t in pages["Probabilities"] if "share" in t and "from" not in t
    )
    rarer = min(rows.ill.sum(), (~rows.ill).sum())
    assert rarer < 100
    shares = (0.05, 0.95) if rarer < 50 else (0.1, 0.5, 0.9)
    expected = oracle.smoothed(
        pages["probability"], *of_rows, curve.probability, shares
    )
    for name, values in zip(("share", "low", "high"), expected, strict=True):
        np.testing.assert_allclose(curve[name], values, atol=1e-4)


def test_groups_beside_all_other_rows(rows, pages):
    """Eight numbers: shares, both ends of intervals that hold together, the rest."""
    lines = pages["Subgroups"][0].set_index("group")
    right = rows.ill == rows.said
    for sex, line in lines.iterrows():
        inside = rows.sex == sex
        found = share(right[inside], rows, 0.05 / 2)
        assert tuple(line[["value", "low", "high"]]) == pytest.approx(found[:3])
        rest = np.average(right[~inside], weights=rows.weight[~inside])
        assert line["rest"] == pytest.approx(rest)
    assert set(lines.index) == {"f", "m"}


def test_errors_and_intervals_of_a_number_are_weighted(kernels):
    """The sentence with five numbers, and the widths: quantiles of the weights."""
    frame = surveyed().frame.drop(columns="ill").dropna(ignore_index=True)
    roles = {"crp": "target", "pweight": "weight"}
    table = make_dataset(frame, "surveyed", roles=roles)
    weights = frame["pweight"].to_numpy()
    token = table_store.keep(table)
    query = {"data": "mine", "mine": token, "method": "supersparse"}
    app = sound(opened(query, "performance.py"))
    context = context_of(app)
    model, parts = context.model(), split(table)
    X = prepare(table, parts.train).transform(table.frame)
    y, rows, train = frame["crp"].to_numpy(), parts.validation, parts.train
    errors = np.abs(model.predict(X[rows]) - y[rows])
    value = np.average(errors, weights=weights[rows])
    low, high = oracle.weighted_mean(errors, None, weights[rows])
    order = np.argsort(y[train])
    reach = np.cumsum(weights[train][order]) / weights[train].sum()
    median = y[train][order][np.searchsorted(reach, 0.5)]
    off = np.average(np.abs(y[rows] - median), weights=weights[rows])
    (words,) = (c.value for c in app.caption if "mean absolute error" in c.value)
    says(
        words.partition(" Not better")[0],
        "Validation error #: mean absolute error of # rows (weighted by pweight; "
        "intervals by Kish's effective number of rows), in units of crp; 95 % interval "
        "#–#; training-median baseline (always #): #.",
        *(value, len(rows), low, high, median, off),
    )
    context.training_scores.compute(np.zeros(1, np.int64), np.zeros(1))
    app.segmented_control(key="performance_section").set_value("Intervals").run()
    away = np.abs(context.training_scores.scores[:, 0] - y[train])
    order = np.argsort(away)
    reach = np.cumsum(weights[train][order]) / weights[train].sum()
    n, answers = oracle.kish(weights[train]), model.predict(X[rows])
    lines = sound(app).dataframe[0].value.set_index("prediction interval")
    calibration = context_of(app).model().calibration
    for percent in (50, 80, 90):
        ends = oracle.interval(calibration, answers, percent)
        if not calibration.spread.size:
            place = np.searchsorted(reach * n / (n + 1), percent / 100)
            ends = answers + np.array([[-1], [1]]) * away[order][place]
        oracle.says_width(lines.loc[f"{percent} %", "width"], ends)
        hits = (ends[0] <= y[rows]) & (y[rows] <= ends[1])
        covered, *ends, _ = oracle.share(hits, None, weights[rows])
        counted = 100 * covered, hits.sum(), len(rows)
        says(lines.loc[f"{percent} %", "covers"], "# % (# of #)", *counted)
        limits = lines.loc[f"{percent} %", "95 % interval"]
        says(limits, "#–# %", *(100 * end for end in ends))


def test_the_interval_of_a_number_is_a_quantile_of_residuals():
    """Of rows that were left out, as its name says; what it covers is counted."""
    fit = oracle.fit("supersparse", "numbers")
    app = opened(link(fit), "performance.py")
    of = context_of(app)
    of.training_scores.compute(np.zeros(1, np.int64), np.zeros(1))
    app.segmented_control(key="performance_section").set_value("Intervals").run()
    away = np.abs(of.training_scores.scores[:, 0] - fit.truth("train"))
    away = np.sort(away[np.isfinite(away)])
    answers, truth = fit.answers("validation"), fit.truth("validation")
    calibration = context_of(app).model().calibration

    def interval(percent):
        if calibration.spread.size:
            return oracle.interval(calibration, answers, percent)
        half = away[int(np.ceil(percent / 100 * (len(away) + 1))) - 1]
        return answers + np.array([[-half], [half]])

    table = sound(app).dataframe[0].value.set_index("prediction interval")
    for percent in (50, 80, 90):
        low, high = interval(percent)
        oracle.says_width(table.loc[f"{percent} %", "width"], interval(percent))
        hits = ((low <= truth) & (truth <= high)).sum()
        ends = proportion_confint(hits, len(truth), method="wilson")
        counted = 100 * hits / len(truth), hits, len(truth)
        says(table.loc[f"{percent} %", "covers"], "# % (# of #)", *counted)
        limits = table.loc[f"{percent} %", "95 % interval"]
        says(limits, "#–# %", *(100 * end for end in ends))
    low, high = interval(90)
    inside = (low <= truth) & (truth <= high)
    quarters = pd.qcut(answers, 4)
    lines = app.dataframe[1].value.to_dict("records")
    for quarter, line in zip(quarters.categories, lines, strict=True):
        among = quarters == quarter
        limits = answers[among].min(), answers[among].max()
        says(line["predictions"], "# to #", *limits)
        hits, n = inside[among].sum(), among.sum()
        says(line["covers"], "# % (# of #)", 100 * hits / n, hits, n)
        shares = proportion_confint(hits, n, method="wilson")
        says(line["95 % interval"], "#–# %", *(100 * share for share in shares))
    (words,) = (c.value for c in app.caption if "out-of-fold residual" in c.value)
    assert "coverage is measured, not guaranteed" in words
    misses = 100 * calibration.losses
    assert misses[SPREADS.index(calibration.spread_name)] == misses.min()
    says(
        words[words.index(": constant ") : words.index(" points")],
        ": constant #, residual size #, residual quantiles #",
        *misses,
    )
