"""Row of the registry: sparse multi-prototype linear learner."""

from __future__ import annotations

import math
from dataclasses import replace

from smpcore.methods.shared.method import CLASS_WEIGHT, LOSS, START_SEED, Method, Term
from smpcore.methods.smallk import SMaLLClassifier
from smpcore.parameters import Param, advanced, shown_at

ROW = Method(
    key="smallk",
    title="SMaLL: k-sparse prototypes",
    summary=(
        "A few short lists decide: each prototype looks at k features, at nothing "
        "else. Drag k and watch the border turn."
    ),
    estimators={"classification": SMaLLClassifier},
    params=(
        Param(
            "n_prototypes",
            "Prototypes",
            "int",
            1,
            5,
            help="Of the outcome (two classes), or of each class (more): an "
            "input needs to fit one of them.",
        ),
        Param(
            "k",
            "Features per prototype (k)",
            "int",
            1,
            10_000,
            help="How many features a prototype may use.",
        ),
        Param(
            "lam",
            "Keep weights small (λ)",
            "log",
            1e-3,
            1.0,
            help="Larger: smaller weights, and a tighter certificate of how good the "
            "choice of features is.",
        ),
        Param(
            "positive_class",
            "Outcome",
            "class",
            help="The class with prototypes; inputs that fit none are of the other. "
            "Every page is about this one.",
            n_classes=(2, 2),
        ),
        *advanced(
            Param(
                "supports",
                "Features",
                "lists",
                help="Features that were picked among the alternatives on Prototypes, "
                "or those that the fit chooses.",
                n_classes=(2, 2),
            ),
            Param(
                "bias",
                "Bias",
                "flag",
                help="A threshold for each prototype; it is not counted in k.",
            ),
            # Mirror-Prox takes the smooth loss only.
            replace(LOSS, shown_if=shown_at("solver", "fista")),
            Param(
                "multiclass",
                "Several classes",
                "choice",
                options=(("joint", "jointly"), ("ovr", "one against the rest")),
                help="One problem for all classes, or one for each class.",
                n_classes=(3, math.inf),
            ),
            Param(
                "n_draws",
                "Random roundings",
                "int",
                0,
                30,
                help="Sets of k features that are drawn and tried besides the k "
                "largest.",
            ),
            Param(
                "n_swaps",
                "Swaps tried",
                "int",
                0,
                100,
                help="Fits at most with one feature of the best set exchanged for "
                "another.",
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
                help="The same relaxed problem; the paper's way needs many more steps, "
                "and the smooth loss.",
                shown_if=shown_at("loss", "smooth"),
            ),
        ),
    ),
    path="k",
    sparsity="k",
    tuned={"n_prototypes": (1, 2, 3)},
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
