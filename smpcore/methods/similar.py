"""Rows of the registry: methods that decide by similarity to cases."""

from __future__ import annotations

from smpcore.estimators import (
    IMKPLClassifier,
    SuperSparseClassifier,
    SuperSparseRegressor,
)
from smpcore.methods.kinds_of_data import (
    alignment_cost,
    by_similarity,
    matrices_as_kernels,
    needs_kernels,
    takes_one_text,
)
from smpcore.methods.method import CLASS_WEIGHT, START_SEED, Method, Term
from smpcore.parameters import Param, Values
from smpcore.similarity import SIMILARITIES


def _has_gamma(values: Values) -> bool:
    return "gamma" in SIMILARITIES[values["similarity"]].parameters


def _has_degree(values: Values) -> bool:
    return "degree" in SIMILARITIES[values["similarity"]].parameters


def _paper(values: Values) -> bool:
    return values["solver"] == "paper"


def _svm_teaches(values: Values) -> bool:
    return values["target"] in ("teacher", "svr")


def _regression_teaches(values: Values) -> bool:
    return values["target"] in ("ridge", "lasso")


def _has_free_errors(values: Values) -> bool:
    return values["loss"] != "squared" or values["target"] == "svr"


def _on_features(values: Values) -> bool:
    return values["similarity"] not in ("precomputed", "strings")


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
            shown_if=_on_features,
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
            shown_if=_on_features,
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
                ("svr", "an SVM regression"),
            ),
            help="What the few cases imitate: the numbers themselves, or what a "
            "regression on the similarities to all rows predicts.",
            advanced=True,
            shown_if=_on_features,
            tasks=("regression",),
        ),
        Param(
            "teacher_C",
            "C of the SVM",
            "log",
            0.01,
            1000.0,
            help="Weight of the errors of the SVM that is imitated; larger follows the "
            "training rows more closely.",
            advanced=True,
            shown_if=_svm_teaches,
        ),
        Param(
            "teacher_alpha",
            "α of the teacher",
            "log",
            1e-4,
            100.0,
            help="Penalty of the ridge or LASSO that is imitated; at first it "
            "is chosen on folds of the training rows.",
            advanced=True,
            shown_if=_regression_teaches,
            tasks=("regression",),
        ),
        Param(
            "loss",
            "Loss",
            "choice",
            options=(
                ("squared", "squared error"),
                ("epsilon-insensitive", "ε-insensitive, as in SVM regression"),
            ),
            help="ε-insensitive: small errors are free and large ones count by their "
            "size, not by its square, so a few wrong targets matter less.",
            advanced=True,
            shown_if=_on_features,
            tasks=("regression",),
        ),
        Param(
            "epsilon",
            "ε free errors",
            "linear",
            0.0,
            2.0,
            help="Errors up to this many standard deviations of the target are free.",
            advanced=True,
            shown_if=_has_free_errors,
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
                ("random", "random rows, as printed"),
            ),
            help="Initial positions of the cases; the algorithm as printed starts from "
            "the same ones.",
            advanced=True,
            shown_if=_on_features,
        ),
        Param(
            "removal",
            "Left out first",
            "choice",
            options=(
                ("rise", "the case that costs least"),
                ("coefficient", "the smallest weight, as printed"),
            ),
            help="Which case goes where the path, or a sweep, takes fewer of them.",
            advanced=True,
            shown_if=_on_features,
        ),
        START_SEED,
        CLASS_WEIGHT,
        Param(
            "solver",
            "Solver",
            "choice",
            options=(("lbfgs", "all at once"), ("paper", "the paper's Algorithm 1")),
            help="The paper's way moves one case at a time and needs many more steps.",
            advanced=True,
            shown_if=_on_features,
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
    refusal=takes_one_text,
    data_params=by_similarity,
    terms=(
        Term("∑_i u_i ℓ(b + ∑_j β_j s(x_i, z_j) − y_i)", "loss", "rows"),
        Term("λ ∑_j ‖β_j‖^2", "small coefficients", "prototypes", ("lam",)),
    ),
)


def _weighs_kernels(values: Values) -> bool:
    return values["kernels"] in ("features", "precomputed", "gak")


def _chooses_kernels(values: Values) -> bool:
    return values["kernels"] != "precomputed"


def _kappa_decides(values: Values) -> bool:
    return _weighs_kernels(values) and values["kernel_weights"] == "ridge"


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
            shown_if=_kappa_decides,
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
            "row_code_size",
            "Prototypes in a code",
            "int",
            1,
            20,
            help="Prototypes that describe an input, at most; at first as many as "
            "cases in a mix.",
            advanced=True,
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
                ("gak", "alignment, a weight per channel"),
            ),
            series_options=("gak",),
            help="How the similarity of two cases is measured.",
            advanced=True,
            shown_if=_chooses_kernels,
        ),
        Param(
            "kernel_weights",
            "Feature weights",
            "choice",
            options=(
                ("ridge", "as even as κ"),
                ("lp", "the paper's equation (10): one feature"),
                ("even", "all alike (ISKPL)"),
            ),
            help="How features are weighed. The paper's linear program always keeps a "
            "single one.",
            advanced=True,
            shown_if=_weighs_kernels,
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
        CLASS_WEIGHT,
    ),
    path="kappa",
    sparsity="kappa",
    preview={"max_iter": 3},
    refusal=needs_kernels,
    data_params=matrices_as_kernels,
    comparison_cost=alignment_cost,
    compares_rows=True,
    reference="Hosseini, Hammer: Interpretable Multiple-Kernel Prototype Learning for "
    "Discriminative Representation and Feature Selection. CIKM 2019.",
    terms=(
        Term("tr K(I − H)(I − H)^T", "cases are reconstructed", "rows"),
        Term("λ ⟨1 − S∘K, H⟩", "by cases of their class", "prototypes", ("lam",)),
        Term("μ J_{ls}(β)", "neighbours", "rows", ("mu",)),
        Term("τ ∑ U", "alike cases", "prototypes", ("tau",)),
        Term("ρ/2 ‖β‖^2", "even weights β", "weights", ("kappa",)),
    ),
)
