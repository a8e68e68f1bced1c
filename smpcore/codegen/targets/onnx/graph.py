"""An ONNX graph as it grows, and the file that it becomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.describe import arithmetic
from smpcore.errors import ExportError

#: Version of the operators and of the file: what onnxruntime has taken since 1.18.
OPSET, IR_VERSION = 21, 10


class Graph:
    """Nodes and constants as they are added; an array may stand for its constant."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError:
            raise ExportError(
                "ONNX files are written by the library onnx, which is not installed; "
                "install it with: pip install onnx"
            ) from None
        self.onnx, self.nodes, self.constants = onnx, [], []

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """Add an operator and return the name of its output."""
        names = [one if isinstance(one, str) else self._constant(one) for one in inputs]
        output = f"{kind.lower()}_{len(self.nodes)}"
        node = self.onnx.helper.make_node(kind, names, [output], **attributes)
        self.nodes.append(node)
        return output

    def _constant(self, value: Any) -> str:
        array = np.asarray(value)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def cast(self, value: str, kind: str) -> str:
        """Values of another type, by its name in ONNX."""
        return self.op("Cast", value, to=getattr(self.onnx.TensorProto, kind))

    def written(
        self,
        model: CompiledModel,
        name: str,
        outputs: dict[str, str],
        told: dict[str, str],
    ) -> bytes:
        """Bytes of the whole file."""
        make, kinds = self.onnx.helper, self.onnx.TensorProto
        for output, found in outputs.items():
            self.nodes.append(make.make_node("Identity", [found], [output]))
        types = {"index": (kinds.INT64, ["rows"]), "label": (kinds.STRING, ["rows"])}
        types |= {"value": (kinds.FLOAT, ["rows"])}
        types |= {"scores": (kinds.FLOAT, ["rows", model.n_outputs])}
        if whole_labels(model):
            types["label"] = types["index"]
        given = make.make_tensor_value_info(
            "input", kinds.FLOAT, ["rows", len(model.inputs)]
        )
        answers = [make.make_tensor_value_info(n, *types[n]) for n in outputs]
        graph = make.make_graph(self.nodes, name, [given], answers, self.constants)
        file = make.make_model(
            graph,
            opset_imports=[make.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="Sparse Prototype Explorer",
            doc_string=arithmetic(model),
        )
        make.set_model_props(file, told)
        return file.SerializeToString(deterministic=True)


def whole_labels(model: CompiledModel) -> bool:
    """Whether all classes are whole numbers."""
    return all(type(label) is int for label in model.classes or ())
