"""Models as source code for small machines.

`compile_model` folds a fitted model down to a `CompiledModel`; every target in
`EMITTERS` turns one into files; `bundle` packs them with vectors that test them.
"""

from smpcore.codegen.agreement import Agreement, agreement, error_bound
from smpcore.codegen.arduino import arduino_library, emit_arduino
from smpcore.codegen.bundle import bundle
from smpcore.codegen.c99 import emit_c99
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.costs import Costs, conversion, estimated
from smpcore.codegen.fold import check_supported, compile_model
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.integers import QuantInput, QuantModel, SensorRange, quantise
from smpcore.codegen.linear_rows import LinearRows
from smpcore.codegen.python import emit_python
from smpcore.codegen.readme import readme
from smpcore.codegen.similarity_sums import SimilaritySums
from smpcore.codegen.used import used_inputs
from smpcore.codegen.vectors import TestVectors, sample, test_vectors

#: Target -> (CompiledModel or QuantModel, prefix) -> {file name: bytes}.
EMITTERS = {"c99": emit_c99, "arduino": emit_arduino}
#: Target -> (model, vectors, prefix) -> zip of these files and what belongs to them.
PACKERS = {"c99": bundle, "arduino": arduino_library}

__all__ = [
    "EMITTERS",
    "PACKERS",
    "Agreement",
    "CompiledInput",
    "CompiledModel",
    "Costs",
    "LinearRows",
    "QuantInput",
    "QuantModel",
    "SensorRange",
    "SimilaritySums",
    "TestVectors",
    "agreement",
    "arduino_library",
    "bundle",
    "check_supported",
    "compile_model",
    "conversion",
    "emit_arduino",
    "emit_c99",
    "emit_python",
    "error_bound",
    "estimated",
    "quantise",
    "readme",
    "sample",
    "test_vectors",
    "used_inputs",
]
