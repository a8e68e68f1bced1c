"""Optimism of scores on training rows, and instability of predictions, by bootstrap.

A model is better on the rows that it learned from than on others. Harrell's bootstrap
(Harrell, Lee and Mark, Statistics in Medicine 15, 1996) repeats the whole recipe on
rows that are drawn with replacement from the training rows. By how much each refit is
better on its own sample than on the training rows, in the mean, is the optimism; what
the model has on training rows (apparent), less the optimism, is corrected. Its interval
is that of the refits' scores on their own samples, moved so that its mean is the
corrected score: the bootstrap interval with a shifted location of Noma, Shinozaki, Iba,
Teramukai and Furukawa (Statistics in Medicine 40, 2021), who move it by the optimism
alone.

**.632+** (Efron and Tibshirani, Journal of the American Statistical Association 92,
1997) weighs the apparent error with that of rows that a refit did not draw, the more of
the latter the more is learned by heart. It takes an error of single rows that has
bounds, so it is of accuracy and Brier score, and of no area, slope or log-loss. Of a
model that learns by heart Harrell's estimate is still too good, and this one is not.

**Instability** (Riley and Collins, Biometrical Journal 65, 2023): how far the refits
differ in what they predict of one and the same row.

The recipe is `Recipe`. Rows of a group are drawn together, and weights go with their
rows. Validation and test rows take no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

from smpcore.datasets import Dataset, Split, only_compared, prepare, row_weights
from smpcore.errors import SmpcoreError
from smpcore.evaluation.calibrate import (
    brier_score,
    calibrate,
    fold_scores,
    in_order_of,
    log_loss,
    scoring_folds,
)
from smpcore.evaluation.calibration_measures import (
    calibration_intercept,
    calibration_slope,
)
from smpcore.evaluation.executors import running
from smpcore.evaluation.folds import Fold, fit_fold, with_answers
from smpcore.evaluation.operating import roc_area
from smpcore.evaluation.sample_size import candidate_parameters
from smpcore.evaluation.scores import RegressionScores, class_numbers
from smpcore.evaluation.stability import redraw, reseed
from smpcore.evaluation.sweep import ParameterPath
from smpcore.evaluation.tuning import tune
from smpcore.methods.shared.base import PrototypeEstimator
from smpcore.readouts import READOUTS
from smpcore.solvers.iterations import STOPPED

#: Share of a sample's rows that are drawn at least once, where there are many.
DRAWN = 0.632
#: Ends of a 95 % interval, in per cent.
_ENDS = (2.5, 97.5)
#: Fewer refits have no optimism worth telling.
_FEWEST = 2


@dataclass(frozen=True, eq=False)
class Recipe:
    """All that makes a model of training rows, and is repeated in each refit.

    The preparation (medians, levels, ranges), the fit with what it chooses by itself,
    and of classes the calibration: scores out of fold, where copies of a row are in one
    fold, and the choice of a calibrator. With paths the choice of parameters is
    repeated, too; without, they are fixed.

    Parameters
    ----------
    estimator : PrototypeEstimator
        Unfitted, with the parameters of the model.
    dataset : Dataset
        Table to learn from.
    split : Split
        Only its training rows are used.
    paths : tuple of ParameterPath
        Settings, from `tuning_paths`, that `tune` chooses among on folds of the rows.

    Raises
    ------
    SmpcoreError
        If rows are in the order of time, or have similarities in place of columns.
    """

    estimator: PrototypeEstimator
    dataset: Dataset
    split: Split
    paths: tuple[ParameterPath, ...] = ()

    def __post_init__(self) -> None:
        """Refuse rows that cannot be drawn one by one."""
        if self.dataset.times is not None:
            raise SmpcoreError(
                "Rows in the order of time are not drawn at random: a refit would "
                "learn from the future. Predict each period in place of it."
            )
        if only_compared(self.dataset):
            raise SmpcoreError(
                "Rows that are drawn twice would be two columns of similarities; "
                "optimism needs columns of numbers, categories or texts."
            )

    @cached_property
    def classes(self) -> np.ndarray | None:
        """Labels of the training rows, sorted; None for regression."""
        data = self.dataset
        return None if data.classes is None else np.unique(data.y[self.split.train])

    @cached_property
    def y(self) -> np.ndarray:
        """Class number of each training row, or its number."""
        y = self.dataset.y[self.split.train]
        return y if self.classes is None else class_numbers(y, self.classes)

    @cached_property
    def outcome(self) -> int | None:
        """Number of the class that is the event, of two."""
        if self.classes is None or len(self.classes) != 2:
            return None
        code = self.dataset.outcome_code
        return 1 if code is None else code

    @cached_property
    def weights(self) -> np.ndarray | None:
        """Weights of the training rows."""
        split = self.split
        return row_weights(self.dataset, split.with_censored, split.train)


class _Run(NamedTuple):
    """A refit: its scores, and what it says of each training row."""

    on_sample: dict[str, float]
    on_training: dict[str, float]
    answers: np.ndarray
    shares: np.ndarray | None
    left_out: np.ndarray


@dataclass(frozen=True, eq=False)
class Optimism:
    """How much too good scores on training rows are, and how far predictions vary.

    Parameters
    ----------
    lines : DataFrame
        For each measure: ``measure``, ``apparent``, ``optimism``, ``error`` (its
        Monte-Carlo standard error), ``corrected``, ``low`` and ``high`` (95 %
        interval), ``.632+`` (NaN where there is none), ``from`` and ``to`` (2.5th and
        97.5th percentile of the refits on the training rows) and ``refits``, those that
        have the measure. NaN where none has it.
    rows : DataFrame
        For each training row: ``row`` (its number), ``predicted`` (risk of
        the outcome; of more classes probability of the predicted one; or number),
        ``low`` and ``high`` (2.5th and 97.5th percentile of the refits), ``error``
        (mean absolute difference of the refits from ``predicted``), ``changes`` (share
        of the refits that answer otherwise; NaN for regression), ``weight``.
    classes : tuple of str
        Labels; empty of a regression.
    outcome : str
        What the risk is of; empty where there are not two classes.
    n_refits, failed : int
        Refits that ended, and those that could not be fitted.
    parameters : int
        Candidates of predictors, see `candidate_parameters`.
    events, prevalence : int and float
        Training rows of the outcome, and their share by weight.
    settings : int
        Among how many each refit has chosen; 0: parameters were fixed.
    """

    lines: pd.DataFrame
    rows: pd.DataFrame
    classes: tuple[str, ...]
    outcome: str
    n_refits: int
    failed: int
    parameters: int
    events: int
    prevalence: float
    settings: int = 0

    def of(self, measure: str, column: str = "corrected") -> float:
        """A figure of a measure; NaN where there is none."""
        chosen = self.lines.loc[self.lines["measure"] == measure, column]
        return float(chosen.iloc[0]) if len(chosen) else np.nan

    def mean(self, column: str) -> float:
        """Mean of a column of `rows`, by their weights."""
        return float(np.average(self.rows[column], weights=self.rows["weight"]))


def bootstrap_optimism(
    recipe: Recipe,
    *,
    n_refits: int = 200,
    seed: int = 0,
    executor: Executor | None = None,
    stop: np.ndarray | None = None,
    progress: np.ndarray | None = None,
) -> Optimism:
    """Repeat a recipe on rows drawn from the training rows, and compare its scores.

    Parameters
    ----------
    recipe : Recipe
        What is repeated.
    n_refits : int
        Number of samples.
    seed : int
        Seed of the drawing; equal seeds give equal results.
    executor : Executor, optional
        Where the refits run, as in `out_of_fold`.
    stop : ndarray of int64, shape (1,), optional
        Ends soon after this becomes non-zero; refits that have ended count.
    progress : ndarray of float64, shape (1,), optional
        Receives the share of the refits that are done.

    Returns
    -------
    Optimism

    Raises
    ------
    SmpcoreError
        If the recipe cannot be followed on the training rows, or fewer than two refits
        have ended.
    """
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    apparent = _followed(recipe, recipe.split.with_censored, None, stop)
    shared, refits, problems = (recipe, seed, stop), [], []
    with running(_refit, shared, stop, executor, ordered=True) as run:
        for result in run((number,) for number in range(n_refits)):
            if isinstance(result, str):
                problems.append(result)
            elif result is not None:
                refits.append(result)
            if progress is not None:
                progress[0] = (len(refits) + len(problems)) / n_refits
    if len(refits) < _FEWEST:
        if problems:
            raise SmpcoreError(problems[0])
        raise SmpcoreError("Stopped before two refits had ended; start them again.")
    classes = () if recipe.classes is None else tuple(map(str, recipe.classes))
    events = np.zeros(len(recipe.y), dtype=bool)
    if recipe.outcome is not None:
        events = recipe.y == recipe.outcome
    return Optimism(
        _lines(recipe, apparent, refits),
        _rows(recipe, apparent, refits),
        classes,
        "" if recipe.outcome is None else classes[recipe.outcome],
        len(refits),
        len(problems),
        candidate_parameters(prepare(recipe.dataset, recipe.split.train)),
        int(np.sum(events)),
        float(np.average(events, weights=recipe.weights)),
        sum(len(path.grid) for path in recipe.paths),
    )


def _refit(
    shared: tuple[Recipe, int, np.ndarray], task: tuple[int]
) -> _Run | str | None:
    """One task: follow the recipe on drawn rows; why it failed; None if stopped."""
    (number,), (recipe, seed, stop) = task, shared
    if stop[0]:
        return None
    dataset, rows = recipe.dataset, recipe.split.with_censored
    groups = None if dataset.groups is None else dataset.groups[rows]
    try:
        keep = recipe.classes is not None
        drawn = redraw(dataset.y[rows], groups, [seed, number], keep)
        return _followed(recipe, rows[drawn], number, stop)
    except SmpcoreError as problem:
        return None if stop[0] else str(problem)


def _followed(
    recipe: Recipe, drawn: np.ndarray, seed: int | None, stop: np.ndarray
) -> _Run:
    """Make a model of drawn rows, and score it on these and on the training rows."""
    dataset, train = recipe.dataset, recipe.split.train
    (fold,) = with_answers([Fold(drawn, train, 0, 0)], dataset)
    unfitted = clone(recipe.estimator)
    if seed is not None:
        reseed(unfitted, seed)
    if recipe.paths:
        folds = _folds_of(dataset, fold)
        tuned = tune(dataset, folds, recipe.paths, stop=stop)
        unfitted.set_params(**tuned.values)
    estimator, X = fit_fold(unfitted, dataset, fold, stop)
    model = estimator.model_
    if estimator.history_.status == STOPPED:
        raise SmpcoreError("It was stopped.")
    if recipe.classes is not None and len(model.classes) < len(recipe.classes):
        raise SmpcoreError("A sample has no row of a class.")
    weights = row_weights(dataset, fold.with_censored, fold.train)
    if recipe.classes is None:
        scores, answers, shares = None, model.predict(X), None
    else:
        scores = model.scores(X)
        answers = model.decide(scores)
        shares = _shares(recipe, unfitted, fold, (scores, weights), stop)
    places = np.searchsorted(train, fold.train)
    of_rows = recipe, scores, answers, shares
    return _Run(
        _measures(*of_rows, places, weights),
        _measures(*of_rows, np.arange(len(train)), recipe.weights),
        answers,
        shares,
        ~np.isin(train, fold.train),
    )


def _shares(
    recipe: Recipe,
    unfitted: PrototypeEstimator,
    fold: Fold,
    scored: tuple[np.ndarray, np.ndarray | None],
    stop: np.ndarray,
) -> np.ndarray | None:
    """Calibrated probabilities of the training rows; None where rows are too few."""
    dataset, train = recipe.dataset, recipe.split.train
    columns = class_numbers(recipe.classes, dataset.classes)
    scores, weights = scored
    try:
        drawn = _folds_of(dataset, fold)
        by_fold = fold_scores(unfitted, dataset, drawn, stop=stop)
        out_of_fold = in_order_of(train, dataset, drawn, by_fold)[:, columns]
        units = fold.train if dataset.groups is None else dataset.groups[fold.train]
        learned = out_of_fold[np.searchsorted(train, fold.train)]
        y = dataset.y[fold.train]
        return calibrate(learned, y, recipe.classes, units, weights).probabilities(
            scores
        )
    except SmpcoreError:
        if stop[0]:
            raise
        return None


def _folds_of(dataset: Dataset, fold: Fold) -> list[Fold]:
    """Folds of drawn rows; copies of a row are in one fold, and held out once."""
    often = np.bincount(fold.with_censored, minlength=dataset.n_samples)
    distinct = np.unique(fold.train), np.unique(fold.with_censored)
    return [
        replace(
            one,
            train=np.repeat(one.train, often[one.train]),
            censored=np.repeat(one.censored, often[one.censored]),
        )
        for one in scoring_folds(dataset, *distinct)
    ]


def _measures(
    recipe: Recipe,
    scores: np.ndarray | None,
    answers: np.ndarray,
    shares: np.ndarray | None,
    places: np.ndarray,
    weights: np.ndarray | None,
) -> dict[str, float]:
    """Scores of a model on training rows, each as often as it is in `places`."""
    y, answers = recipe.y[places], answers[places]
    if recipe.classes is None:
        result = RegressionScores(y, answers, weights=weights)
        return {READOUTS["r2"].label: result.r2, READOUTS["mae"].label: result.mae}
    values = {
        READOUTS["accuracy"].label: float(np.average(answers == y, weights=weights))
    }
    outcome = recipe.outcome
    if outcome is not None:
        lead = (scores[:, outcome] - scores[:, 1 - outcome])[places]
        values["AUC"] = roc_area(lead, y == outcome, weights=weights).value
    if shares is None:
        return values
    shares = shares[places]
    values["Brier score"] = brier_score(shares, y, weights=weights).value
    values["Log-loss"] = log_loss(shares, y, weights)
    if outcome is not None:
        checked = shares[:, outcome], y == outcome, None, weights
        values["Calibration intercept"] = calibration_intercept(*checked).value
        values["Calibration slope"] = calibration_slope(*checked).value
    return values


def _lines(recipe: Recipe, apparent: _Run, refits: Sequence[_Run]) -> pd.DataFrame:
    """Optimism of each measure that the model has."""
    plus = _plus(recipe, apparent, refits)
    lines = []
    for name, value in apparent.on_training.items():
        pairs = np.array(
            [
                (one.on_sample.get(name, np.nan), one.on_training.get(name, np.nan))
                for one in refits
            ]
        )
        on_sample, on_training = pairs[np.isfinite(pairs).all(axis=1)].T
        line = {"measure": name, "apparent": value, "refits": len(on_sample)}
        if len(on_sample) >= _FEWEST:
            gains = on_sample - on_training
            line["optimism"] = gains.mean()
            line["error"] = gains.std(ddof=1) / np.sqrt(len(gains))
            line["corrected"] = value - gains.mean()
            spread = np.percentile(on_sample, _ENDS) - on_sample.mean()
            line["low"], line["high"] = line["corrected"] + spread
            line["from"], line["to"] = np.percentile(on_training, _ENDS)
        lines.append(line | {".632+": plus.get(name, np.nan)})
    columns = ["measure", "apparent", "optimism", "error", "corrected", "low", "high"]
    return pd.DataFrame(lines).reindex(
        columns=[*columns, ".632+", "from", "to", "refits"]
    )


def _plus(recipe: Recipe, apparent: _Run, refits: Sequence[_Run]) -> dict[str, float]:
    """The .632+ estimates of accuracy and Brier score; none where they do not fit.

    That is where a row is in every sample: nothing tells what is predicted of it then.
    """
    left_out = np.array([one.left_out for one in refits])
    if recipe.classes is None or not left_out.any(axis=0).all():
        return {}
    labels = np.eye(len(recipe.classes))
    answers = [labels[one.answers] for one in (apparent, *refits)]
    accuracy = READOUTS["accuracy"].label
    values = {accuracy: 1 - _weighed(recipe, answers, left_out, 2)}
    shares = [one.shares for one in (apparent, *refits)]
    if all(one is not None for one in shares):
        unit = 2 if len(labels) == 2 else 1
        values["Brier score"] = _weighed(recipe, shares, left_out, unit)
    return values


def _weighed(
    recipe: Recipe, shares: Sequence[np.ndarray], left_out: np.ndarray, unit: int
) -> float:
    """Efron and Tibshirani's .632+: between the apparent error and that outside.

    Shares of the model come first. An error is the squared distance from what occurred;
    of answers, as shares of 0 and 1, it is twice that of being wrong. ``guessed`` is
    the error where predictions and truth have nothing to do with each other; the rate
    of overfitting says how near to that it is outside.
    """
    mean = partial(np.average, axis=0, weights=recipe.weights)
    occurred = np.eye(len(recipe.classes))[recipe.y]
    error, *others = (np.sum((one - occurred) ** 2, axis=1) / unit for one in shares)
    error = float(mean(error))
    outside = float(mean(np.sum(others * left_out, axis=0) / left_out.sum(axis=0)))
    usual, predicted = mean(occurred), mean(shares[0])
    guessed = mean(shares[0] ** 2) - 2 * predicted * usual + usual
    guessed = float(guessed.sum()) / unit
    outside = min(outside, guessed)
    rate = (outside - error) / (guessed - error) if outside > error else 0.0
    weight = DRAWN / (1 - (1 - DRAWN) * rate)
    return (1 - weight) * error + weight * outside


def _rows(recipe: Recipe, apparent: _Run, refits: Sequence[_Run]) -> pd.DataFrame:
    """What the refits predict of each training row, beside the model."""
    train, is_number = recipe.split.train, recipe.classes is None
    changes = np.full(len(train), np.nan)
    if not is_number:
        changes = np.mean([one.answers != apparent.answers for one in refits], axis=0)
    followed = [one for one in refits if is_number or one.shares is not None]
    columns: dict[str, Any] = {"row": recipe.dataset.row_numbers(train)}
    names = ("predicted", "low", "high", "error")
    if len(followed) < _FEWEST or not (is_number or apparent.shares is not None):
        columns |= dict.fromkeys(names, np.nan)
    else:
        predicted = _predicted(recipe, apparent, apparent)
        others = np.array([_predicted(recipe, one, apparent) for one in followed])
        limits = np.percentile(others, _ENDS, axis=0)
        error = np.abs(others - predicted).mean(axis=0)
        columns |= dict(zip(names, (predicted, *limits, error), strict=True))
    weights = np.ones(len(train)) if recipe.weights is None else recipe.weights
    return pd.DataFrame(columns | {"changes": changes, "weight": weights})


def _predicted(recipe: Recipe, run: _Run, apparent: _Run) -> np.ndarray:
    """Risk of the outcome, or probability of the model's answer, or number."""
    if recipe.classes is None:
        return run.answers
    if recipe.outcome is not None:
        return run.shares[:, recipe.outcome]
    return run.shares[np.arange(len(run.shares)), apparent.answers]
