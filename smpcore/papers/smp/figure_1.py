"""Figure 1, its claims about the vineyard, and what Section 4.1 says of other data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import gt

from smpcore.methods.smp import SMPClassifier
from smpcore.papers.conclusions import Claim, Numbers, where_known
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.protocols import Fit, accuracy
from smpcore.papers.smp.table_1 import GRID, MODELS, PRINTED
from smpcore.papers.sources import bundled
from smpcore.papers.table_1 import TABLE_1

#: SMP by its number of prototypes per class.
OURS = {f"Ours ({p} prototypes)": Fit(partial(SMPClassifier, p), GRID) for p in (2, 5)}
TWO, FIVE = OURS
OTHERS = tuple(MODELS)[:10]
#: Divisions that a measure is the mean over.
HALVES = 20
TEST, TRAINING = "test accuracy", "training accuracy"


def measures(case: Case) -> Outcome:
    """Accuracy of one model on both halves of one division of the rows."""
    rows = case.rows
    _, fitted = case.declared.chosen(rows, case.trial.repetition)
    test = accuracy(fitted, rows.X_test, rows.y_test)
    return Outcome({TEST: test, TRAINING: accuracy(fitted, rows.X, rows.y)})


def _far(numbers: Numbers) -> Iterator[float]:
    """Whether RSVM or GB is far above SMP."""
    two, *others = (numbers(one, TEST) for one in (TWO, "RSVM", "GB"))
    yield where_known(max(others) - two >= 0.05, two, *others)


#: Prototypes per class along the axis of the experiment on overfitting.
PROTOTYPES = (1, 2, 3, 5, 8, 12)


def _at_lam(case: Case) -> Outcome:
    """Accuracies by the number of prototypes, at one lambda."""
    rows, curves = case.rows, {TEST: {}, TRAINING: {}}
    for p in PROTOTYPES:
        fitted = SMPClassifier(p, lam=case.declared, mu=0.001).fit(rows.X, rows.y)
        curves[TEST][p] = accuracy(fitted, rows.X_test, rows.y_test)
        curves[TRAINING][p] = accuracy(fitted, rows.X, rows.y)
    return Outcome({}, curves)


def _largest_gap(outcome: Outcome) -> dict[str, float]:
    """How far training is above test accuracy, at most along the axis."""
    test, training = (outcome.curves[name] for name in (TEST, TRAINING))
    return {"largest gap": max(training[p] - test[p] for p in PROTOTYPES)}


def _overfits(numbers: Numbers) -> Iterator[float]:
    """Whether the gap grows with prototypes at the small lambda only."""
    gaps = (
        numbers.curve(model, TRAINING) - numbers.curve(model, TEST) for model in _LAMS
    )
    small, large = (one[-1] - one[0] for one in gaps)
    yield float(small > max(0.02, large))


_LAMS = {"lambda = 0": 0.0, "lambda = 0.1": 0.1}
_SMALL = {name: TABLE_1[name] for name in ("vineyard", "rabe_265")}

EXPERIMENTS = (
    Experiment(
        name="smp-figure-1",
        where="Figure 1",
        title="Decision boundaries on the vineyard, measured as accuracies",
        protocol=(
            f"Means over {HALVES} random halves of the two yields before, parameters "
            "by five folds; the figure shows one half that it does not name, and no "
            "numbers. The pictures are drawn on Explore for any data."
        ),
        data={"vineyard": TABLE_1["vineyard"]},
        models=OURS | {name: MODELS[name] for name in (PRINTED, *OTHERS)},
        measure=measures,
        n_halves=HALVES,
        checks={
            "all": Claim(FIVE, gt, OTHERS, TEST),
            "linear": Claim(FIVE, gt, ("LSVM", "LR"), TEST),
            "two": Claim(FIVE, gt, (TWO,), TEST),
        },
    ),
    Experiment(
        name="smp-nonlinear",
        where="Section 4.1",
        title="Data of a highly non-linear structure, where SMP is suboptimal",
        protocol=(
            f"Means over {HALVES} random halves of generated data, parameters by five "
            "folds. The paper names none of its data sets."
        ),
        data=bundled("circles", "spirals", "checkerboard"),
        models={TWO: OURS[TWO], "RSVM": MODELS["RSVM"], "GB": MODELS["GB"]},
        measure=measures,
        n_halves=HALVES,
        checks={"far": _far},
    ),
    Experiment(
        name="smp-overfitting",
        where="Section 4",
        title="More prototypes may overfit small data at low lambda",
        protocol=(f"Means over {HALVES} random halves, mu = 0.001."),
        data=_SMALL,
        models=_LAMS,
        measure=_at_lam,
        n_halves=HALVES,
        summary=_largest_gap,
        axis="prototypes per class",
        checks={"gap": _overfits},
    ),
)
