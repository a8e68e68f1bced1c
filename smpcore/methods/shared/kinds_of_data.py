"""Which kinds of data a method can learn from, and what follows from the kind.

A refusal is a clause that says why a method cannot, empty if it can; the parameters
are those that the data decide.
"""

from __future__ import annotations

from smpcore.datasets import Dataset, text_features, used_matrices
from smpcore.parameters import Values


def needs_features(dataset: Dataset) -> str:
    """Refuse data without features, for methods that weigh these."""
    if dataset.matrices:
        return "it weighs features, and a matrix has none"
    return _needs_no_text(dataset)


def _needs_no_text(dataset: Dataset) -> str:
    texts = text_features(dataset)
    return f"it computes with numbers, and {texts[0]} is text" if texts else ""


def takes_one_text(dataset: Dataset) -> str:
    """Refuse a text beside other features; take all else."""
    texts = text_features(dataset)
    if texts and len(dataset.feature_columns) > 1:
        return f"it compares texts of one column alone: ignore all but {texts[0]}"
    return ""


def as_chosen(dataset: Dataset, values: Values) -> Values:
    """No parameter follows from the data."""
    return {}


def needs_one_kernel(dataset: Dataset) -> str:
    """Refuse several matrices, and one that is no kernel."""
    used = used_matrices(dataset)
    if len(used) > 1:
        return "it takes one matrix: choose one on Data"
    if used and used[0].least < 0:
        return f"it needs a kernel, and {used[0].name} has a negative eigenvalue"
    return _needs_no_text(dataset)


def needs_kernels(dataset: Dataset) -> str:
    """Refuse matrices that are no kernels, or that are not normalised."""
    for matrix in used_matrices(dataset):
        if matrix.least < 0:
            return f"it needs kernels, and {matrix.name} has a negative eigenvalue"
        if not matrix.even:
            return f"it needs 1 on the diagonal: normalise {matrix.name}"
    return _needs_no_text(dataset)


def matrix_as_kernel(dataset: Dataset, values: Values) -> Values:
    """Take a matrix as the kernel of a multi-prototype SVM."""
    if dataset.matrices:
        return {"kernel": "precomputed", "standardize": False}
    return {}


def matrices_as_kernels(dataset: Dataset, values: Values) -> Values:
    """Take matrices as the kernels of IMKPL; align the channels of series only."""
    if dataset.matrices:
        return {"kernels": "precomputed", "standardize": False}
    if values.get("kernels") != "gak":
        return {}
    if not dataset.channels or dataset.forbidden:
        return {"kernels": "features"}
    return {"n_channels": len(dataset.channels), "standardize": False}


def no_slower(values: Values, n_features: int) -> float:
    """No values make a comparison slower."""
    return 1.0


def alignment_cost(values: Values, n_features: int) -> float:
    """Times as long as one of features that a comparison of series takes."""
    aligned = values.get("kernels") == "gak"
    return n_features / values.get("n_channels", 1) if aligned else 1.0


def by_similarity(dataset: Dataset, values: Values) -> Values:
    """Choose super-sparse prototypes among the rows of matrices, or edit texts."""
    if not (dataset.matrices or text_features(dataset)):
        return {}
    kind = "precomputed" if dataset.matrices else "strings"
    squared = {"loss": "squared"} if dataset.task == "regression" else {}
    return {"similarity": kind, "target": "labels", **squared}
