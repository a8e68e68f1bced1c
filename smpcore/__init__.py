"""Small, sparse, readable classifiers: the library behind Sparse Prototype Explorer."""

from smpcore import figures
from smpcore.codegen import (
    EMITTERS,
    Agreement,
    CompiledModel,
    TestVectors,
    agreement,
    bundle,
    compile_model,
    emit_python,
    test_vectors,
)
from smpcore.datasets import (
    DECIMALS,
    DELIMITERS,
    ENCODINGS,
    Dataset,
    Preparation,
    Split,
    check_fit,
    find_duplicates,
    list_datasets,
    load_dataset,
    make_dataset,
    prepare,
    read_frame,
    read_table,
    split,
    telling_features,
)
from smpcore.errors import DatasetError, ExportError, SmpcoreError
from smpcore.estimators import (
    IMKPLClassifier,
    MultiPrototypeSVC,
    SMaLLClassifier,
    SMPClassifier,
    SuperSparseClassifier,
    SuperSparseRegressor,
)
from smpcore.evaluation import Scores, class_numbers, evaluate
from smpcore.methods import METHODS, Method, solve_path
from smpcore.model import History, PrototypeModel
from smpcore.parameters import Param
from smpcore.similarity import Similarity

__all__ = [
    "DECIMALS",
    "DELIMITERS",
    "EMITTERS",
    "ENCODINGS",
    "METHODS",
    "Agreement",
    "CompiledModel",
    "Dataset",
    "DatasetError",
    "ExportError",
    "History",
    "IMKPLClassifier",
    "Method",
    "MultiPrototypeSVC",
    "Param",
    "Preparation",
    "PrototypeModel",
    "SMPClassifier",
    "SMaLLClassifier",
    "Scores",
    "Similarity",
    "SmpcoreError",
    "Split",
    "SuperSparseClassifier",
    "SuperSparseRegressor",
    "TestVectors",
    "agreement",
    "bundle",
    "check_fit",
    "class_numbers",
    "compile_model",
    "emit_python",
    "evaluate",
    "figures",
    "find_duplicates",
    "list_datasets",
    "load_dataset",
    "make_dataset",
    "prepare",
    "read_frame",
    "read_table",
    "solve_path",
    "split",
    "telling_features",
    "test_vectors",
]
