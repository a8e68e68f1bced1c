"""Row of the registry: sparse multi-prototype classification."""

from __future__ import annotations

from smpcore.methods.shared.method import CLASS_WEIGHT, LOSS, START_SEED, Method, Term
from smpcore.methods.smp import SMPClassifier
from smpcore.parameters import Param, advanced, shown_at

ROW = Method(
    key="smp",
    title="SMP: sparse multi-prototype",
    summary=(
        "A few {arrows} decide: the one that an input follows most wins. Drag λ and "
        "watch {arrows} of a class merge."
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
            shown_if=shown_at("start", "kmeans"),
        ),
        Param(
            "lam",
            "Merge prototypes (λ)",
            "log",
            1e-6,
            10.0,
            zero=True,
            help="Fuses prototypes of a class until they are equal.",
        ),
        Param(
            "mu",
            "Switch features off (μ)",
            "log",
            1e-4,
            10.0,
            zero=True,
            help="Shrinks weights to zero: fewer features are used.",
        ),
        Param(
            "eta",
            "Spread weight (η)",
            "log",
            0.1,
            10.0,
            help="Share of the ridge term in μ: larger spreads weight over "
            "features that carry the same information.",
        ),
        *advanced(
            Param(
                "bias",
                "Bias",
                "flag",
                help="Without a bias, all borders meet at the data mean. Its ridge, "
                "μη but at least 0.001, raises the softmax of rare classes; class "
                "weights or a threshold on Performance get them predicted.",
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
            ),
            START_SEED,
            Param(
                "reassign",
                "Reassign",
                "flag",
                help="After the fit each row may move to a prototype that fits it "
                "better, and the fit is repeated.",
            ),
            Param(
                "class_prototypes",
                "Prototypes of classes",
                "choice",
                options=((None, "the same number"), ("balanced", "by their rows")),
                help="By their rows: larger classes get more prototypes than the "
                "number above, smaller ones fewer.",
                shown_if=shown_at("start", "kmeans"),
            ),
            Param(
                "class_lam",
                "λ of classes",
                "choice",
                options=((None, "the same"), ("balanced", "by their rows")),
                help="By their rows: λ of a class is in proportion to its rows, so "
                "that rare classes are not fused sooner than others.",
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
            ),
        ),
    ),
    path="lam",
    sparsity="mu",
    tuned={"n_prototypes": (1, 2, 4), "lam": (0.0, 0.003, 0.03)},
    reference="Garg, Dekel, Xiao: Sparse Multi-Prototype Classification. UAI 2018.",
    terms=(
        Term("∑_i u_i ℓ(w_{a_i}·x_i, w_j·x_i)", "loss", "rows"),
        Term("λ ∑_{i<j} ‖w_i − w_j‖_∞", "fusion", "prototypes", ("lam",)),
        Term("μ (‖W‖_1 + η/2 ‖W‖_2^2)", "sparsity", "weights", ("mu", "eta")),
    ),
)
