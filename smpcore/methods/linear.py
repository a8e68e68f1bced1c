"""Rows of the registry: methods whose prototypes are linear, or can be."""

from __future__ import annotations

import math

from smpcore.estimators import SMaLLClassifier, SMPClassifier
from smpcore.methods.method import CLASS_WEIGHT, START_SEED, Method, Term
from smpcore.parameters import Param, Values


def _from_kmeans(values: Values) -> bool:
    return values["start"] == "kmeans"


#: The losses of SMP and of SMaLL.
LOSS = Param(
    "loss",
    "Loss",
    "choice",
    options=(("smooth", "smooth"), ("max", "max"), ("hinge", "hinge")),
    help="Smooth adds up all rivals of a row; max looks at the strongest only, and "
    "hinge no further than a lead of 1.",
    advanced=True,
)


SMP = Method(
    key="smp",
    title="SMP: sparse multi-prototype",
    summary=(
        "Several linear prototypes per class; λ fuses the ones that are not needed, "
        "μ switches features off."
    ),
    estimators={"classification": SMPClassifier},
    params=(
        Param(
            "n_prototypes",
            "Prototypes per class",
            "int",
            1,
            6,
            help="How many a class may have at most; fusion can leave fewer.",
            shown_if=_from_kmeans,
        ),
        Param(
            "lam",
            "λ fusion",
            "log",
            1e-6,
            10.0,
            zero=True,
            help="Fuses prototypes of a class until they are equal.",
        ),
        Param(
            "mu",
            "μ sparsity",
            "log",
            1e-4,
            10.0,
            zero=True,
            help="Shrinks weights to zero: fewer features are used.",
        ),
        Param(
            "eta",
            "η smoothness",
            "log",
            0.1,
            10.0,
            help="Share of the ridge term in μ: larger spreads weight over "
            "features that carry the same information.",
        ),
        Param(
            "bias",
            "Bias",
            "flag",
            help="Without a bias, all borders meet at the data mean. Its "
            "ridge, μη but at least 0.001, raises the softmax of rare classes; class "
            "weights or a threshold on Performance get them predicted.",
            advanced=True,
        ),
        LOSS,
        Param(
            "start",
            "Start",
            "choice",
            options=(
                ("kmeans", "k-means per class"),
                ("each", "a prototype per example"),
            ),
            help="Which training rows share a prototype before fusion.",
            advanced=True,
        ),
        START_SEED,
        Param(
            "reassign",
            "Reassign",
            "flag",
            help="After the fit each row may move to a prototype that fits it "
            "better, and the fit is repeated.",
            advanced=True,
        ),
        Param(
            "class_prototypes",
            "Prototypes of classes",
            "choice",
            options=((None, "the same number"), ("balanced", "by their rows")),
            help="By their rows: larger classes get more prototypes than the number "
            "above, smaller ones fewer.",
            advanced=True,
            shown_if=_from_kmeans,
        ),
        Param(
            "class_lam",
            "λ of classes",
            "choice",
            options=((None, "the same"), ("balanced", "by their rows")),
            help="By their rows: λ of a class is in proportion to its rows, so that "
            "rare classes are not fused sooner than others.",
            advanced=True,
        ),
        CLASS_WEIGHT,
        Param(
            "solver",
            "Solver",
            "choice",
            options=(
                ("spg", "proximal gradient"),
                ("primal-dual", "the paper's Algorithm 2"),
            ),
            help="The same problem; the paper's way needs many more steps.",
            advanced=True,
        ),
    ),
    path="lam",
    sparsity="mu",
    reference="Garg, Dekel, Xiao: Sparse Multi-Prototype Classification. UAI 2018.",
    terms=(
        Term("∑_i u_i ℓ(w_{a_i}·x_i, w_j·x_i)", "loss", "rows"),
        Term("λ ∑_{i<j} ‖w_i − w_j‖_∞", "fusion", "prototypes", ("lam",)),
        Term("μ (‖W‖_1 + η/2 ‖W‖_2^2)", "sparsity", "weights", ("mu", "eta")),
    ),
)


SMALLK = Method(
    key="smallk",
    title="SMaLL: k-sparse prototypes",
    summary=(
        "A few linear prototypes of at most k features each: k is the number of "
        "things to look at, and nothing else is."
    ),
    estimators={"classification": SMaLLClassifier},
    params=(
        Param(
            "n_prototypes",
            "Prototypes",
            "int",
            1,
            5,
            help="Of the positive class (two classes), or of each class (more): an "
            "input needs to fit one of them.",
        ),
        Param(
            "k",
            "k features",
            "int",
            1,
            10_000,
            help="How many features a prototype may use.",
        ),
        Param(
            "lam",
            "λ ridge",
            "log",
            1e-3,
            1.0,
            help="Larger: smaller weights, and a tighter certificate of how good the "
            "choice of features is.",
        ),
        Param(
            "positive_class",
            "Positive class",
            "class",
            help="The class with prototypes; inputs that fit none are of the other.",
            n_classes=(2, 2),
        ),
        Param(
            "bias",
            "Bias",
            "flag",
            help="A threshold for each prototype; it is not counted in k.",
            advanced=True,
        ),
        LOSS,
        Param(
            "multiclass",
            "Several classes",
            "choice",
            options=(("joint", "jointly"), ("ovr", "one against the rest")),
            help="One problem for all classes, or one for each class.",
            advanced=True,
            n_classes=(3, math.inf),
        ),
        Param(
            "n_draws",
            "Random roundings",
            "int",
            0,
            30,
            help="Sets of k features that are drawn and tried besides the k largest.",
            advanced=True,
        ),
        Param(
            "n_swaps",
            "Swaps tried",
            "int",
            0,
            100,
            help="Fits at most with one feature of the best set exchanged for another.",
            advanced=True,
        ),
        START_SEED,
        CLASS_WEIGHT,
        Param(
            "solver",
            "Solver",
            "choice",
            options=(
                ("fista", "accelerated proximal gradient"),
                ("mirror-prox", "the paper's Mirror-Prox"),
            ),
            help="The same relaxed problem; the paper's way needs many more steps.",
            advanced=True,
        ),
    ),
    path="k",
    sparsity="k",
    from_right=False,
    preview={"n_draws": 0, "n_swaps": 0},
    reference="Garg, Dekel, Xiao: Learning SMaLL Predictors. NeurIPS 2018.",
    terms=(
        Term("∑_i u_i ℓ(w_{a_i}·x_i, w_j·x_i)", "loss", "rows"),
        Term(
            "λ/2 ∑_j ‖w_j‖_2^2, ‖w_j‖_0 ≤ k", "k weights each", "weights", ("lam", "k")
        ),
    ),
)
