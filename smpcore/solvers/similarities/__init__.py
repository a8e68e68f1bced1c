"""The similarities a model may use: a file each, which is found here."""

from importlib import import_module
from pkgutil import iter_modules

from ..similarity_kind import SimilarityKind

_KINDS = {
    module.name: import_module(f"{__name__}.{module.name}").KIND
    for module in iter_modules(__path__)
}

SIMILARITIES: dict[str, SimilarityKind] = dict(
    sorted(_KINDS.items(), key=lambda item: (item[1].place, item[0]))
)

#: Those with a gradient: their prototypes are moved.
SMOOTH = tuple(name for name, kind in SIMILARITIES.items() if kind.value is not None)
