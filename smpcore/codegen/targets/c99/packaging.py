"""What the targets that are built from C have in common: files, and words."""

from __future__ import annotations

from smpcore.codegen.names import c_float, markdown
from smpcore.codegen.package import Files, Package
from smpcore.codegen.targets.c99.common import FLAGS, Source, head
from smpcore.codegen.templates import filled, section
from smpcore.codegen.vectors import conversions, untested_parameters


def plain_c(package: Package) -> Files:
    """All sources in one folder."""
    return package.sources | package.tests | package.documents


def library(package: Package) -> Files:
    """Sources, self-test and documents, as package managers of C want them."""
    sources = {
        f"src/{n}": text for n, text in (package.sources | package.tests).items()
    }
    return sources | {f"extras/{n}": text for n, text in package.documents.items()}


def words_of_c(package: Package) -> dict[str, str]:
    """Words of the templates of all these targets."""
    model, name = package.model, package.name
    words = Source(model, name, {}).words | package.words
    words |= {
        "head": head(model, name),
        "flags": FLAGS,
        "headers": " ".join(
            n for n in sorted(package.sources | package.tests) if n.endswith(".h")
        ),
        "sources_in_words": _sources_in_words(package),
    }
    for what, files in (("sources", package.sources), ("tests", package.tests)):
        own = sorted(n for n in files if n.endswith(".c"))
        words[what] = " ".join(own)
        words[f"{what}_of_library"] = " ".join(f"src/{n}" for n in own)
        words[f"{what}_of_module"] = " ".join(f"../src/{n}" for n in own)
    stream, answer = package.stream, f"puts({name}_label({prediction(package)}));"
    given = "given"
    if model.is_integer:
        given += " numbers" if model.converts else " integers"
    if model.is_regression:
        answer = f"float value = {value_in_units(package, prediction(package))};"
    words["cautions"], words["stream"] = _cautions(package, words), ""
    words["chip_test"] = ""
    if stream:
        samples, width = stream.samples(model), stream.width(model)
        given = "given stream"
        if width:
            own = all(one.is_itself for one in samples)
            given += " integers" if own else " numbers"
        words |= {
            "sample": f"int{width}_t" if width else words["input"],
            "n_times": str(stream.n_times),
            "hop": str(stream.hop),
            "n_slots": str(stream.n_slots(model)),
            "channels": ", ".join(map(markdown, stream.channels)),
            "features": _part("features", words) if stream.has_names else "",
        }
        words["stream"] = "\n\n" + _part("stream", words)
        words["chip_test"] = _part("stream on a chip", words) + "\n"
    words |= {"given": _part(given, words), "answer": when_due(package, answer)}
    return words | {
        "about_c": _part("about", words),
        "example": _example(package, words),
    }


def _part(name: str, words: dict[str, str]) -> str:
    return section("c99/parts.in", name, words).removesuffix("\n")


def prediction(package: Package) -> str:
    """C expression for the answer, in the lines that a README shows."""
    name = package.name
    if package.stream:
        return f"{name}_stream_predict(&stream)"
    return f"{name}_predict(x)"


def when_due(package: Package, line: str) -> str:
    """A line of C that a README shows behind its ``given``."""
    return f"    {line}\n}}" if package.stream else line


def value_in_units(package: Package, value: str) -> str:
    """C expression for the answer of a regression in the units of its target."""
    return f"{package.name}_value({value})" if package.model.is_integer else value


def _sources_in_words(package: Package) -> str:
    """Files that go into a program."""
    names = [f"`{n}`" for n in package.sources if not n.endswith("_inputs.c")]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _cautions(package: Package, words: dict[str, str]) -> str:
    """Compiler flags that change bits, and what the test vectors do not try."""
    model = package.model
    if package.model.is_integer:
        n = str(len(conversions(model).kinds))
        return _part("cautions of integers", words | {"n_conversions": n})
    needed = model.stack_bytes
    more = {
        "scores": "values" if model.is_regression else "scores",
        "stack": f"Its arrays take {needed:,} bytes of stack." if needed else "",
        "untested": untested_parameters(model, package.vectors.rows),
    }
    return _part("cautions of floats", words | more)


def _example(package: Package, words: dict[str, str]) -> str:
    """A program that answers one row of the user's table, then tests itself."""
    model, whole = package.model, package.model.is_integer
    middles = (
        f"    {c_float((e.low + e.high) / 2 if not e.levels else 0)}, /* {name} */"
        for e, name in zip(model.source.inputs, package.input_names, strict=True)
    )
    words = words | {"middles": "\n".join(middles), "given": "x" if whole else "values"}
    words["convert"] = _part("convert", words) if whole else ""
    tests = [("selftest_quantise", "conversion", "CONVERSIONS")] * whole
    if package.stream:
        tests.append(("selftest_stream", "stream", "WINDOWS"))
    words["test"] = "".join(
        _part("test", words | {"function": f, "title": t, "total": n}) + "\n"
        for f, t, n in tests
    )
    if model.is_regression:
        value = f"{package.name}_predict({words['given']})"
        words["value"] = f"(double){value_in_units(package, value)}"
    kind = "value" if model.is_regression else "class"
    words["print"] = _part(f"print {kind}", words)
    return filled("c99/example.c.in", words).removesuffix("\n")
