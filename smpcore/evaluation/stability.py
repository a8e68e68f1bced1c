"""How stable prototypes are: the same method on many redrawn samples of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import is_classifier

from smpcore.datasets import Preparation
from smpcore.errors import SmpcoreError
from smpcore.evaluation.executors import running
from smpcore.model import PrototypeModel
from smpcore.model.portraits import mean_cases
from smpcore.solvers.iterations import STOPPED

_DRAWS = 50
#: Refits with a feature, and without it, before a substitute for it is told.
FEWEST_REFITS = 10
#: From this similarity on a prototype of another fit is the same one.
SAME_PROTOTYPE = 0.5


def redraw(
    y: np.ndarray,
    groups: np.ndarray | None,
    seed: int | Sequence[int],
    keep_labels: bool = True,
) -> np.ndarray:
    """Draw as many groups (or rows) as there are, with replacement."""
    rng = np.random.default_rng(seed)
    resampled = (
        np.arange(len(y)) if groups is None else np.unique(groups, return_inverse=1)[1]
    )
    order = np.argsort(resampled, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(resampled))[:-1])
    n_labels = len(np.unique(y)) if keep_labels else 0
    for _ in range(_DRAWS):
        drawn = rng.integers(0, len(members), len(members))
        rows = np.concatenate([members[i] for i in drawn])
        if not keep_labels or len(np.unique(y[rows])) == n_labels:
            return rows
    raise SmpcoreError(
        "y has a class with so few rows or groups that most samples miss it; leave "
        "that class out."
    )


def reseed(estimator: Any, seed: int) -> Any:
    """Give an estimator that draws another seed: it starts elsewhere in each refit."""
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    return estimator


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training rows that are drawn from.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Prepared features of each row.
    y : ndarray of shape (n_samples,)
        Label or number of each row.
    groups, weights : ndarray of shape (n_samples,), optional
        Which rows are drawn together; how much each counts.
    metadata : mapping of str to ndarray of shape (n_samples,)
        Groups and times of the rows, as `fit` takes them.
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray | None = None
    weights: np.ndarray | None = None
    metadata: Mapping[str, np.ndarray] = field(default_factory=dict)


def refits(
    estimator: Callable[[], Any],
    sample: TrainingRows,
    *,
    n_refits: int = 100,
    executor: Executor | None = None,
    stop: np.ndarray | None = None,
) -> Iterator[PrototypeModel]:
    """Fit on redrawn rows, seed 0 first; models come as they are ready.

    Parameters
    ----------
    estimator : callable
        Makes a new, unfitted estimator.
    sample : TrainingRows
        Training rows that are drawn from.
    n_refits : int
        Number of fits; the seeds are 0 to one less.
    executor : Executor, optional
        Where the fits run: threads, processes, or a Dask client's
        (``client.get_executor()``); None: in this thread, one after the other.
    stop : ndarray of int64, shape (1,), optional
        It ends soon after this becomes non-zero; a worker of a cluster first ends the
        fit that it is at.

    Yields
    ------
    PrototypeModel
    """
    stop = np.zeros(1, dtype=np.int64) if stop is None else stop
    shared = estimator, sample, stop
    with running(_refit, shared, stop, executor, ordered=True) as run:
        for model in run((seed,) for seed in range(n_refits)):
            if model is not None:
                yield model


def _refit(
    shared: tuple[Callable[[], Any], TrainingRows, np.ndarray], task: tuple[int]
) -> PrototypeModel | None:
    """One task: fit on rows drawn with this seed; None if it was asked to stop."""
    make, sample, stop = shared
    if stop[0]:
        return None
    (seed,), fresh = task, make()
    labels = is_classifier(fresh)
    rows = redraw(sample.y, sample.groups, seed, keep_labels=labels)
    reseed(fresh, seed)
    weights = None if sample.weights is None else sample.weights[rows]
    metadata = {name: of[rows] for name, of in sample.metadata.items()}
    problem = fresh.problem(sample.X[rows], sample.y[rows], weights, **metadata)
    fresh.solve(problem, stop=stop)
    return None if fresh.history_.status == STOPPED else fresh.model_


@dataclass(frozen=True, eq=False)
class Stability:
    """How often refits tell the same as a model.

    Parameters
    ----------
    n_refits : int
        Number of refits that the model is compared with.
    cosines : ndarray of shape (n_refits, n_prototypes)
        Cosine between the prototype and its partner in each refit; NaN: it has none.
    selected : ndarray of shape (n_prototypes, n_features)
        Share of the partners that use the feature.
    agrees : ndarray of shape (n_prototypes, n_features)
        Share of those whose sign is the prototype's; NaN where none uses it. Of a
        column of several features: whose products with the prototype's sum to more
        than 0.
    substitute : ndarray of int, shape (n_prototypes, n_features)
        The feature that partners gain most often when they do without this one; -1:
        none. There is one only where at least `FEWEST_REFITS` partners use this
        feature, at least as many do without it, and the two shares of partners that
        use the other one differ by more than two standard errors of their difference.
        That keeps single refits from being told. It is no test: the gain is the
        largest of all features, and of many unrelated ones some will pass by chance.
    without : ndarray of int, shape (n_prototypes, n_features)
        How many partners do without the feature.
    """

    n_refits: int
    cosines: np.ndarray
    selected: np.ndarray
    agrees: np.ndarray
    substitute: np.ndarray
    without: np.ndarray

    def recovered(self, bound: float) -> np.ndarray:
        """Share of refits with a partner whose cosine is the bound or more."""
        return (self.cosines >= bound).mean(axis=0)


def shapes_of(model: PrototypeModel) -> np.ndarray:
    """Each prototype as one row: its weights, or its case or mean case, scaled."""
    if model.is_linear:
        return model.weights
    return (mean_cases(model) - model.center) / model.scale


def stability(
    model: PrototypeModel,
    others: Sequence[PrototypeModel],
    preparation: Preparation | None = None,
) -> Stability:
    """Compare a model with its refits.

    Prototypes of one class are paired so that the cosines sum to the most.

    Parameters
    ----------
    model : PrototypeModel
        Model whose prototypes are looked for in the refits.
    others : sequence of PrototypeModel
        At least one, with the same features and classes.
    preparation : Preparation, optional
        With it table columns are counted in place of features: a category is used
        where one of its levels is.

    Returns
    -------
    Stability

    Raises
    ------
    SmpcoreError
        If `others` is empty.
    """
    if not others:
        raise SmpcoreError("others should hold at least one refit.")
    shapes = shapes_of(model)
    partners = [_partners(model, shapes, other) for other in others]
    rows = np.array(partners)  # (n_refits, n_prototypes, n_features), NaN: no partner
    there = ~np.isnan(rows).any(axis=2)
    used = np.where(there[:, :, None], rows != 0, False)
    number = np.maximum(there.sum(axis=0), 1)
    product, chosen = np.sign(rows) * np.sign(shapes), shapes != 0
    if preparation is not None:
        product = preparation.sum_by_column(rows * shapes)
        used, chosen = map(preparation.used_columns, (used, chosen))
    same = used & (product > 0)
    cosines = np.where(there, _cosines(np.nan_to_num(rows), shapes), np.nan)
    with np.errstate(invalid="ignore"):
        agrees = same.sum(axis=0) / used.sum(axis=0)
    return Stability(
        len(others),
        cosines,
        used.sum(axis=0) / number[:, None],
        agrees,
        np.array([_substitutes(c, used[there[:, j], j]) for j, c in enumerate(chosen)]),
        there.sum(axis=0)[:, None] - used.sum(axis=0),
    )


def match_prototypes(
    model: PrototypeModel, other: PrototypeModel
) -> tuple[np.ndarray, np.ndarray]:
    """Find each prototype of a model in another one, after a refit say.

    Prototypes of one class are paired one to one so that their similarities sum to the
    most. The similarity of directions is the cosine of their weights. That of cases is
    1 minus their root mean squared distance over the features that a model uses, in
    quarters of the training range, about standard deviations. Only features that both
    models have are compared.

    Parameters
    ----------
    model : PrototypeModel
        Model whose prototypes are looked for.
    other : PrototypeModel
        Model in which they are looked for; with the same classes.

    Returns
    -------
    partners : ndarray of int, shape (n_prototypes,)
        Number of the prototype in `other`; -1 where its class has none left.
    similarities : ndarray of shape (n_prototypes,)
        1: the same; from `SAME_PROTOTYPE` on it is the same prototype with changed
        numbers. NaN without a partner.
    """
    partners = np.full(model.n_prototypes, -1)
    similarities = np.full(model.n_prototypes, np.nan)
    first, second = _comparable(model, other)
    if model.is_linear:
        similarity = _cosines(first[:, None], second[None])
    else:
        similarity = 1.0 - cdist(first, second) / np.sqrt(first.shape[1])
    for i, j in _pairs(model, other, similarity):
        partners[i], similarities[i] = j, similarity[i, j]
    return partners, similarities


def _comparable(
    model: PrototypeModel, other: PrototypeModel
) -> tuple[np.ndarray, np.ndarray]:
    """Prototypes of both as rows of the features that both have, in one unit."""
    place = {name: f for f, name in enumerate(other.feature_names)}
    common = [f for f, name in enumerate(model.feature_names) if name in place]
    there = [place[model.feature_names[f]] for f in common]
    used = model.support[common] | other.support[there]
    here, there = np.array(common, int)[used], np.array(there, int)[used]
    if not here.size:  # nothing to tell them apart
        return np.zeros((model.n_prototypes, 1)), np.zeros((other.n_prototypes, 1))
    if model.is_linear:
        return model.weights[:, here], other.weights[:, there]
    unit = (model.high - model.low)[here] / 4
    unit = np.where(unit > 0, unit, 1.0)
    first, second = mean_cases(model), mean_cases(other)
    return first[:, here] / unit, second[:, there] / unit


def _cosines(rows: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Cosine between rows and own along the last axis; two zeros are alike."""
    sizes = np.linalg.norm(rows, axis=-1), np.linalg.norm(shapes, axis=-1)
    product = sizes[0] * sizes[1]
    cosine = (rows * shapes).sum(axis=-1) / np.where(product > 0, product, 1.0)
    return np.where((sizes[0] == 0) & (sizes[1] == 0), 1.0, cosine)


def _partners(
    model: PrototypeModel, shapes: np.ndarray, other: PrototypeModel
) -> np.ndarray:
    """For each prototype the other model's row paired with it, or NaN."""
    rows, partners = shapes_of(other), np.full(shapes.shape, np.nan)
    for i, j in _pairs(model, other, _cosines(rows[None], shapes[:, None])):
        partners[i] = rows[j]
    return partners


def _pairs(
    model: PrototypeModel, other: PrototypeModel, similarity: np.ndarray
) -> Iterator[tuple[int, int]]:
    """Pair prototypes of a class one to one: their similarities sum to the most."""
    for output in range(model.n_outputs):
        here = np.flatnonzero(model.prototype_labels == output)
        there = np.flatnonzero(other.prototype_labels == output)
        chosen = linear_sum_assignment(similarity[np.ix_(here, there)], maximize=True)
        yield from zip(here[chosen[0]], there[chosen[1]], strict=True)


def _substitutes(chosen: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Which feature comes in when one goes out, against how often it is in anyway."""
    substitutes = np.full(len(chosen), -1, dtype=np.int64)
    for feature in np.flatnonzero(chosen):
        without = used[~used[:, feature]]
        with_it = used[used[:, feature]]
        if min(len(without), len(with_it)) < FEWEST_REFITS:
            continue
        shares = without.mean(axis=0), with_it.mean(axis=0)
        gain = shares[0] - shares[1]
        gain[feature] = -1.0
        best = int(gain.argmax())
        sizes = len(without), len(with_it)
        variances = [
            s[best] * (1 - s[best]) / n for s, n in zip(shares, sizes, strict=True)
        ]
        if gain[best] > 2 * np.sqrt(sum(variances)):
            substitutes[feature] = best
    return substitutes
