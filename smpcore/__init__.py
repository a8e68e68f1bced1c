"""Small, sparse, readable classifiers: the library behind Sparse Prototype Explorer.

Here is what a notebook needs first. Everything else is imported from its package:
`datasets`, `methods`, `evaluation`, `explain`, `figures`, `codegen`,
`chips`, or from `baselines`, `errors`, `model`, `papers`, `parameters`, `report`,
`similarity`.
"""

from smpcore.baselines import BASELINES
from smpcore.codegen import compile_model, export, quantise
from smpcore.datasets import (
    Dataset,
    fetch_openml,
    list_datasets,
    load_dataset,
    prepare,
    read_table,
    split,
)
from smpcore.errors import SmpcoreError
from smpcore.evaluation import (
    IMKPLClassifierCV,
    MultiPrototypeSVCCV,
    SMaLLClassifierCV,
    SMPClassifierCV,
    SuperSparseClassifierCV,
    SuperSparseRegressorCV,
    evaluate,
    stability,
    sweep,
)
from smpcore.explain import contributions, counterfactual
from smpcore.methods import (
    METHODS,
    IMKPLClassifier,
    MultiPrototypeSVC,
    SMaLLClassifier,
    SMPClassifier,
    SuperSparseClassifier,
    SuperSparseRegressor,
)
from smpcore.model import PrototypeModel
from smpcore.notebooks import explore
from smpcore.report import report

__version__ = "0.1.0"
__license__ = "BSD-3-Clause"

__all__ = [
    "BASELINES",
    "METHODS",
    "Dataset",
    "IMKPLClassifier",
    "IMKPLClassifierCV",
    "MultiPrototypeSVC",
    "MultiPrototypeSVCCV",
    "PrototypeModel",
    "SMPClassifier",
    "SMPClassifierCV",
    "SMaLLClassifier",
    "SMaLLClassifierCV",
    "SmpcoreError",
    "SuperSparseClassifier",
    "SuperSparseClassifierCV",
    "SuperSparseRegressor",
    "SuperSparseRegressorCV",
    "compile_model",
    "contributions",
    "counterfactual",
    "evaluate",
    "explore",
    "export",
    "fetch_openml",
    "list_datasets",
    "load_dataset",
    "prepare",
    "quantise",
    "read_table",
    "report",
    "split",
    "stability",
    "sweep",
]
