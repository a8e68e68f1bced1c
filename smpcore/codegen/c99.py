"""C99 (and C++) source of a model, in floats or in integers: no heap, no library."""

from __future__ import annotations

from smpcore.codegen.c_floats import emit_floats
from smpcore.codegen.c_inputs import inputs_source
from smpcore.codegen.c_parts import head
from smpcore.codegen.compiled import CompiledModel
from smpcore.codegen.integers.c_integers import emit_integers
from smpcore.codegen.integers.model import QuantModel


def emit_c99(
    model: CompiledModel | QuantModel, prefix: str = "mdl"
) -> dict[str, bytes]:
    """Write the header and the source files of a model.

    Parameters
    ----------
    model : CompiledModel or QuantModel
        In 32-bit floats, or in integers.
    prefix : str, default "mdl"
        Name of the model: begins every name in the files, and theirs.

    Returns
    -------
    dict of str to bytes
        ``<prefix>.h``, ``<prefix>.c`` and ``<prefix>_inputs.c``, ASCII; of integers
        ``<prefix>_quantise.c`` as well, which turns numbers in the user's units into
        the integers of the model.

    Raises
    ------
    ExportError
        If the prefix is no identifier, or the model exceeds what the format holds.
    """
    write = emit_integers if isinstance(model, QuantModel) else emit_floats
    files = write(model, prefix)
    files[f"{prefix}_inputs.c"] = inputs_source(model, prefix).encode("ascii")
    told = head(model, prefix).encode("ascii")
    return {name: told + text for name, text in sorted(files.items())}
