"""The files of a Python model, and how they are used."""

from __future__ import annotations

from smpcore.codegen.package import Files, Package
from smpcore.codegen.targets.python.source import emit_plain_python
from smpcore.codegen.templates import filled, section


def python(package: Package) -> Files:
    """A module without any import but of the standard library, and its self-test."""
    name, words = package.name, package.words
    words["answers"] = "[module.predict(x)]"
    if not package.model.is_regression:
        words["answers"] += " + module.scores(x)"
    if package.model.probability:
        words["answers"] += " + [module.probability(x)]"
    words["cell"] = "int" if package.model.is_integer else "number"
    words["same"] = _part("same", package, words)
    identity = f'NAME = "{name}"\nID = "{package.id}"\nFORMAT = {words["format"]}\n'
    return {
        **package.documents,
        f"{name}.py": f"{emit_plain_python(package.model)}\n\n{identity}",
        f"{name}_selftest.py": filled("python/selftest.py.in", words),
    }


def words_of_python(package: Package) -> dict[str, str]:
    """Words of the pages that tell how a module is tried and used."""
    name, words = package.name, package.words
    words["answer"] = f"{name}.label({name}.predict(x))"
    if package.model.is_regression:
        words["answer"] = f"{name}.value(x)"
    for part in ("given", "arithmetic", "arithmetic of boards"):
        words[part.replace(" ", "_")] = _part(part, package, words)
    return words


def _part(name: str, package: Package, words: dict[str, str]) -> str:
    """A section for the numbers of a model, without its last line end."""
    kind = "integers" if package.model.is_integer else "floats"
    return section("python/parts.in", f"{name}, {kind}", words).removesuffix("\n")
