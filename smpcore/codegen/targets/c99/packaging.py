"""What the targets that are built from C have in common: files, and words."""

from __future__ import annotations

from smpcore.codegen.names import c_float, markdown
from smpcore.codegen.package import Files, Package
from smpcore.codegen.targets.c99.block import N_VECTORS
from smpcore.codegen.targets.c99.common import FLAGS, Source, c_type, head
from smpcore.codegen.targets.c99.stream import needs_conversion, state_bytes, taken_type
from smpcore.codegen.templates import chosen, filled
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
        "apart": package.apart,
        "n_tried": N_VECTORS,
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
    stream, taken = package.stream, taken_type(model, package.stream)
    if model.is_integer:
        words["n_conversions"] = str(len(conversions(model).kinds))
    else:
        needed = model.stack_bytes
        words["scores"] = "values" if model.is_regression else "scores"
        words["stack"] = f"Its arrays take {needed:,} bytes of stack." if needed else ""
        words["untested"] = untested_parameters(model, package.vectors.rows)
    if stream:
        words |= {
            "sample": c_type(taken),
            "n_times": str(stream.n_times),
            "hop": str(stream.hop),
            "n_slots": str(stream.n_slots(model)),
            "n_bytes": f"{state_bytes(model, stream):,}",
            "n_bytes_avr": f"{state_bytes(model, stream, aligned=False):,}",
            "channels": ", ".join(map(markdown, stream.channels)),
            "votes": str(stream.votes),
            "hold": str(stream.hold),
        }
    holds = package.holds | {"takes_floats" if taken.kind == "f" else "takes_integers"}
    if needs_conversion(model, stream):
        holds = package.holds | {"takes_numbers"}
    if stream and stream.has_names:
        holds.add("features")
    if stream:
        holds.add("debounced" if stream.debounces else "every_answer")
    words = chosen("c99/parts.in", words, holds)
    # A program that answers one row of the user's table, then tests itself.
    words["middles"] = "\n".join(
        f"    {c_float((e.low + e.high) / 2 if not e.levels else 0)}, /* {name} */"
        for e, name in zip(model.source.inputs, package.input_names, strict=True)
    )
    words["example"] = filled("c99/example.c.in", words).removesuffix("\n")
    return words


def _sources_in_words(package: Package) -> str:
    """Files that go into a program."""
    optional = "_inputs.c", ".hpp"
    names = [f"`{n}`" for n in package.sources if not n.endswith(optional)]
    return f"{', '.join(names[:-1])} and {names[-1]}"
