"""Section 4: polynomial kernels, which the paper leaves to others."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.mprotsvm.tables import chosen
from smpcore.papers.protocols import accuracy, grid_of
from smpcore.papers.sources import bundled

#: Degrees, the experiment's axis, and prices of slack that are tried at each.
DEGREES, PRICES = (1, 2, 3, 4, 5), (0.1, 1.0, 10.0)


def _pairs(degree: int, C: float) -> Any:
    machine = SVC(C=C, kernel="poly", degree=degree, gamma="auto", coef0=1.0)
    return make_pipeline(StandardScaler(), machine)


def _machine(n_prototypes: int, degree: int, C: float) -> MultiPrototypeSVC:
    return MultiPrototypeSVC(n_prototypes, C, "poly", degree=degree, n_init=1)


#: Model -> what makes it from a degree and a price of slack.
MODELS = {
    "MProtSVM, 1 prototype per class": partial(_machine, 1),
    "MProtSVM, 3 prototypes per class": partial(_machine, 3),
    "SVM of pairs of classes": _pairs,
}


def _run(case: Case) -> Outcome:
    rows, error = case.rows, {}
    measures: dict[str, float] = {}
    for degree in DEGREES:
        make = partial(case.declared, degree)
        values = chosen(make, grid_of(C=PRICES), rows, case.trial.repetition)
        fitted = make(**values).fit(rows.X, rows.y)
        error[degree] = 1.0 - accuracy(fitted, rows.X_test, rows.y_test)
        measures[f"C, degree {degree}"] = values["C"]
    return Outcome(measures, {"test error": error})


EXPERIMENTS = (
    Experiment(
        name="mprotsvm-polynomial",
        where="Section 4",
        title="Test error of polynomial kernels by their degree",
        protocol=(
            "The paper measures linear machines and compares with polynomial SVMs, "
            "whose degrees it does not print: 1 to 5 here, of x.y / n_features + 1, "
            "features standardised. Three random halves; C is chosen at each degree on "
            f"a quarter of the training half among {', '.join(map(str, PRICES))}. One "
            "prototype per class is the machine of Crammer and Singer."
        ),
        data=bundled("wine", "digits", "checkerboard"),
        models=MODELS,
        measure=_run,
        repetitions=3,
        axis="degree",
    ),
)
