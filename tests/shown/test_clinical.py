"""Numbers of a clinical table, each as pandas, statsmodels and scikit-learn have it.

Rows of a patient depend on each other, values are missing, columns are 0 or 1. What is
shown is read from the page; nothing here is computed by the library but the scores and
probabilities of the model itself.
"""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import norm, t
from sklearn.metrics import brier_score_loss, confusion_matrix, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from smpcore.datasets import make_dataset
from tests.app import kernels, opened, sound
from tests.shown import oracle
from tests.shown.oracle import says
from tests.shown.test_figure import link
from tests.shown.test_performance import context

pytestmark = pytest.mark.usefixtures(kernels.__name__)


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


def clustered(values, patients, **options):
    """A mean as a regression on a constant with errors that patients share."""
    codes = pd.factorize(patients)[0]
    model = sm.OLS(np.asarray(values, float), np.ones(len(values)))
    return model.fit(cov_type="cluster", cov_kwds={"groups": codes}, **options)


def share(hits, patients, level=0.05):
    """A share, its interval and how many independent rows tell as much of it."""
    of, n_patients = clustered(hits, patients), patients.nunique()
    (mean,), (error,) = of.params, of.bse
    assert 0 < mean < 1
    rows = min(len(hits), mean * (1 - mean) / error**2)
    tail = 1 - level / 2
    rows *= (norm.ppf(tail) / t.ppf(tail, n_patients - 1)) ** 2
    return mean, *proportion_confint(mean * rows, rows, level, "wilson"), rows


def area(rows):
    """The area under the ROC curve, its error by ranks of the rows of each patient."""
    value = roc_auc_score(rows.ill, rows.margin)
    of_class = rows.groupby("ill").margin
    others = len(rows) - of_class.transform("size")
    above = (rows.margin.rank() - of_class.rank()) / others
    part = np.where(rows.ill, above - value, 1 - above - value)
    part = pd.Series(part, rows.index) / of_class.transform("size")
    sums = part.groupby([rows.patient, rows.ill]).sum().unstack(fill_value=0.0)
    units = rows.groupby("ill").patient.nunique()
    variance = sum(
        (sums[k] ** 2).sum() * units[k] / (units[k] - 1) for k in units.index
    )
    covered = (sums[False] * sums[True]).sum() * len(sums) / (len(sums) - 1)
    error = np.sqrt(variance + 2 * covered) / (value * (1 - value))
    return oracle.by_logit(value, error, t.ppf(0.975, units.min() - 1))


@pytest.fixture(scope="module")
def fit():
    fit = oracle.Fit("smp", "clinic")
    fit.__dict__["table"] = clinical()
    return fit


@pytest.fixture(scope="module")
def rows(fit):
    """Validation rows, with the score of the rarer class and its prediction."""
    places = fit.parts["validation"]
    rows = fit.table.frame.iloc[places].reset_index(drop=True)
    scores = fit.model.scores(fit.X[places])
    rows["margin"] = scores[:, 1] - scores[:, 0] - fit.model.tie
    rows["ill"], rows["said"] = rows["ill"] == "yes", rows["margin"] > 0
    return rows


@pytest.fixture(scope="module")
def pages(fit, kernels):
    """Tables of the page by section, of the calibrated model."""
    app = opened(link(fit), "performance.py")
    stop, progress = np.zeros(1, np.int64), np.zeros(1)
    context(app).training_scores.compute(stop, progress)
    tables = {}
    for name in ("Confusion", "Subgroups", "Probabilities"):
        app.segmented_control(key="performance_section").set_value(name).run()
        if name == "Subgroups":
            app.selectbox(key="subgroup_column").set_value("sex").run()
        tables[name] = [table.value for table in sound(app).dataframe]
    model = context(app).model()
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
    kinds = {"Sensitivity (recall)": rows.ill, "Specificity": ~rows.ill}
    kinds["Accuracy"] = rows.ill | ~rows.ill
    found = {n: share(right[of], rows.patient[of]) for n, of in kinds.items()}
    values = oracle.predictive(*list(found.values())[:2], rows.ill.mean())
    names = ("Positive predictive value", "Negative predictive value")
    for name, value in (found | dict(zip(names, values, strict=True))).items():
        says(lines.loc[name, "value"], "# %", 100 * value[0])
        ends = lines.loc[name, "95 % interval"]
        says(ends, "#–# %", *(100 * end for end in value[1:3]))


def test_the_area_under_the_curve(rows, pages):
    _, rates, *_ = pages["Confusion"]
    line, (value, low, high) = rates.set_index("measure").loc["AUC"], area(rows)
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
    assert line["Brier score"] == pytest.approx(brier_score_loss(rows.ill, p))
    of = clustered((p - rows.ill) ** 2, rows.patient, use_t=True)
    says(line["95 % interval"], "#–#", *of.conf_int()[0])
    n_bins = min(10, len(rows) // 15)
    bins = pd.DataFrame({"p": p, "ill": rows.ill}).groupby(pd.qcut(p, n_bins))
    away = (bins.p.mean() - bins.ill.mean()).abs()
    error = np.average(away, weights=bins.size())
    assert line["Expected calibration error"] == pytest.approx(error)


def test_groups_beside_all_other_rows(rows, pages):
    """Eight numbers: shares, both ends of intervals that hold together, the rest."""
    lines = pages["Subgroups"][0].set_index("group")
    right = rows.ill == rows.said
    for sex, line in lines.iterrows():
        inside = rows.sex == sex
        found = share(right[inside], rows.patient[inside], 0.05 / 2)
        assert tuple(line[["value", "low", "high"]]) == pytest.approx(found[:3])
        assert line["rest"] == pytest.approx(right[~inside].mean())
    assert set(lines.index) == {"f", "m"}


def test_the_interval_of_a_number_is_a_quantile_of_residuals():
    """Of rows that were left out, as its name says; what it covers is counted."""
    fit = oracle.fit("supersparse", "numbers")
    app = opened(link(fit), "performance.py")
    of = context(app)
    of.training_scores.compute(np.zeros(1, np.int64), np.zeros(1))
    app.segmented_control(key="performance_section").set_value("Intervals").run()
    away = np.abs(of.training_scores.scores[:, 0] - fit.truth("train"))
    away = np.sort(away[np.isfinite(away)])
    error = np.abs(fit.answers("validation") - fit.truth("validation"))
    table = sound(app).dataframe[0].value.set_index("Prediction interval")
    for percent in (50, 80, 90):
        half = away[int(np.ceil(percent / 100 * (len(away) + 1))) - 1]
        says(table.loc[f"{percent} %", "width"], "± #", half)
        hits = (error <= half).sum()
        ends = proportion_confint(hits, len(error), method="wilson")
        covers = table.loc[f"{percent} %", "covers"]
        numbers = 100 * hits / len(error), hits, len(error), *(100 * e for e in ends)
        says(covers, "# % (# of #), #–# %", *numbers)
    (words,) = (c.value for c in app.caption if "out-of-fold residual" in c.value)
    assert "coverage is measured, not guaranteed" in words
