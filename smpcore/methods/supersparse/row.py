"""Row of the registry: super-sparse learning."""

from __future__ import annotations

from smpcore.datasets import Dataset, text_features
from smpcore.methods.shared import method
from smpcore.methods.supersparse import SuperSparseClassifier, SuperSparseRegressor
from smpcore.parameters import Param, Values, advanced, shown_at
from smpcore.similarity import SIMILARITIES


def _has_gamma(values: Values) -> bool:
    return "gamma" in SIMILARITIES[values["similarity"]].parameters


def _has_degree(values: Values) -> bool:
    return "degree" in SIMILARITIES[values["similarity"]].parameters


def _has_free_errors(values: Values) -> bool:
    return values["loss"] != "squared" or values["target"] == "svr"


def _on_features(values: Values) -> bool:
    return values["similarity"] not in ("precomputed", "strings")


def _takes_one_text(dataset: Dataset) -> str:
    """Refuse a text beside other features; take all else."""
    texts = text_features(dataset)
    if texts and len(dataset.feature_columns) > 1:
        return f"it compares texts of one column alone: ignore all but {texts[0]}"
    return ""


def _by_similarity(dataset: Dataset, values: Values) -> Values:
    """Choose super-sparse prototypes among the rows of matrices, or edit texts."""
    if not (dataset.matrices or text_features(dataset)):
        return {}
    kind = "precomputed" if dataset.matrices else "strings"
    squared = {"loss": "squared"} if dataset.task == "regression" else {}
    return {"similarity": kind, "target": "labels", **squared}


ROW = method.Method(
    key="supersparse",
    title="Super-sparse: invented cases",
    summary=(
        "A handful of {cases} decides, placed where they help most. Change "
        "their number and watch them move."
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
            "Keep weights small (λ)",
            "log",
            1e-6,
            0.1,
            help="Larger: smaller weights; cases coincide and are shown as one.",
        ),
        Param(
            "gamma",
            "Narrow the reach (γ)",
            "log",
            1e-9,
            1e3,
            help="Larger: each case affects only inputs close to it.",
            shown_if=_has_gamma,
        ),
        *advanced(
            Param(
                "similarity",
                "Similarity",
                "choice",
                options=tuple(
                    (kind, row.title) for kind, row in SIMILARITIES.items() if row.title
                ),
                help="How the similarity of two cases is measured.",
                shown_if=_on_features,
            ),
            Param(
                "degree",
                "Degree",
                "int",
                2,
                6,
                help="Degree of the polynomial.",
                shown_if=_has_degree,
            ),
            Param(
                "target",
                "Target",
                "choice",
                options=(("labels", "the labels"), ("teacher", "an SVM's decisions")),
                help="What the few cases imitate; a teacher helps with five or fewer.",
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
                shown_if=_on_features,
                tasks=("regression",),
            ),
            Param(
                "teacher_C",
                "C of the SVM",
                "log",
                0.01,
                1000.0,
                help="Weight of the errors of the SVM that is imitated; larger "
                "follows the training rows more closely.",
                shown_if=shown_at("target", "teacher", "svr"),
            ),
            Param(
                "teacher_alpha",
                "α of the teacher",
                "log",
                1e-4,
                100.0,
                help="Penalty of the ridge or LASSO that is imitated; at first it "
                "is chosen on folds of the training rows.",
                shown_if=shown_at("target", "ridge", "lasso"),
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
                help="ε-insensitive: small errors are free and large ones count by "
                "their size, not by its square, so a few wrong targets matter less.",
                shown_if=_on_features,
                tasks=("regression",),
            ),
            Param(
                "epsilon",
                "ε free errors",
                "linear",
                0.0,
                2.0,
                help="Errors up to this many standard deviations of the target are "
                "free.",
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
                help="Initial positions of the cases; the algorithm as printed starts "
                "from the same ones.",
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
                shown_if=_on_features,
            ),
            method.START_SEED,
            method.CLASS_WEIGHT,
        ),
    ),
    removed={
        "solver": "Super-sparse learning moves all cases at once; the paper's "
        "Algorithm 1, one case at a time, is in Algorithm as printed.",
        "eta": "The step η is that of the paper, 0.5: Algorithm as printed takes it.",
    },
    path="n_prototypes",
    sparsity="n_prototypes",
    tuned={"lam": (1e-6, 1e-4, 1e-2)},
    preview={"max_iter": 20, "tol": 1e-4},
    reference="Demontis, Melis, Biggio, Fumera, Roli: Super-sparse learning in "
    "similarity spaces. IEEE Computational Intelligence Magazine 11(4), 2016.",
    refusal=_takes_one_text,
    data_params=_by_similarity,
    terms=(
        method.Term("∑_i u_i ℓ(b + ∑_j β_j s(x_i, z_j) − y_i)", "loss", "rows"),
        method.Term("λ ∑_j ‖β_j‖^2", "small coefficients", "prototypes", ("lam",)),
    ),
)
