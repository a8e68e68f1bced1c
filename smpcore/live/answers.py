"""What a saved page computes answers from: its models as programs, and inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from smpcore import figures
from smpcore.codegen import compile_model, used_inputs
from smpcore.codegen.targets.javascript.source import javascript_function
from smpcore.datasets import in_place, shorten_name
from smpcore.errors import ExportError
from smpcore.explain import reference_input
from smpcore.live.context import Context
from smpcore.live.scene import Scene, nodes_behind
from smpcore.model import PrototypeModel

#: Bytes of the constants of all programs of a page, at most.
MOST_CONSTANTS = 2_000_000


class Answers:
    """Programs of the models of a page, and inputs of its places and its rows.

    Parameters
    ----------
    context : Context
        What the page shows.
    scene : Scene
        Rows and window of the page.
    with_rows : bool
        Whether rows of the table may be in the page.
    sources : list of str
        Functions of JavaScript that make a model of its constants; filled here.

    Attributes
    ----------
    problem : str
        Why nothing is computed in the page; empty: it is.
    """

    def __init__(
        self, context: Context, scene: Scene, with_rows: bool, sources: list[str]
    ) -> None:
        self.data, self.scene, self.with_rows = context.data, scene, with_rows
        self.sources = sources
        self.problem, self.n_bytes, self.has_codes = "", 0, False
        self.programs: list[dict[str, Any]] = []
        self.inputs = self._inputs(scene.view)

    def _inputs(self, view: figures.View) -> dict[str, np.ndarray]:
        """How places of the window become inputs."""
        if type(view) is figures.View:
            return {"origin": _float32(view.origin), "axes": _float32(view.axes)}
        n_nodes = nodes_behind(view, self.data.X.shape[1])
        if not self.with_rows:
            return self._refuse(
                "Places of its map are mixes of rows, which are not in it."
            )
        if n_nodes < 2:
            return self._refuse("The inputs of its places have too many values.")
        return {"nodes": _float32(view.nodes(n_nodes)).reshape(n_nodes, n_nodes, -1)}

    def _refuse(self, problem: str) -> dict[str, Any]:
        """Leave all programs out of the page, for this reason."""
        self.problem = problem
        for program in self.programs:
            program.clear()
        return {}

    def program(self, model: PrototypeModel) -> dict[str, Any]:
        """A model as a page computes it; empty where it does not.

        Parameters
        ----------
        model : PrototypeModel
            Model of one picture.

        Returns
        -------
        dict of str to value
            The place of its function in `sources` and its constants, or the scores of
            a model that always answers the same.
        """
        if self.problem:
            return {}
        if not used_inputs(model, self.data.preparation):
            scores = model.scores(model.center[None])
            winner = int(model.decide(scores)[0]) if model.n_outputs > 1 else 0
            self.programs.append({"scores": _float32(scores[0]), "winner": winner})
            return self.programs[-1]
        try:
            compiled = compile_model(model)
        except ExportError as problem:
            return self._refuse(str(problem))
        if compiled.n_training_rows and not self.with_rows:
            return self._refuse(
                "Its models hold rows of the table, which are not in it."
            )
        self.has_codes |= bool(model.code_size)
        text, constants = javascript_function(compiled)
        self.n_bytes += sum(np.asarray(value).nbytes for value in constants.values())
        if self.n_bytes > MOST_CONSTANTS:
            return self._refuse("Its models have too many numbers.")
        if text not in self.sources:
            self.sources.append(text)
        program = {"source": self.sources.index(text), "constants": constants}
        if model.is_linear or not model.similarity.weights:
            program["reference"] = _float32(reference_input(model))
        self.programs.append(program)
        return program

    @property
    def sentence(self) -> str:
        """What the page computes itself, or why it does not."""
        if self.problem:
            return f"Scores under the pointer are not computed in it. {self.problem}"
        if self.has_codes:
            return (
                "Scores at the pointer are computed in this file, in 32-bit floats. "
                "Where two prototypes are nearly as similar, its sparse code may be "
                "another one than the app's, with other scores."
            )
        return (
            "Scores at the pointer, and what each column contributes to the answer for "
            "a row, are computed in this file, in 32-bit floats."
        )

    def described(self) -> dict[str, Any] | None:
        """What the page needs besides programs; None: it computes nothing."""
        if self.problem:
            return None
        preparation, data = self.data.preparation, self.data
        described = {
            **self.inputs,
            "columns": [shorten_name(one.name, 80) for one in preparation.inputs],
            "column": preparation.column_of_feature,
            "rows": _float32(self.scene.X) if self.with_rows else None,
        }
        if self.scene.header["image"]:
            rows = data.of("train")[0]
            features = np.arange(data.X.shape[1])[None]
            described["pixels"] = in_place(data.dataset, features, -1)[0]
            described["range"] = [float(rows.min()), float(rows.max())]
        return described


def _float32(values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=np.float32)
