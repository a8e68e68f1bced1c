"""Models as source code for small machines.

`export` turns a fitted model into a zip for one of `TARGETS`. On the way there,
`compile_model` folds it down to a `CompiledModel` of 32-bit floats, `quantise` rounds
that to integers, and `test_vectors` chooses rows that try it.
"""

from smpcore.codegen.agreement import Agreement, agreement, error_bound
from smpcore.codegen.c99 import emit_c99
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.costs import Costs, conversion, estimated
from smpcore.codegen.export import TARGETS, export
from smpcore.codegen.fold import check_supported, compile_model
from smpcore.codegen.identity import default_name, model_id
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.integers import QuantInput, QuantModel, SensorRange, quantise
from smpcore.codegen.linear_rows import LinearRows
from smpcore.codegen.package import Package
from smpcore.codegen.python import emit_python
from smpcore.codegen.similarity_sums import SimilaritySums
from smpcore.codegen.target import NUMBERS, Target
from smpcore.codegen.used import used_inputs
from smpcore.codegen.vectors import TestVectors, sample, test_vectors

__all__ = [
    "NUMBERS",
    "TARGETS",
    "Agreement",
    "CompiledInput",
    "CompiledModel",
    "Costs",
    "LinearRows",
    "Package",
    "QuantInput",
    "QuantModel",
    "SensorRange",
    "SimilaritySums",
    "Target",
    "TestVectors",
    "agreement",
    "check_supported",
    "compile_model",
    "conversion",
    "default_name",
    "emit_c99",
    "emit_python",
    "error_bound",
    "estimated",
    "export",
    "model_id",
    "quantise",
    "sample",
    "test_vectors",
    "used_inputs",
]
