"""Figure 2: two virtual prototypes in place of an SVM, and figures without numbers."""

from __future__ import annotations

import numpy as np

from smpcore.methods.supersparse import SuperSparseClassifier
from smpcore.papers.conclusions import Holds
from smpcore.papers.experiment import Case, Experiment, Outcome
from smpcore.papers.sources import bundled, generated

#: Nodes of the grid on each axis that two decision functions are compared on.
NODES = 60
AGREE, ALMOST = "same class on the grid %", "almost the same decision"
#: Share of the grid from which on a decision is almost the same.
ENOUGH = 95.0
OURS, SVM = "2 virtual prototypes", "SVM"


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
    from sklearn.svm import SVC

    X, y = case.rows.X[:25], case.rows.y[:25]
    scale = X.std(axis=0)
    svm = SVC(gamma=0.5).fit(X / scale, y)
    if case.trial.model == SVM:
        return Outcome({"prototypes": len(svm.support_)})
    values = {"n_prototypes": 2, "target": "teacher", "gamma": 0.5}
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


_WITHOUT_NUMBERS = (
    "not possible here: pictures without numbers, of faces that their owners give on "
    "request only; Prototypes shows those of any data as pictures"
)

EXPERIMENTS = (
    Experiment(
        name="supersparse-figure-2",
        where="Figure 2",
        title="Two virtual prototypes in place of an SVM's support vectors",
        protocol=(
            "25 training rows of our own (Moons, XOR and blobs), not the paper's; an "
            "RBF-SVM with C = 1 and gamma = 0.5, and two prototypes that learn its "
            "decision values. The decision is almost the same where at least "
            f"{ENOUGH:.0f} % of a {NODES} x {NODES} grid have the same class."
        ),
        data={
            **bundled("moons", "xor"),
            "blobs": generated("blobs", n_classes=2),
        },
        models=dict.fromkeys((SVM, OURS)),
        measure=_figure_2,
        repetitions=5,
        settings=((OURS, "prototypes"),),
        checks={"same": Holds(ALMOST, (OURS,))},
    ),
    Experiment(
        "supersparse-figures-5-6-7",
        "Figures 5 to 7",
        "Prototypes of a client and of ages, and images for each age",
        "",
        impossible=_WITHOUT_NUMBERS,
    ),
)
