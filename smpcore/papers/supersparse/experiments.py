"""Tables and figures of the paper, reported and measured.

Demontis, Melis, Biggio, Fumera, Roli: Super-sparse Learning in Similarity Spaces.
IEEE Computational Intelligence Magazine, 2016.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from smpcore.datasets import Dataset, load_dataset
from smpcore.methods.supersparse import SuperSparseClassifier
from smpcore.papers.experiment import Experiment, Outcome, Reported, Trial
from smpcore.papers.protocols import halves
from smpcore.papers.sources import Source
from smpcore.papers.supersparse import costs, regression, size, start, verification

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


def _figure_2(trial: Trial, dataset: Dataset) -> Outcome:
    """An RBF-SVM of 25 rows, or two invented cases that learn its decision values."""
    from sklearn.svm import SVC

    X = halves(dataset, trial.repetition).X[:25]
    y = halves(dataset, trial.repetition).y[:25]
    scale = X.std(axis=0)
    svm = SVC(gamma=0.5).fit(X / scale, y)
    if trial.model == SVM:
        return Outcome({"prototypes": float(len(svm.support_))})
    values = {"n_prototypes": 2, "target": "teacher", "gamma": 0.5}
    fitted = SuperSparseClassifier(**values).fit(X, y)
    places = _grid(X)
    same = np.mean(svm.predict(places / scale) == fitted.predict(places))
    return Outcome(
        {
            "prototypes": float(fitted.model_.n_prototypes),
            AGREE: 100 * float(same),
            ALMOST: float(100 * same >= ENOUGH),
        },
        method="supersparse",
        values=values,
    )


_PICTURES = (
    "not possible here: pictures without numbers, of faces that their owners give on "
    "request only; Prototypes shows those of any data as pictures"
)

EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="supersparse-figure-2",
        paper="supersparse",
        where="Figure 2",
        title="Two virtual prototypes in place of an SVM's support vectors",
        protocol=(
            "25 training rows of our own (Moons, XOR and blobs), not the paper's; an "
            "RBF-SVM with C = 1 and gamma = 0.5, and two prototypes that learn its "
            "decision values. The decision is almost the same where at least "
            f"{ENOUGH:.0f} % of a {NODES} x {NODES} grid have the same class."
        ),
        data={
            "moons": Source(make=partial(load_dataset, "moons"), bundled="moons"),
            "xor": Source(make=partial(load_dataset, "xor"), bundled="xor"),
            "blobs": Source(make=partial(load_dataset, "blobs", n_classes=2)),
        },
        models=(SVM, OURS),
        run=_figure_2,
        repetitions=5,
        reported=tuple(
            one
            for key in ("moons", "xor", "blobs")
            for one in (
                Reported(key, SVM, "prototypes", 10.0),
                Reported(key, OURS, "prototypes", 2.0),
                Reported(key, OURS, ALMOST, 1.0),
            )
        ),
        tolerance=0.0,
    ),
    *size.EXPERIMENTS,
    *start.EXPERIMENTS,
    *verification.EXPERIMENTS,
    *regression.EXPERIMENTS,
    *costs.EXPERIMENTS,
    *(
        Experiment(name, "supersparse", where, title, "", impossible=_PICTURES)
        for name, where, title in (
            ("supersparse-figure-5", "Figure 5", "Prototypes of a client"),
            ("supersparse-figure-6", "Figure 6", "Prototypes of ages"),
            ("supersparse-figure-7", "Figure 7", "Images for each age"),
        )
    ),
)
