"""Row of the registry: interpretable multiple-kernel prototypes."""

from __future__ import annotations

from smpcore.datasets import Dataset, used_matrices
from smpcore.methods.imkpl import IMKPLClassifier
from smpcore.methods.shared import method
from smpcore.parameters import Param, Values, advanced, shown_at


def _weighs_kernels(values: Values) -> bool:
    return values["kernels"] in ("features", "precomputed", "gak")


def _kappa_decides(values: Values) -> bool:
    return _weighs_kernels(values) and values["kernel_weights"] == "ridge"


def _needs_kernels(dataset: Dataset) -> str:
    """Refuse matrices that are no kernels, or that are not normalised."""
    for matrix in used_matrices(dataset):
        if matrix.least < 0:
            return f"it needs kernels, and {matrix.name} has a negative eigenvalue"
        if not matrix.even:
            return f"it needs 1 on the diagonal: normalise {matrix.name}"
    return method.needs_no_text(dataset)


def _matrices_as_kernels(dataset: Dataset, values: Values) -> Values:
    """Take matrices as the kernels of IMKPL; align the channels of series only."""
    if dataset.matrices:
        return {"kernels": "precomputed", "standardize": False}
    if values.get("kernels") != "gak":
        return {}
    if not dataset.channels or dataset.forbidden:
        return {"kernels": "features"}
    return {"n_channels": len(dataset.channels), "standardize": False}


def _alignment_cost(values: Values, n_features: int) -> float:
    """Times as long as one of features that a comparison of series takes."""
    aligned = values.get("kernels") == "gak"
    return n_features / values.get("n_channels", 1) if aligned else 1.0


ROW = method.Method(
    key="imkpl",
    title="IMKPL: mixes of real cases",
    summary=(
        "Mixes of a few real cases decide: those that describe an input vote on its "
        "class. Drag κ and watch how many features count."
    ),
    estimators={"classification": IMKPLClassifier},
    params=(
        Param(
            "kappa",
            "Use more features (κ)",
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
            "Keep to own class (λ)",
            "linear",
            0.0,
            1.0,
            help="Keeps cases of other classes out of a prototype.",
        ),
        Param(
            "mu",
            "Keep neighbours together (μ)",
            "linear",
            0.0,
            1.0,
            help="Features that keep neighbours of a class together weigh more.",
        ),
        Param(
            "tau",
            "Similar cases only (τ)",
            "linear",
            0.0,
            5.0,
            help="Makes the cases of a prototype fewer and more similar.",
        ),
        *advanced(
            Param(
                "row_code_size",
                "Prototypes in a code",
                "int",
                1,
                20,
                help="Prototypes that describe an input, at most; at first as many as "
                "cases in a mix.",
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
                shown_if=shown_at("kernels", "features", "rbf", "linear", "gak"),
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
                help="How features are weighed. The paper's linear program always "
                "keeps a single one.",
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
            ),
            method.CLASS_WEIGHT,
        ),
    ),
    path="kappa",
    has_threshold=False,
    sparsity="kappa",
    tuned={"n_prototypes": (1, 2, 5)},
    preview={"max_iter": 3},
    refusal=_needs_kernels,
    data_params=_matrices_as_kernels,
    comparison_cost=_alignment_cost,
    compares_rows=True,
    reference="Hosseini, Hammer: Interpretable Multiple-Kernel Prototype Learning for "
    "Discriminative Representation and Feature Selection. CIKM 2019.",
    terms=(
        method.Term("tr K(I − H)(I − H)^T", "cases are reconstructed", "rows"),
        method.Term(
            "λ ⟨1 − S∘K, H⟩", "by cases of their class", "prototypes", ("lam",)
        ),
        method.Term("μ J_{ls}(β)", "neighbours", "rows", ("mu",)),
        method.Term("τ ∑ U", "alike cases", "prototypes", ("tau",)),
        method.Term("ρ/2 ‖β‖^2", "even weights β", "weights", ("kappa",)),
    ),
)
