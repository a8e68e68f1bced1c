"""Rows of the registry: methods that decide by similarity to cases."""

from __future__ import annotations

from smpcore.estimators import (
    IMKPLClassifier,
    SuperSparseClassifier,
    SuperSparseRegressor,
)
from smpcore.methods.method import CLASS_WEIGHT, Method
from smpcore.parameters import Param, Values
from smpcore.similarity import SIMILARITIES


def _has_gamma(values: Values) -> bool:
    return "gamma" in SIMILARITIES[values["similarity"]].parameters


def _has_degree(values: Values) -> bool:
    return "degree" in SIMILARITIES[values["similarity"]].parameters


def _paper(values: Values) -> bool:
    return values["solver"] == "paper"


SUPERSPARSE = Method(
    key="supersparse",
    title="Super-sparse: invented cases",
    summary=(
        "A handful of invented cases, placed where they help most; an input is scored "
        "by its similarity to each of them."
    ),
    estimators={
        "classification": SuperSparseClassifier,
        "regression": SuperSparseRegressor,
    },
    params=(
        Param(
            "n_prototypes",
            "Prototypes",
            "int",
            1,
            40,
            help="How many invented cases in all; going down, the cheapest is left "
            "out.",
        ),
        Param(
            "lam",
            "λ ridge",
            "log",
            1e-6,
            0.1,
            help="Larger: smaller weights; cases coincide and are shown as one.",
        ),
        Param(
            "gamma",
            "γ width",
            "log",
            1e-9,
            1e3,
            help="Larger: each case affects only inputs close to it.",
            shown_if=_has_gamma,
        ),
        Param(
            "similarity",
            "Similarity",
            "choice",
            options=tuple(
                (kind, row.title) for kind, row in SIMILARITIES.items() if row.title
            ),
            help="How the similarity of two cases is measured.",
            advanced=True,
        ),
        Param(
            "degree",
            "Degree",
            "int",
            2,
            6,
            help="Degree of the polynomial.",
            advanced=True,
            shown_if=_has_degree,
        ),
        Param(
            "target",
            "Target",
            "choice",
            options=(("labels", "the labels"), ("teacher", "an SVM's decisions")),
            help="What the few cases imitate; a teacher helps with five or fewer.",
            advanced=True,
            tasks=("classification",),
        ),
        Param(
            "target",
            "Target",
            "choice",
            options=(
                ("labels", "the given numbers"),
                ("ridge", "a ridge regression"),
                ("lasso", "a LASSO regression"),
            ),
            help="What the few cases imitate: the numbers themselves, or what a "
            "regression on the similarities to all rows predicts.",
            advanced=True,
            tasks=("regression",),
        ),
        Param(
            "start",
            "Start",
            "choice",
            options=(
                ("auto", "the best of several"),
                ("kmeans", "k-means"),
                ("greedy", "greedy choice of rows"),
            ),
            help="Initial positions of the cases.",
            advanced=True,
        ),
        CLASS_WEIGHT,
        Param(
            "solver",
            "Solver",
            "choice",
            options=(("lbfgs", "all at once"), ("paper", "the paper's Algorithm 1")),
            help="The paper's way moves one case at a time and needs many more steps.",
            advanced=True,
        ),
        Param(
            "eta",
            "η step",
            "log",
            0.1,
            5.0,
            help="Length of a step of the paper's algorithm.",
            advanced=True,
            shown_if=_paper,
        ),
    ),
    path="n_prototypes",
    sparsity="n_prototypes",
    preview={"max_iter": 20, "tol": 1e-4},
    reference="Demontis, Melis, Biggio, Fumera, Roli: Super-sparse learning in "
    "similarity spaces. IEEE Computational Intelligence Magazine 11(4), 2016.",
)


def _weighs_features(values: Values) -> bool:
    return values["kernels"] == "features"


IMKPL = Method(
    key="imkpl",
    title="IMKPL: mixes of real cases",
    summary=(
        "A few prototypes per class, each a mix of a few real cases; κ decides how "
        "many features count."
    ),
    estimators={"classification": IMKPLClassifier},
    params=(
        Param(
            "kappa",
            "κ evenness",
            "log",
            0.1,
            100.0,
            help="Small: few features are kept. Large: equal weights. By default it is "
            "chosen on folds of the training rows.",
            shown_if=_weighs_features,
        ),
        Param(
            "code_size",
            "Cases in a mix",
            "int",
            1,
            20,
            help="Cases in a prototype, and prototypes in an input's code, at most.",
        ),
        Param(
            "n_prototypes",
            "Prototypes per class",
            "int",
            1,
            20,
            help="A class of fewer rows gets as many as it has. At first the number is "
            "chosen on folds of the training rows.",
        ),
        Param(
            "lam",
            "λ own class",
            "linear",
            0.0,
            1.0,
            help="Keeps cases of other classes out of a prototype.",
        ),
        Param(
            "mu",
            "μ neighbours",
            "linear",
            0.0,
            1.0,
            help="Features that keep neighbours of a class together weigh more.",
        ),
        Param(
            "tau",
            "τ compactness",
            "linear",
            0.0,
            5.0,
            help="Makes the cases of a prototype fewer and more similar.",
        ),
        Param(
            "kernels",
            "Similarity",
            "choice",
            options=(
                ("features", "a weight per feature"),
                ("rbf", "one RBF"),
                ("linear", "cosine"),
            ),
            help="How the similarity of two cases is measured.",
            advanced=True,
        ),
        Param(
            "solver",
            "Prototype step",
            "choice",
            options=(
                ("path", "every number of cases"),
                ("paper", "the paper's equation (9)"),
            ),
            help="How a prototype's cases are chosen.",
            advanced=True,
        ),
    ),
    path="kappa",
    sparsity="kappa",
    preview={"max_iter": 3},
    compares_rows=True,
    reference="Hosseini, Hammer: Interpretable Multiple-Kernel Prototype Learning for "
    "Discriminative Representation and Feature Selection. CIKM 2019.",
)
