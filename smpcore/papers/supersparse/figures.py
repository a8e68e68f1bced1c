"""Figures 2 to 4, and Algorithm 1 from random rows: what is not about regression.

Figure 2 has two virtual prototypes in place of an SVM, Figure 3 the number of
prototypes by equation (8) and what is left out on the way, Figure 4 false rejections
against false acceptances: is this the person? Algorithm 1 is run with and without
repulsion, beside ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import le
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from smpcore.baselines.models import FewVectorSVC
from smpcore.datasets import Dataset, prepare
from smpcore.methods import METHODS
from smpcore.methods.supersparse import SuperSparseClassifier, prune_path
from smpcore.methods.supersparse.estimator import choose_size
from smpcore.methods.supersparse.paper_algorithm import run_as_printed
from smpcore.papers.conclusions import Claim, Holds, Numbers, where_known
from smpcore.papers.experiment import Case, Experiment, Outcome, Reported
from smpcore.papers.protocols import (
    Halves,
    best_by_folds,
    grid_of,
    halves,
    scaled_numbers,
)
from smpcore.papers.sources import Source, bundled, generated, unavailable

#: Task -> the paper's estimator.
ESTIMATORS = METHODS["supersparse"].estimators
#: Nodes of the grid on each axis that two decision functions are compared on.
NODES = 60
AGREE, ALMOST = "same class on the grid %", "almost the same decision"
#: Share of the grid from which on a decision is almost the same.
ENOUGH = 95.0
TWO, SVM = "2 virtual prototypes", "SVM"


def _grid(X: np.ndarray) -> np.ndarray:
    """Places over the range of the rows and a tenth more, (n_places, 2)."""
    low, high = X.min(axis=0), X.max(axis=0)
    edge = 0.1 * (high - low)
    axes = (
        np.linspace(a, b, NODES) for a, b in zip(low - edge, high + edge, strict=True)
    )
    return np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)


def _figure_2(case: Case) -> Outcome:
    """An RBF-SVM of 25 rows, or two invented cases that learn its decision values."""
    X, y = case.rows.X[:25], case.rows.y[:25]
    scale = X.std(axis=0)
    gamma = case.experiment.values["gamma"]
    svm = SVC(gamma=gamma).fit(X / scale, y)
    if case.trial.model == SVM:
        return Outcome({"prototypes": len(svm.support_)})
    values = {"n_prototypes": 2, "target": "teacher", "gamma": gamma}
    fitted = SuperSparseClassifier(**values).fit(X, y)
    places = _grid(X)
    same = np.mean(svm.predict(places / scale) == fitted.predict(places))
    return Outcome(
        {
            "prototypes": fitted.model_.n_prototypes,
            AGREE: 100 * same,
            ALMOST: 100 * same >= ENOUGH,
        },
        method="supersparse",
        values=values,
    )


def _same_on_average(numbers: Numbers, limit: float = ENOUGH) -> Iterator[float]:
    same = numbers(TWO, AGREE)
    yield where_known(same >= limit, same)


_WITHOUT_NUMBERS = (
    "not possible here: pictures without numbers, of faces that their owners give on "
    "request only; Prototypes shows those of any data as pictures"
)

EXPERIMENTS = (
    Experiment(
        name="supersparse-figure-2",
        where="Figure 2",
        title="Two virtual prototypes in place of an SVM's support vectors",
        data={
            **bundled("moons", "xor"),
            "blobs": generated("blobs", n_classes=2),
        },
        models=dict.fromkeys((SVM, TWO)),
        measure=_figure_2,
        repetitions=5,
        settings=((TWO, "prototypes"),),
        values={"gamma": 0.5},
        checks={"same": Holds(ALMOST, (TWO,)), "average": _same_on_average},
    ),
    Experiment(
        "supersparse-figures-5-6-7",
        "Figures 5 to 7",
        "Prototypes of a client and of ages, and images for each age",
        impossible=_WITHOUT_NUMBERS,
    ),
)


#: Numbers of prototypes that are tried, and what one costs: those of Figure 3.
SIZES, PRICE = (10, 9, 8, 7, 6, 5, 4, 3, 2), 1e-3
RISE, COEFFICIENT, ALONE = (
    "exact rise",
    "smallest |beta|, as printed",
    "each m by itself",
)
CHOSEN = "chosen m"


def fits(
    estimator: Any, X: np.ndarray, y: np.ndarray, model: str, sizes: tuple[int, ...]
) -> Iterator[Any]:
    """Fits with fewer and fewer prototypes."""
    if model == ALONE:
        for size in sizes:
            yield clone(estimator).set_params(n_prototypes=size).fit(X, y)
        return
    removal = "coefficient" if model == COEFFICIENT else "rise"
    estimator = clone(estimator).set_params(removal=removal)
    yield from prune_path(estimator, estimator.problem(X, y), sizes)


def _error(fitted: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Mean squared error: of -1 and 1, or in variances of the training targets."""
    if is_classifier(fitted):
        wanted = np.where(y == fitted.classes_[1], 1.0, -1.0)
        return float(np.mean((fitted.decision_function(X) - wanted) ** 2))
    return float(np.mean((fitted.predict(X) - y) ** 2))


def _figure_3(case: Case) -> Outcome:
    rows, task = scaled_numbers(case.rows), case.dataset.task
    estimator = ESTIMATORS[task]()
    X, held_out, y, wanted = train_test_split(
        rows.X,
        rows.y,
        test_size=0.25,
        random_state=case.trial.repetition,
        stratify=None if task == "regression" else rows.y,
    )
    fitted = [*fits(estimator, X, y, case.trial.model, SIZES)]
    losses = [_error(one, held_out, wanted) for one in fitted]
    errors = (_error(one, rows.X_test, rows.y_test) for one in fitted)
    test = dict(zip(SIZES, errors, strict=True))
    chosen = choose_size(SIZES, losses, PRICE)
    total = {m: loss + PRICE * m for m, loss in zip(SIZES, losses, strict=True)}
    upwards = SIZES[::-1]
    return Outcome(
        {CHOSEN: chosen, "test error at chosen m": test[chosen]},
        {
            "L(m)": {m: total[m] for m in upwards},
            "test error": {m: test[m] for m in upwards},
        },
        method="supersparse",
        values={"n_prototypes": chosen},
    )


_FIGURE = "rows of the figure"
EXPERIMENTS += (
    Experiment(
        name="supersparse-figure-3",
        where="Figure 3",
        title="Number of prototypes by loss plus rho m, and two ways to leave one out",
        data={
            **bundled("moons", "xor", "breast_cancer", "diabetes", "hills"),
            **unavailable("the rows are only in a picture", _FIGURE),
        },
        models=dict.fromkeys((RISE, COEFFICIENT, ALONE)),
        measure=_figure_3,
        repetitions=5,
        reported=(Reported(_FIGURE, COEFFICIENT, CHOSEN, 3.0),),
        axis="prototypes m",
    ),
)


#: Iterations that are run, and those that the curves show.
MOST, SHOWN = 400, (0, 5, 10, 20, 30, 50, 100, 200, 400)
#: Epsilon of Algorithm 1 on the mean loss, whose targets have variance 1; prototypes.
EPSILON, N_PROTOTYPES = 1e-5, 5
MEAN, SUM = "Algorithm 1, mean loss", "Algorithm 1, sum of losses"
NO_REPULSION = "Algorithm 1, mean loss, no repulsion"
SAME, OWN_START = "ours, from the same rows", "ours, own start"
ENDS, OBJECTIVE = "ends within 30 iterations, below its start", "objective"
DIVERGED = "ends above its start"


def _same_half(dataset: Dataset, _: int) -> Halves:
    """One division for all starts."""
    return halves(dataset, 0)


def _run(case: Case) -> Outcome:
    rows, trial = case.rows, case.trial
    kind = ESTIMATORS[case.dataset.task]
    values = {
        "n_prototypes": N_PROTOTYPES,
        "random_state": trial.repetition,
        "tol": EPSILON,
        "max_iter": MOST,
        "start": "auto" if trial.model == OWN_START else "random",
    }
    estimator = kind(**values)
    problem = estimator.problem(rows.X, rows.y)
    fitted = estimator.solve(problem)
    objective = fitted.history_.objective
    if trial.model in (MEAN, SUM, NO_REPULSION):
        steps = run_as_printed(
            kind(**values),
            problem,
            MOST,
            start=fitted.start_,
            loss="sum" if trial.model == SUM else "mean",
            repulsion=trial.model != NO_REPULSION,
        )
        objective = np.array([step.objective for step in steps])
    n_iter = len(objective) - 1
    # After the end the state stays; a diverged one has no number that could be drawn.
    places = np.minimum(SHOWN, n_iter)
    curve = {
        at: objective[place]
        for at, place in zip(SHOWN, places, strict=True)
        if objective[place] < 10 * objective[0]
    }
    diverged = not objective[-1] <= objective[0]
    measures = {
        OBJECTIVE: np.nan if diverged else objective[-1],
        "iterations": n_iter,
        DIVERGED: diverged,
        ENDS: n_iter <= 30 and not diverged,
    }
    shared = {"n_prototypes": N_PROTOTYPES, "start": values["start"]}
    return Outcome(
        measures, {"objective along the way": curve}, "supersparse", values=shared
    )


def _few_on_average(
    numbers: Numbers, limit: float = 30.0, models: tuple[str, ...] = (SUM, MEAN)
) -> Iterator[float]:
    for model in models:
        n_iter = numbers(model, "iterations")
        yield where_known(n_iter <= limit, n_iter)


_KEYS = ("moons", "xor", "breast_cancer", "diabetes")
EXPERIMENTS += (
    Experiment(
        name="supersparse-start",
        where="Section III, Algorithm 1",
        title="A random start and repulsion, as printed, beside ours",
        data=bundled(*_KEYS),
        models=dict.fromkeys((SUM, MEAN, NO_REPULSION, SAME, OWN_START)),
        measure=_run,
        divide=_same_half,
        repetitions=10,
        checks={"iterations": Holds(ENDS, (SUM, MEAN)), "average": _few_on_average},
        axis="iterations",
    ),
)


#: Images of a client that are learned from, share of the variance that PCA keeps.
N_TRAIN, VARIANCE = 5, 0.95
#: False acceptances, percent, at which false rejections are read off.
FAR = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
#: Iterations of Algorithm 1 at most.
MOST_STEPS = 200
#: Points of percent within which an error is comparable.
COMPARABLE = 2.0
PRINTED = "SSVM, 2, Algorithm 1"
#: Model -> how its vectors are made, their number, and lambda of virtual ones.
MODELS = {
    SVM: None,
    "SVM-sel, 10": ("selected", 10),
    "SVM-sel, 2": ("selected", 2),
    "SVM-red, 2": ("reduced", 2),
    "SSVM, 2": ("solved", 2, 1e-6),
    "SSVM, 2, lambda = .001": ("solved", 2, 1e-3),
    "SSVM, 5": ("solved", 5, 1e-6),
    PRINTED: ("as printed", 2, 1e-6),
}
EER, MATCHINGS = "equal error rate %", "matchings"


def _many(numbers: Numbers) -> Iterator[float]:
    """Whether two matchings are a tenth of the SVM's."""
    n = numbers(SVM, MATCHINGS)
    yield where_known(n >= 20, n)


@dataclass(frozen=True)
class Client:
    """Rows of one claimed identity, 1 for the client and 0 for impostors."""

    X: np.ndarray
    y: np.ndarray
    genuine: np.ndarray
    impostors: np.ndarray


def clients(dataset: Dataset, repetition: int) -> Iterator[Client]:
    """Enrol half of the classes; the others are impostors, at test time only."""
    random = np.random.default_rng(repetition)
    people = random.permutation(dataset.classes)
    enrolled, strangers = np.split(people, [len(people) // 2])
    rows = {one: random.permutation(np.flatnonzero(dataset.y == one)) for one in people}
    learned = np.concatenate([rows[one][:N_TRAIN] for one in enrolled])
    preparation = prepare(dataset, learned)
    X = preparation.transform(dataset.frame)
    X = X / np.abs(X[learned]).max()
    reduced = PCA(VARIANCE, svd_solver="full").fit(X[learned])
    X = reduced.transform(X)
    impostors = X[np.concatenate([rows[one] for one in strangers])]
    for one in enrolled:
        y = (dataset.y[learned] == one).astype(int)
        yield Client(X[learned], y, X[rows[one][N_TRAIN:]], impostors)


def _scores(client: Client, declared: Any) -> tuple[Callable[[np.ndarray], Any], int]:
    """What gives a score, and the similarities that it takes."""
    n, d = client.X.shape
    share = client.y.mean()
    balance = {0: share, 1: 1 - share}
    make = partial(SVC, gamma=1 / d, class_weight=balance)
    grid = grid_of(C=[10.0**power for power in range(-1, 4)])
    C = best_by_folds(make, grid, client.X, client.y)["C"]
    if declared is None:
        svm = make(C=C).fit(client.X, client.y)
        return svm.decision_function, len(svm.support_)
    kind, count, *lam = declared
    if not lam:
        few = FewVectorSVC(kind, count, C)
        few.fit(client.X, client.y, np.where(client.y == 1, 1 - share, share))
        return few.decision_function, len(few.Z_)
    ours = SuperSparseClassifier(
        count,
        lam=lam[0] / n,
        gamma=1 / d,
        standardize=False,
        target=make(C=C),
        max_iter=1000,
    )
    problem = ours.problem(client.X, client.y)
    if kind == "as printed":
        last = run_as_printed(ours, problem, MOST_STEPS)[-1].model
        return lambda X: np.diff(last.scores(X), axis=1)[:, 0], last.n_prototypes
    ours.solve(problem)
    return ours.decision_function, ours.model_.n_prototypes


def false_rejections(genuine: np.ndarray, impostors: np.ndarray) -> np.ndarray:
    """Share of genuine claims below the threshold of each rate of `FAR`, percent."""
    # The highest threshold that lets at most this share of the impostors in.
    ordered = np.append(np.sort(impostors)[::-1], -np.inf)
    admitted = np.floor(np.array(FAR) / 100 * len(impostors) + 1e-9).astype(int)
    return 100 * np.mean(genuine[:, None] <= ordered[admitted], axis=0)


def equal_error_rate(genuine: np.ndarray, impostors: np.ndarray) -> float:
    """Where as many genuine claims are rejected as impostors are accepted, percent."""
    thresholds = np.unique(np.concatenate([genuine, impostors]))
    rejected = np.searchsorted(np.sort(genuine), thresholds) / len(genuine)
    accepted = 1 - np.searchsorted(np.sort(impostors), thresholds) / len(impostors)
    at = np.abs(rejected - accepted).argmin()
    return 50 * float(rejected[at] + accepted[at])


def _measured(case: Case) -> Outcome:
    """Means over the clients."""
    rates, errors, matchings = [], [], []
    for client in case.rows:
        score, n_matchings = _scores(client, case.declared)
        pair = score(client.genuine), score(client.impostors)
        rates.append(false_rejections(*pair))
        errors.append(equal_error_rate(*pair))
        matchings.append(n_matchings)
    curve = dict(zip(FAR, np.mean(rates, axis=0), strict=True))
    means = {EER: np.mean(errors), MATCHINGS: np.mean(matchings)}
    return Outcome(means | {"FRR % at FAR 1 %": curve[1.0]}, {"FRR %": curve})


_NOT_GIVEN = "its images are given by their owner on request, and not with the paper"
_NO_MATCHER = (
    "elastic bunch graph matching needs landmarks of each face, which are not published"
)
_FACES, _BIOID = "AT&T, eigenfaces", "BioID, eigenfaces"
_EBGM = "AT&T, EBGM", "BioID, EBGM"
EXPERIMENTS += (
    Experiment(
        name="supersparse-figure-4",
        where="Figure 4",
        title="Verification: false rejections against false acceptances",
        data={
            **bundled("digits"),
            _FACES: Source(file="olivetti_faces.csv", target="target"),
            **unavailable(_NOT_GIVEN, _BIOID),
            **unavailable(_NO_MATCHER, *_EBGM),
        },
        models=MODELS,
        measure=_measured,
        divide=clients,
        repetitions=5,
        settings=tuple((model, MATCHINGS) for model in MODELS if model != SVM),
        checks={
            "error": Claim(PRINTED, le, (SVM,), EER, more=COMPARABLE),
            "matchings": _many,
        },
        axis="false acceptances FAR %",
    ),
)
