"""A risk score: a few lines with whole points, and the risk of each total.

Lines, points, multiplier and intercept are chosen together: they minimise the mean
log-loss of the training rows, see `smpcore.explain.score_search`. As they were chosen,
that loss is too good. The risks are those of a second model of two numbers, offset c
and slope d,

    log-odds of the risk = c + d (intercept + multiplier * total),   0 <= d <= 1,

fitted to out-of-fold scores with Platt's targets: in each fold lines and points are
searched anew without the rows that it holds out. If the scores as they are have the
smaller out-of-fold log-loss, c = 0 and d = 1. The intervals are Wald's for that
line; with weights of rows the number of rows is Kish's effective one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from smpcore.datasets import Input, Preparation, listed
from smpcore.errors import SmpcoreError
from smpcore.explain.score_lines import (
    Line,
    bounds_of,
    candidate_lines,
    without_equal,
)
from smpcore.explain.score_search import Problem, Proof, Scored, fit, search
from smpcore.threads import one_core

#: Lines and points of a score, at most.
MAX_LINES, MAX_POINTS = 10, 20
#: Of more training rows evenly spread ones are looked at; of more lines those that
#: tell the classes apart best.
MOST_ROWS, MOST_CANDIDATES = 20_000, 600
_NORMAL = 1.959963984540054


@dataclass(frozen=True, eq=False)
class RiskCalibration:
    """Log-odds of the risk as a line in those of the score.

    Parameters
    ----------
    offset, slope : float
        The line.
    covariance : ndarray of shape (2, 2)
        Of slope and offset, in this order.
    n_rows : float
        Rows that it was fitted to; Kish's effective number if they have weights.
    """

    offset: float
    slope: float
    covariance: np.ndarray
    n_rows: float

    def risk(self, z: np.ndarray) -> np.ndarray:
        """Risk at log-odds of the score."""
        return expit(self.offset + self.slope * z)

    def interval(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the 95 % interval around it."""
        design = np.column_stack([z, np.ones_like(z)])
        variance = np.einsum("ij,jk,ik->i", design, self.covariance, design)
        middle, spread = self.offset + self.slope * z, _NORMAL * np.sqrt(variance)
        return expit(middle - spread), expit(middle + spread)


@dataclass(frozen=True, eq=False)
class RiskScore:
    """Points of each line, and the risk that follows from their sum.

    Parameters
    ----------
    lines : tuple of Line
        Statements; each that is true for a row adds its points.
    points : tuple of int
        All positive: a line that lowers the risk is written as its opposite.
    scale, intercept : float
        The fitted log-odds are ``intercept + scale * total``.
    calibration : RiskCalibration
        From these to the risk.
    classes : ndarray of shape (2,)
        Labels; those without the outcome and with it.
    outcome : {0, 1}
        Which of them is the outcome.
    loss : float
        Mean log-loss of the training rows, before the calibration.
    counts : DataFrame
        For each total of a training row: weight of the rows and of those with the
        outcome among them.
    bound : float
        No score of as many lines and points has a smaller loss.
    pool : tuple of RiskScore
        The best score of each set of columns, if its loss is close to the best; this
        one first.
    complete : bool
        Whether the pool has every such set of columns.
    within : float
        What is close: the part by which a loss may be larger than the best.
    n_left_out : tuple of (int, int)
        Lines and training rows that were not looked at, as there were too many: bound
        and pool are of the others.
    """

    lines: tuple[Line, ...]
    points: tuple[int, ...]
    scale: float
    intercept: float
    calibration: RiskCalibration
    classes: np.ndarray
    outcome: int
    loss: float
    counts: pd.DataFrame
    bound: float = 0.0
    pool: tuple[RiskScore, ...] = ()
    complete: bool = False
    within: float = 0.0
    n_left_out: tuple[int, int] = (0, 0)

    @property
    def gap(self) -> float:
        """By which part of its loss a better score could be better, at most."""
        return (self.loss - self.bound) / self.loss if self.loss > 0 else 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that have points."""
        return tuple(dict.fromkeys(line.column.name for line in self.lines))

    def totals(self, X: np.ndarray) -> np.ndarray:
        """Points of each prepared row."""
        total = np.zeros(len(X), dtype=np.int64)
        for line, points in zip(self.lines, self.points, strict=True):
            total += points * line.holds(X)
        return total

    def risk(self, totals: np.ndarray) -> np.ndarray:
        """Risk of each total."""
        return self.calibration.risk(self.intercept + self.scale * totals)

    def probabilities(self, X: np.ndarray) -> np.ndarray:
        """Probability of each class of each prepared row, shape (n_samples, 2)."""
        risk = self.risk(self.totals(X))
        pair = np.column_stack([1 - risk, risk])
        return pair if self.outcome else pair[:, ::-1]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Label of each prepared row: the outcome where its risk is 50 % or more."""
        is_outcome = self.risk(self.totals(X)) >= 0.5
        return self.classes[np.where(is_outcome, self.outcome, 1 - self.outcome)]

    def points_of_rows(self, X: np.ndarray) -> pd.DataFrame:
        """Points of each line, their total and its risk, of each prepared row."""
        columns = {
            f"points: {line.column.name} {line.value}": points * line.holds(X)
            for line, points in zip(self.lines, self.points, strict=True)
        }
        total = self.totals(X)
        risk = f"risk of {self.classes[self.outcome]} by points"
        return pd.DataFrame(columns | {"total points": total, risk: self.risk(total)})

    def possible_totals(self) -> list[int]:
        """Every total that a row can have, ascending: an age is not both 50 and 80."""
        sums, pairs = {0}, [*zip(self.lines, self.points, strict=True)]
        for name in self.columns:
            of_column = [pair for pair in pairs if pair[0].column.name == name]
            more = _column_totals(of_column)
            sums = {a + b for a in sums for b in more}
        return sorted(sums)

    def to_frame(self) -> pd.DataFrame:
        """The lines: column, value, points, and whether a missing value gets these."""
        rows = [
            (line.column.name, line.value, points, line.missing_holds)
            for line, points in zip(self.lines, self.points, strict=True)
        ]
        return pd.DataFrame(rows, columns=["column", "value", "points", "missing"])

    def risk_frame(self) -> pd.DataFrame:
        """Risk of each possible total with its interval, and rows of training."""
        totals = np.array(self.possible_totals())
        low, high = self.calibration.interval(self.intercept + self.scale * totals)
        columns = {"total": totals, "risk": self.risk(totals), "low": low, "high": high}
        frame = pd.DataFrame(columns)
        return frame.join(self.counts, on="total").fillna({"rows": 0.0, "events": 0.0})


def _column_totals(pairs: list[tuple[Line, int]]) -> set[int]:
    """What the lines of one column can add together."""
    column = pairs[0][0].column
    if column.kind == "number":
        cuts = sorted({line.cut for line, _ in pairs})
        values = np.array([np.nextafter(cuts[0], -np.inf), *cuts])
        X = np.zeros((len(values), column.first + 1))
        X[:, column.first] = values
    else:
        X = np.zeros((column.width + 1, column.first + column.width))
        X[range(column.width), range(column.first, X.shape[1])] = 1.0
        if column.dropped < 0 and column.fill >= 0:  # one of the levels holds
            X = X[:-1]
    return {int(sum(p * line.holds(row[None])[0] for line, p in pairs)) for row in X}


@dataclass(frozen=True)
class ScoreOptions:
    """What is asked of a score.

    Parameters
    ----------
    outcome : object, optional
        Label whose risk is scored; by default the second one.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the rows: those of repeated rows choose the same score, if `folds`
        divide them alike.
    signs : mapping of str to int
        Name of a column of numbers -> 1: more of it never lowers the risk, -1: more of
        it never raises it.
    required, excluded : collection of str
        Columns that must have points, or must not.
    folds : int or sequence of (ndarray, ndarray)
        For the calibration: their number, or rows to learn from and rows to hold out.
    within : float
        The pool has scores whose loss is larger by at most this part of the best.
    n_parts : int
        Parts of branch and bound, which proves the bound; where it ends by itself, the
        score is the best there is, and the pool complete.
    stopped : callable
        Whether to end with what there is.
    progress : callable
        It is given the share that is done.
    """

    outcome: object = None
    sample_weight: np.ndarray | None = None
    signs: Mapping[str, int] = field(default_factory=dict)
    required: Collection[str] = ()
    excluded: Collection[str] = ()
    folds: int | Sequence[tuple[np.ndarray, np.ndarray]] = 5
    within: float = 0.05
    n_parts: int = 20
    stopped: Callable[[], bool] = lambda: False
    progress: Callable[[float], None] = lambda share: None

    def of_rows(self, rows: np.ndarray) -> ScoreOptions:
        """The same for some of the rows."""
        weight, folds = self.sample_weight, self.folds
        if weight is not None:
            weight = weight[rows]
        if not isinstance(folds, int):
            folds = [
                tuple(np.flatnonzero(np.isin(rows, part)) for part in pair)
                for pair in folds
            ]
        return replace(self, sample_weight=weight, folds=folds)


def risk_score(
    X: np.ndarray,
    y: np.ndarray,
    preparation: Preparation,
    n_lines: int = 5,
    most_points: int = 5,
    **options: Any,
) -> RiskScore:
    """Choose a risk score for two classes.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Prepared training rows; of more than 20,000 evenly spread ones are used.
    y : ndarray of shape (n_samples,)
        Their labels, of two classes.
    preparation : Preparation
        What prepared them: names, levels and digits of the columns.
    n_lines, most_points : int
        Lines, and points of a line, at most.
    **options
        Fields of `ScoreOptions`.

    Returns
    -------
    RiskScore

    Raises
    ------
    SmpcoreError
        If there are not two classes, no line is left, a column is unknown, or the
        numbers of lines and points are too large.

    Examples
    --------
    >>> from smpcore import load_dataset, prepare, split
    >>> data = load_dataset("breast_cancer")
    >>> rows = split(data).train
    >>> preparation = prepare(data, rows)
    >>> X = preparation.transform(data.frame)[rows]
    >>> score = risk_score(X, data.y[rows], preparation, n_lines=3, n_parts=1)
    >>> bool((score.predict(X) == data.y[rows]).mean() > 0.9)
    True
    """
    settings, n_rows = ScoreOptions(**options), len(y)
    if len(y) > MOST_ROWS:
        rows = np.arange(0, len(y), -(-len(y) // MOST_ROWS))
        X, y, settings = X[rows], y[rows], settings.of_rows(rows)
    classes, y_encoded = np.unique(y, return_inverse=True)
    names = {*settings.signs, *settings.required, *settings.excluded}
    _check(classes, preparation, n_lines, most_points, names)
    if both := {*settings.required} & {*settings.excluded}:
        raise SmpcoreError(f"Both required and excluded: {listed(sorted(both))}.")
    positive = 1
    if settings.outcome is not None:
        positive = int(np.flatnonzero(classes == settings.outcome)[0])
    weight = settings.sample_weight
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    with one_core:
        task = _Task(X, y_encoded == positive, weight, n_lines, most_points)
        task.choose_lines(preparation.inputs, settings)
        scores = search(task.problem(), settings.stopped)
        if not scores:
            raise SmpcoreError("No score has points for all columns that must be in.")
        proof = Proof(task.problem(), scores, settings.within, settings.stopped)
        proof.run(settings.n_parts, lambda share: settings.progress(0.1 + 0.5 * share))
        calibration = task.calibrate(_divided(settings.folds, y_encoded), settings)
    score = _with_pool(task, proof, calibration, classes, positive)
    n_left_out = task.n_lines_left_out, n_rows - len(y)
    pool = tuple(replace(one, n_left_out=n_left_out) for one in score.pool)
    return replace(score, pool=pool, n_left_out=n_left_out)


def _check(classes, preparation, n_lines, most_points, names) -> None:
    """Refuse what cannot be scored."""
    if len(classes) != 2:
        raise SmpcoreError(
            f"A risk score needs two classes, these rows have {len(classes)}."
        )
    for size, most, what in (
        (n_lines, MAX_LINES, "n_lines"),
        (most_points, MAX_POINTS, "most_points"),
    ):
        if not 1 <= size <= most:
            raise SmpcoreError(f"{what}={size} should be from 1 to {most}.")
    known = {one.name for one in preparation.inputs}
    if names - known:
        raise SmpcoreError(
            f"Not a column of the model: {listed(sorted(names - known))}."
        )


def _divided(folds, y_encoded: np.ndarray):
    """Rows to learn from and rows to hold out."""
    if not isinstance(folds, int):
        return folds
    n_folds = min(folds, int(np.bincount(y_encoded).min()))
    if n_folds < 2:
        return []
    from sklearn.model_selection import StratifiedKFold  # not at each import of smpcore

    drawn = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    return list(drawn.split(y_encoded, y_encoded))


class _Task:
    """Training rows with the lines that hold for them."""

    def __init__(self, X, with_outcome, weight, n_lines: int, most_points: int) -> None:
        self.X, self.with_outcome = X, with_outcome
        #: Weights that sum to 1, and what they summed to: so many repeated rows.
        self.weight, self.n_rows = weight / weight.sum(), weight.sum()
        self.n_lines, self.most_points = n_lines, most_points

    def choose_lines(self, inputs: Sequence[Input], settings: ScoreOptions) -> None:
        """Make the lines; of equal ones that of a required column stays."""
        required = [*settings.required]
        inputs = [one for one in inputs if one.name not in set(settings.excluded)]
        order = sorted(inputs, key=lambda one: one.name not in required)
        lines = candidate_lines(order, self.X, self.weight)
        if not lines:
            raise SmpcoreError(
                "No column has a value that divides the training rows; a score needs "
                "columns of numbers or categories that are not constant."
            )
        holds = np.column_stack([line.holds(self.X) for line in lines])
        low, high = bounds_of(lines, settings.signs)
        chosen = without_equal(lines, holds, low, high)
        self.n_lines_left_out = max(0, len(chosen) - MOST_CANDIDATES)
        if self.n_lines_left_out:
            chosen = self._promising(chosen, lines, holds, required)
        self.lines, self.holds = [lines[j] for j in chosen], holds[:, chosen]
        self.low, self.high = low[chosen], high[chosen]
        places = {one.name: place for place, one in enumerate(order)}
        self.columns = np.array([places[line.column.name] for line in self.lines])
        self.required = frozenset(places[name] for name in required)
        missing = self.required - set(self.columns.tolist())
        if missing or len(required) > self.n_lines:
            raise SmpcoreError(
                f"A score of {self.n_lines} lines cannot have points for "
                f"{listed(sorted(required))}: each needs a line that divides the rows."
            )

    def _promising(
        self, chosen: list[int], lines: list[Line], holds: np.ndarray, required: list
    ) -> list[int]:
        """The lines that tell the classes apart best, and those of required columns."""
        part = holds[:, chosen].astype(float)
        share = self.weight @ part
        residual = self.weight * (self.with_outcome - self.weight @ self.with_outcome)
        gains = (residual @ part) ** 2 / (share * (1 - share))
        gains += [1.0 * (lines[j].column.name in required) for j in chosen]
        order = np.argsort(-gains, kind="stable")[:MOST_CANDIDATES]
        return sorted(chosen[place] for place in order)

    def problem(self, rows: np.ndarray | None = None) -> Problem:
        """The search on some of the rows, equal ones joined."""
        rows = np.arange(len(self.X)) if rows is None else rows
        different, place = np.unique(self.holds[rows], axis=0, return_inverse=True)
        weight = self.weight[rows] / self.weight[rows].sum()
        sums = [
            np.bincount(place.ravel(), weight * part, len(different))
            for part in (~self.with_outcome[rows], self.with_outcome[rows])
        ]
        return Problem(
            different.astype(float),
            np.column_stack(sums),
            self.low,
            self.high,
            self.columns,
            self.required,
            self.n_lines,
            self.most_points,
        )

    def calibrate(self, folds, settings: ScoreOptions) -> RiskCalibration:
        """Fit risks to out-of-fold scores; without any the score is taken as it is."""
        logits, rows = [], []
        for number, (train, held_out) in enumerate(folds):
            settings.progress(0.6 + 0.4 * number / len(folds))
            if settings.stopped() or len(np.unique(self.with_outcome[train])) < 2:
                continue
            scores = search(self.problem(train), settings.stopped)
            if not scores:
                continue
            best = min(scores.values(), key=lambda one: (one.loss, one.lines))
            totals = self.holds[held_out][:, list(best.lines)] @ np.array(best.points)
            logits.append(best.intercept + best.scale * totals)
            rows.append(held_out)
        if not rows:
            return RiskCalibration(0.0, 1.0, np.zeros((2, 2)), 0.0)
        return self._line(np.concatenate(logits), np.concatenate(rows))

    def _line(self, logits: np.ndarray, rows: np.ndarray) -> RiskCalibration:
        """Regress the outcome on out-of-fold log-odds."""
        weight = self.weight[rows] / self.weight[rows].sum()
        design = np.column_stack([logits, np.ones_like(logits)])
        y = self.with_outcome[rows]
        different = np.unique(rows)
        squares = (self.weight[different] ** 2).sum()
        n_rows = float(self.weight[different].sum() ** 2 / squares)
        # Platt's targets: of N rows of a class the share is (N + 1) / (N + 2), not 1.
        n_events = self.n_rows * self.weight[different].sum()
        n_events *= np.array([1 - weight[y].sum(), weight[y].sum()])
        certain = (n_events + 1) / (n_events + 2)
        target = np.where(y, certain[1], 1 - certain[0])
        cells = np.column_stack([weight * (1 - target), weight * target])
        low, high = np.array([[0.0, -20.0]]), np.array([[1.0, 20.0]])
        slope, offset = fit(design, cells[None], low, high).beta[0]
        signed = np.where(y, -1.0, 1.0)
        losses = [
            weight @ np.logaddexp(0.0, signed * (offset + slope * logits)),
            weight @ np.logaddexp(0.0, signed * logits),
        ]
        if losses[1] < losses[0]:  # nothing to correct, as where classes are apart
            slope, offset = 1.0, 0.0
        share = expit(design @ [slope, offset])
        curved = design.T @ (design * (weight * share * (1 - share))[:, None])
        covariance = np.linalg.pinv(curved * n_rows, hermitian=True)
        return RiskCalibration(float(offset), float(slope), covariance, n_rows)


def _with_pool(
    task: _Task, proof: Proof, calibration: RiskCalibration, classes, positive: int
) -> RiskScore:
    """The best score with the best of every other set of columns."""
    order = sorted(proof.scores.values(), key=lambda one: (one.loss, one.lines))
    best_of: dict[frozenset, Scored] = {}
    for one in order:
        if one.loss <= proof.ceiling:
            best_of.setdefault(frozenset(task.columns[list(one.lines)].tolist()), one)
    common = calibration, classes, positive
    pool = [_built(task, one, *common) for one in best_of.values()]
    pool = [replace(one, bound=proof.bound) for one in pool]
    return replace(
        pool[0], pool=tuple(pool), complete=proof.complete, within=proof.within
    )


def _built(
    task: _Task, scored: Scored, calibration: RiskCalibration, classes, positive: int
) -> RiskScore:
    """A score with positive points, its lines in the order of the columns."""
    rows = sorted(
        zip(scored.lines, scored.points, strict=True),
        key=lambda pair: (task.lines[pair[0]].column.first, pair[0]),
    )
    lines = tuple(replace(task.lines[j], negated=points < 0) for j, points in rows)
    shift = sum(min(points, 0) for _, points in rows)
    score = RiskScore(
        lines,
        tuple(abs(points) for _, points in rows),
        scored.scale,
        scored.intercept + scored.scale * shift,
        calibration,
        classes,
        positive,
        scored.loss,
        pd.DataFrame(),
    )
    parts = {"rows": task.weight, "events": task.weight * task.with_outcome}
    counts = pd.DataFrame(parts).groupby(score.totals(task.X)).sum()
    return replace(score, counts=counts * len(task.X))
