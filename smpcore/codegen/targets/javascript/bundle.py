"""The files of a JavaScript model, and how they are used."""

from __future__ import annotations

from smpcore.codegen.package import Files, Package
from smpcore.codegen.targets.javascript.source import PARTS, emit_javascript
from smpcore.codegen.templates import section


def javascript(package: Package) -> Files:
    """The module, and the model for programs."""
    module = emit_javascript(package.model, package.name, package.id)
    return package.documents | {f"{package.name}.mjs": module}


def words_of_javascript(package: Package) -> dict[str, str]:
    """Words of the self-test, and of the page about it."""
    model, words = package.model, package.words
    names, answers = ["label", "predict"], ["model.predict(x)", "...model.scores(x)"]
    words["answer"] = "label(predict(x))"
    if model.is_regression:
        names, answers, words["answer"] = ["value"], answers[:1], "value(x)"
    if package.model.is_integer:
        names.append("quantise")
    if model.probability:
        answers.append("model.probability(x)")
    kind = "integers" if package.model.is_integer else "floats"
    has_band = model.not_sure >= 0 if package.model.is_integer else bool(model.band)
    return words | {
        "names": ", ".join(sorted(names)),
        "answers": f"[{', '.join(answers)}]",
        "round": "Number" if package.model.is_integer else "Math.fround",
        "given": _part(f"given, {kind}", words).removesuffix("\n"),
        "arithmetic": _part(f"arithmetic, {kind}", words),
        "scores": "" if model.is_regression else _part("scores", words),
        "not_sure": _part("not sure", words) if has_band else "",
        "part": PARTS[type(model.operations[-1])],
    }


def _part(name: str, words: dict[str, str]) -> str:
    return section("javascript/parts.in", name, words)
