"""Models as source code for small machines.

`export` turns a fitted model into a zip for one of `TARGETS`. On the way there,
`compile_model` folds it down to a `CompiledModel` of 32-bit floats, `quantise` rounds
that to integers, and `test_vectors` chooses rows that try it.
"""

from smpcore.codegen.agreement import Agreement, agreement, error_bound
from smpcore.codegen.costs import conversion, estimated
from smpcore.codegen.export import TARGETS, export
from smpcore.codegen.inputs import (
    CompiledInput,
    Counts,
    SensorRange,
    in_counts,
    table_in_counts,
)
from smpcore.codegen.lower import check_supported, compile_model, used_inputs
from smpcore.codegen.model import CompiledModel, QuantModel
from smpcore.codegen.names import default_name, model_id
from smpcore.codegen.package import NUMBERS, Package
from smpcore.codegen.python import emit_python
from smpcore.codegen.quantise import quantise
from smpcore.codegen.targets.c99.block import emit_block, has_block
from smpcore.codegen.targets.c99.feature_stream import FeatureStream
from smpcore.codegen.targets.c99.source import emit_c99
from smpcore.codegen.targets.c99.stream import (
    MOST_HOLD,
    MOST_VOTES,
    Stream,
    emit_stream,
)
from smpcore.codegen.vectors import TestVectors, sample, test_vectors
