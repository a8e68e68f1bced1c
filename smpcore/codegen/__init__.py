"""Models as source code for small machines.

`compile_model` folds a fitted model down to a `CompiledModel`; every target in
`EMITTERS` turns one into files; `bundle` packs them with vectors that test them.
"""

from smpcore.codegen.agreement import Agreement, agreement, error_bound
from smpcore.codegen.arduino import arduino_library, emit_arduino
from smpcore.codegen.bundle import bundle
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.costs import Costs, code_bytes, conversion, estimated
from smpcore.codegen.inputs import CompiledInput
from smpcore.codegen.lower import check_supported, compile_model
from smpcore.codegen.python import emit_python
from smpcore.codegen.quant_inputs import QuantInput, SensorRange
from smpcore.codegen.quantise import quantise
from smpcore.codegen.quantised import QuantModel
from smpcore.codegen.readme import readme
from smpcore.codegen.targets.c99.source import emit_c99
from smpcore.codegen.used_inputs import used_inputs
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
    "QuantInput",
    "QuantModel",
    "SensorRange",
    "TestVectors",
    "agreement",
    "arduino_library",
    "bundle",
    "check_supported",
    "code_bytes",
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
