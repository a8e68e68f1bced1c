"""What is right to show: tables, fits and figures by NumPy, SciPy and scikit-learn.

Nothing here comes from ``pages`` or from the library's ``evaluation``, ``explain`` and
``report``, whose numbers are what is judged. A model is taken as its arrays.
"""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import special, stats
from scipy.interpolate import CubicSpline, interp1d
from scipy.spatial.distance import cdist
from sklearn.metrics import (
    balanced_accuracy_score,
    confusion_matrix,
    roc_auc_score,
)
from statsmodels.stats._delta_method import NonlinearDeltaCov
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW
from statsmodels.tools.sm_exceptions import SpecificationWarning

from smpcore import METHODS, load_dataset, prepare, read_table, split
from tests.walks.tables import clinic_table, german_csv, numbers

#: A number as it is shown: digits, perhaps commas between thousands.
_NUMBER = r"(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?)"


def says(text: str, template: str, *values: float) -> None:
    """Fail unless a text is the template with these numbers in place of each ``#``.

    A number is right if it differs from the value by no more than half of its last
    digit.
    """
    words = text.replace("\\", "")
    pattern = _NUMBER.join(map(re.escape, template.split("#")))
    match = re.fullmatch(pattern, words, re.DOTALL)
    assert match, f"{words!r} is not {template!r}"
    assert len(match.groups()) == len(values), (template, values)
    for shown, value in zip(match.groups(), values, strict=True):
        assert is_near(shown, value), f"{shown} is shown for {value}: {words!r}"


def is_near(shown: str, value: float) -> bool:
    """Whether a number in digits is the value, rounded where the digits end."""
    digits = shown.replace(",", "")
    mantissa, _, exponent = digits.partition("e")
    places = len(mantissa.partition(".")[2]) - int(exponent or 0)
    half = 0.5 * 10.0**-places
    return bool(abs(float(digits) - value) <= half * (1 + 1e-6) + 1e-9 * abs(value))


def says_with_ends(text: str, values: Any) -> None:
    """Fail unless a text is a number with both ends of its interval in brackets."""
    between = " to " if " to " in text else "–"
    says(text, f"# (#{between}#)", *values)
    assert (between == " to ") == (values[1] < 0)


@cache
def table(name: str) -> Any:
    """A table by name: two that a visitor brings, and bundled ones.

    "clinic" has levels, gaps and repeated patients; "numbers" is its regression; in
    "uneven" the answers of one site are drawn by lot.
    """
    if name == "clinic":
        content, roles = clinic_table(), {"Patient": "group"}
    elif name == "uneven":
        content, roles = uneven(), {"site": "ignore"}
    elif name == "numbers":
        content, roles = numbers(), {"Alter": "target"}
    else:
        return load_dataset(name)
    dataset = read_table(io.BytesIO(german_csv(content)), "klinik.csv")
    return dataset.with_roles(roles)


def uneven() -> pd.DataFrame:
    """Two columns that tell the class, but not at one of two sites."""
    draw = np.random.default_rng(3)
    values = draw.normal(size=(240, 2))
    content = pd.DataFrame(values.round(3), columns=["one", "two"])
    content["site"] = np.where(np.arange(240) % 3 == 0, "north", "south")
    lot = draw.random(240) < 0.5
    told = values.sum(axis=1) > 0
    content["class"] = np.where(
        np.where(content["site"] == "north", lot, told), "b", "a"
    )
    return content


@dataclass(frozen=True)
class Fit:
    """A method's default model of a table, and what follows from its arrays.

    Parameters
    ----------
    method, data : str
        Key of the method and name of the table.
    brought : Dataset, optional
        In place of the table of that name.
    """

    method: str
    data: str
    brought: Any = None

    @cached_property
    def table(self) -> Any:
        """The table."""
        return table(self.data) if self.brought is None else self.brought

    @cached_property
    def parts(self) -> dict[str, np.ndarray]:
        """Places of the rows of each part."""
        parts = split(self.table)
        return {n: getattr(parts, n) for n in ("train", "validation", "test")}

    @cached_property
    def X(self) -> np.ndarray:
        """Inputs of all rows."""
        return self.preparation.transform(self.table.frame)

    @cached_property
    def preparation(self) -> Any:
        """How columns become inputs."""
        return prepare(self.table, self.parts["train"])

    @cached_property
    def y(self) -> np.ndarray:
        """Labels or numbers of all rows."""
        return self.table.y

    @cached_property
    def estimator(self) -> Any:
        """Fitted on the training rows with the method's defaults."""
        method, rows = METHODS[self.method], self.parts["train"]
        values = method.defaults(self.table.task)
        estimator = method.estimator_for(self.table, values)
        groups = {} if self.table.groups is None else {"groups": self.groups("train")}
        return estimator.fit(self.X[rows], self.y[rows], **groups)

    @cached_property
    def model(self) -> Any:
        """The model."""
        return self.estimator.model_

    @cached_property
    def training(self) -> np.ndarray:
        """Training rows in scaled units."""
        rows = self.X[self.parts["train"]]
        return (rows - self.model.center) / self.model.scale

    @cached_property
    def neighbours(self) -> np.ndarray:
        """Distance of each training row to the nearest other one, scaled units."""
        return np.sort(cdist(self.training, self.training))[:, 1]

    def answers(self, part: str) -> np.ndarray:
        """What the model answers to the rows of a part."""
        return self.model.predict(self.X[self.parts[part]])

    def truth(self, part: str) -> np.ndarray:
        """What is right for them."""
        return self.y[self.parts[part]]

    def groups(self, part: str) -> np.ndarray | None:
        """Which of them belong together."""
        groups = self.table.groups
        return None if groups is None else np.asarray(groups)[self.parts[part]]

    def inputs(self) -> np.ndarray:
        """Name of the column of each feature."""
        names = list(self.table.feature_columns)
        owners = [
            max((n for n in names if feature.startswith(n)), key=len)
            for feature in self.preparation.feature_names
        ]
        return np.array(owners)

    def used(self) -> list[str]:
        """Columns that can change an answer, in the order of the table."""
        model, owners = self.model, self.inputs()
        if model.similarity.kind in ("linear", "poly"):
            features = np.abs(model.anchors).sum(axis=0) > 0
        elif len(model.similarity.weights or ()):
            features = np.array(model.similarity.weights) > 0
        else:
            features = np.ones(len(owners), dtype=bool)
        return [n for n in self.table.feature_columns if (owners[features] == n).any()]


@cache
def fit(method: str, data: str) -> Fit:
    """The fit of a method's defaults."""
    return Fit(method, data)


def clustered(values: Any, groups: Any, weights: Any, **options: Any) -> Any:
    """A mean as a regression on a constant with errors that rows of a group share."""
    constant, codes = np.ones(len(values)), pd.factorize(np.asarray(groups))[0]
    weights = constant if weights is None else np.asarray(weights)
    model = sm.WLS(np.asarray(values, float), constant, weights)
    return model.fit(cov_type="cluster", cov_kwds={"groups": codes}, **options)


def binomial(
    X: Any, truth: Any, groups: Any, weights: Any, offset: Any = None
) -> tuple[Any, float]:
    """A logistic regression, and the quantile that its errors are multiplied by.

    With errors that rows of a group share, of G groups times G / (G - k).
    """
    options, quantile, n = {}, stats.norm.ppf(0.975), len(X)
    if groups is not None or weights is not None:
        units = np.arange(n) if groups is None else pd.factorize(np.asarray(groups))[0]
        kwds = {"groups": units, "use_correction": False}
        options = {"cov_type": "cluster", "cov_kwds": kwds}
        n, k = len(np.unique(units)), X.shape[1]
        quantile = stats.t.ppf(0.975, n - k) * np.sqrt(n / (n - k))
    masses = np.ones(len(X)) if weights is None else np.asarray(weights)
    kind = sm.families.Binomial()
    of = np.asarray(truth, float), np.asarray(X), kind
    model = sm.GLM(*of, offset=offset, var_weights=masses)
    with warnings.catch_warnings(action="ignore", category=SpecificationWarning):
        return model.fit(tol=1e-12, maxiter=200, **options), quantile


def recalibrated(
    p: Any, truth: Any, groups: Any = None, weights: Any = None
) -> list[tuple[float, float, float]]:
    """Intercept at the slope 1, and slope, of a logistic regression on log-odds."""
    found = []
    lead = special.logit(np.clip(p, 1e-15, 1 - 1e-15))
    constant = np.ones(len(lead))
    for X, offset in ((constant[:, None], lead), (np.c_[constant, lead], None)):
        fitted, quantile = binomial(X, truth, groups, weights, offset)
        value, half = fitted.params[-1], quantile * fitted.bse[-1]
        found.append((value, value - half, value + half))
    return found


def smoothed(
    p: Any, truth: Any, groups: Any, weights: Any, at: Any, shares: Any
) -> list[np.ndarray]:
    """A share by a logistic regression on natural splines of the log-odds.

    With both ends of its interval, at some probabilities; the knots are at these
    shares of the rows.
    """
    knots = np.quantile(special.logit(p), shares)
    of = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")

    def natural(probability: Any) -> np.ndarray:
        x = special.logit(np.asarray(probability))
        inside = np.clip(x, knots[0], knots[-1])
        return of(inside) + of(inside, 1) * (x - inside)[:, None]

    fitted, quantile = binomial(natural(p), truth, groups, weights)
    grid = natural(at)
    error = np.sqrt(np.einsum("ij,jk,ik->i", grid, fitted.cov_params(), grid))
    middle = grid @ fitted.params
    return [special.expit(middle + sign * quantile * error) for sign in (0, -1, 1)]


def interval(calibration: Any, answers: np.ndarray, percent: int = 90) -> np.ndarray:
    """Both ends of the intervals of predictions, by the arrays of a calibration."""
    width, spread = calibration.half_widths[percent - 1], calibration.spread
    if not spread.size:
        return np.array([answers - width, answers + width])
    below, above = (
        interp1d(spread[0], line, bounds_error=False, fill_value=(line[0], line[-1]))
        for line in spread[1:]
    )
    return np.array(
        [answers - width * below(answers), answers + width * above(answers)]
    )


def says_width(text: str, ends: np.ndarray) -> None:
    """Fail unless a text is how wide these intervals are."""
    widths = ends[1] - ends[0]
    if np.ptp(widths) < 1e-9 * widths.max():
        says(text, "± #", widths[0] / 2)
    else:
        says(text, "# to # wide", widths.min(), widths.max())


def kish(weights: Any) -> float:
    """How many rows of equal weight tell as much as rows of these weights."""
    weights = np.asarray(weights, float)
    return float(weights.sum() ** 2 / (weights @ weights))


def weighted_mean(values: Any, groups: Any, weights: Any) -> tuple[float, float]:
    """Student's 95 % interval of a mean of rows with weights."""
    if groups is not None:
        return tuple(clustered(values, groups, weights, use_t=True).conf_int()[0])
    scaled = np.asarray(weights) * kish(weights) / np.sum(weights)
    return DescrStatsW(np.asarray(values, float), scaled, ddof=1).tconfint_mean()


def share(
    hits: Any, groups: Any, weights: Any = None, level: float = 0.05
) -> tuple[float, float, float, float]:
    """A share, its interval by Wilson and how many independent rows tell as much of it.

    Those of rows of groups are by Korn and Graubard, of rows with weights by Kish.
    """
    n, value = len(hits), float(np.average(hits, weights=weights))
    if groups is not None:
        sizes = np.unique(groups, return_counts=True)[1]
        if 0 < value < 1:
            (error,) = clustered(hits, groups, weights).bse
            n = min(n, value * (1 - value) / error**2)
        else:  # nothing tells how alike the rows of a group are: it counts as one
            n = sizes.sum() ** 2 / (sizes**2).sum()
        tail = 1 - level / 2
        n *= (stats.norm.ppf(tail) / stats.t.ppf(tail, len(sizes) - 1)) ** 2
    elif weights is not None:
        n = kish(weights)
    return value, *proportion_confint(value * n, n, level, method="wilson"), n


def balanced(
    truth: Any, answers: Any, groups: Any = None, weights: Any = None
) -> tuple[float, float, float]:
    """Mean recall with its interval, put together from those of the recalls.

    Groups with rows of several classes: as much wider as least squares with a constant
    for each class says.
    """
    truth, answers = np.asarray(truth), np.asarray(answers)
    hits = (truth == answers) * 1.0
    groups, weights = (x if x is None else np.asarray(x) for x in (groups, weights))
    value = balanced_accuracy_score(truth, answers, sample_weight=weights)
    kinds, wider = [truth == label for label in np.unique(truth)], 1.0
    if groups is not None:
        codes, each = pd.factorize(groups)[0], np.column_stack(kinds) * 1.0
        kwds = {"groups": codes, "use_correction": False}
        model = sm.WLS(hits, each, 1.0 if weights is None else weights)
        errors = model.fit(cov_type="cluster", cov_kwds=kwds).cov_params()
        counts = np.array([len(np.unique(codes[kind])) for kind in kinds])
        n = len(np.unique(codes))
        apart = np.diag(errors) @ (counts / (counts - 1))
        wider = max(1.0, errors.sum() * n / (n - 1) / apart)
    below = above = 0.0
    for kind in kinds:
        of_kind = (x if x is None else x[kind] for x in (hits, groups, weights))
        part, _, _, n = share(*of_kind)
        n /= wider
        low, high = proportion_confint(part * n, n, method="wilson")
        below, above = below + (part - low) ** 2, above + (high - part) ** 2
    low, high = (np.sqrt(of) / len(kinds) for of in (below, above))
    return float(value), max(0.0, value - low), min(1.0, value + high)


def majority(truth: np.ndarray) -> float:
    """Share of the most frequent answer."""
    return float(np.unique(truth, return_counts=True)[1].max() / len(truth))


def recalls(truth: np.ndarray, answers: np.ndarray) -> dict[str, float]:
    """Recall of each class by name."""
    names = sorted(set(truth))
    counts = confusion_matrix(truth, answers, labels=names)
    return dict(
        zip(map(str, names), counts.diagonal() / counts.sum(axis=1), strict=True)
    )


def mean_interval(values: np.ndarray) -> tuple[float, float]:
    """Student's 95 % interval of a mean."""
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return float(np.mean(values) - half), float(np.mean(values) + half)


def by_logit(value, error, quantile):
    """A share with the ends of its interval on the logit scale."""
    middle = np.log(value / (1 - value))
    ends = middle + quantile * error * np.array([-1, 1])
    return value, *(1 / (1 + np.exp(-ends)))


def area(
    margin: Any, positive: Any, groups: Any, weights: Any = None
) -> tuple[float, float, float]:
    """Area under the ROC curve and its interval, by the pairs of the rows of a group.

    After DeLong and Obuchowski.
    """
    rows = pd.DataFrame({"margin": margin, "positive": positive})
    rows["group"] = np.arange(len(rows)) if groups is None else np.asarray(groups)
    rows["weight"] = 1.0 if weights is None else np.asarray(weights)
    value = roc_auc_score(rows.positive, rows.margin, sample_weight=rows.weight)
    of_class = rows.groupby("positive")
    units = of_class.group.nunique()
    if not 0 < value < 1:
        n = units.min()
        return value, *proportion_confint(value * n, n, method="wilson")
    margin, positive = rows.margin.to_numpy(), rows.positive.to_numpy()
    others = np.where(positive[:, None] != positive, rows.weight, 0.0)
    above = np.heaviside(margin[:, None] - margin, 0.5) * others
    above = above.sum(axis=1) / others.sum(axis=1)
    part = np.where(positive, above - value, 1 - above - value) * rows.weight
    part = part / of_class.weight.transform("sum")
    sums = part.groupby([rows.group, rows.positive]).sum().unstack(fill_value=0.0)
    variance = (sums**2).sum() @ (units / (units - 1))
    covered = (sums[False] * sums[True]).sum() * len(sums) / (len(sums) - 1)
    error = np.sqrt(variance + 2 * covered) / (value * (1 - value))
    if groups is None and weights is not None:
        units = of_class.weight.agg(kish)
    return by_logit(value, error, stats.t.ppf(0.975, units.min() - 1))


def predictive(sensitivity, specificity, prevalence):
    """Mercaldo's intervals by a delta method that differentiates numerically."""
    shares = np.array([sensitivity[0], specificity[0]])
    variances = np.diag([p * (1 - p) / n for p, *_, n in (sensitivity, specificity)])
    values = []
    for right, part in ((0, prevalence), (1, 1 - prevalence)):

        def logit(p, right=right, part=part):
            odds = p[right] * part / ((1 - p[1 - right]) * (1 - part))
            return np.atleast_1d(np.log(odds))

        of = NonlinearDeltaCov(logit, shares, variances)
        value = 1 / (1 + np.exp(-of.predicted()[0]))
        values.append(by_logit(value, of.se_vectorized()[0], stats.norm.ppf(0.975)))
    return values
