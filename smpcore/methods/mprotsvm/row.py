"""Row of the registry: the multi-prototype support vector machine."""

from __future__ import annotations

from smpcore.datasets import Dataset, used_matrices
from smpcore.methods.mprotsvm import MultiPrototypeSVC
from smpcore.methods.shared import method
from smpcore.parameters import Param, Values, advanced, shown_at


def _annealed(values: Values) -> bool:
    return values["temperature"] > 0


def _needs_one_kernel(dataset: Dataset) -> str:
    """Refuse several matrices, and one that is no kernel."""
    used = used_matrices(dataset)
    if len(used) > 1:
        return "it takes one matrix: choose one on Data"
    if used and used[0].least < 0:
        return f"it needs a kernel, and {used[0].name} has a negative eigenvalue"
    return method.needs_no_text(dataset)


def _matrix_as_kernel(dataset: Dataset, values: Values) -> Values:
    """Take a matrix as the kernel of a multi-prototype SVM."""
    if dataset.matrices:
        return {"kernel": "precomputed", "standardize": False}
    return {}


ROW = method.Method(
    key="mprotsvm",
    title="Multi-prototype SVM",
    summary=(
        "Each class has several prototypes, pushed apart as far as rows allow. Drag "
        "C and watch the border follow them."
    ),
    estimators={"classification": MultiPrototypeSVC},
    params=(
        Param(
            "n_prototypes",
            "Prototypes per class",
            "int",
            1,
            20,
            help="How many a class may have at most; the model has fewer where its "
            "objective is then lower.",
        ),
        Param(
            "C",
            "Follow the rows (C)",
            "log",
            1e-3,
            100.0,
            help="Price of a row inside the margin: larger follows the data closer.",
        ),
        Param(
            "kernel",
            "Similarity",
            "choice",
            options=(
                ("linear", "linear"),
                ("rbf", "RBF"),
                ("poly", "polynomial"),
            ),
            help="With RBF and polynomial a prototype is a mix of training rows.",
            shown_if=shown_at("kernel", "linear", "rbf", "poly"),
        ),
        Param(
            "gamma",
            "Narrow the reach (γ)",
            "log",
            1e-6,
            16.0,
            help="How fast similarity falls with distance.",
            shown_if=shown_at("kernel", "rbf", "poly"),
        ),
        Param(
            "degree",
            "Degree",
            "int",
            1,
            6,
            help="Of the polynomial.",
            shown_if=shown_at("kernel", "poly"),
        ),
        *advanced(
            Param(
                "coef0",
                "Constant",
                "linear",
                0.0,
                5.0,
                help="Of the polynomial: larger brings lower degrees in.",
                shown_if=shown_at("kernel", "poly"),
            ),
            Param(
                "landmarks",
                "Landmarks",
                "choice",
                options=(
                    (None, "all"),
                    (100, "100"),
                    (500, "500"),
                    (2000, "2,000"),
                ),
                help="Rows of which prototypes are mixes: fewer make a smaller model "
                "and, of many rows, a faster fit that comes less close to the best.",
                shown_if=shown_at("kernel", "rbf", "poly"),
            ),
            Param(
                "temperature",
                "Temperature",
                "linear",
                0.0,
                20.0,
                help="Where annealing starts, in units of C: rows change their "
                "prototype at random at first. 0: none.",
            ),
            Param(
                "cooling",
                "Cooling",
                "linear",
                0.5,
                0.98,
                help="The temperature is multiplied by this after each sweep.",
                shown_if=_annealed,
            ),
            Param(
                "start",
                "Start",
                "choice",
                options=(("random", "at random"), ("kmeans", "k-means per class")),
                help="Which rows share a prototype at first.",
            ),
            method.START_SEED,
            Param(
                "n_init",
                "New starts",
                "int",
                1,
                10,
                help="How often the fit starts anew with 2, 3, 5, 6, 10, 12 and 20 "
                "prototypes per class, less often with more; the lowest objective is "
                "kept. Seven times at first for small data.",
            ),
            method.CLASS_WEIGHT,
        ),
    ),
    removed={
        "solver": "The multi-prototype SVM has no choice of a solver any more: rows "
        "are solved exactly, to the same objective; the paper's steps between pairs "
        "are in Algorithm as printed.",
        "restore": "In the multi-prototype SVM a row that changes its prototype always "
        "keeps its dual variables; in Algorithm as printed they start at 0.",
    },
    path=None,
    sparsity="n_prototypes",
    tuned={"C": (0.01, 0.1, 1.0)},
    refusal=_needs_one_kernel,
    data_params=_matrix_as_kernel,
    preview={"temperature": 0.0, "tol": 3e-2, "n_init": 1},
    reference="Aiolli, Sperduti: Multi-prototype Support Vector Machine. IJCAI 2003.",
    terms=(
        method.Term("1/2 ∑_r ‖M_r‖^2", "short prototypes", "prototypes"),
        method.Term(
            "C ∑_i [1 − M_{π(i)}·x_i + max_r M_r·x_i]_+",
            "rows in the margin",
            "rows",
            ("C",),
        ),
    ),
)
