"""Text of generated files: templates with words between two ``@``.

They lie beside the targets and end in ``.in``, as those of CMake and Autoconf do; what
is between ``@@ NAME`` and the next such line is a section. A word is replaced once:
what a user typed is never read as a template.
A line behind ``@if WORD@``, or all lines from there to ``@end@``, stand only where the
word is there and not empty; those after an ``@else@``, only elsewhere.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

#: The folder that the paths of templates begin at.
_ROOT = Path(__file__).parent / "targets"


class _Text(string.Template):
    """A text with words as ``@word@``: a single ``@`` is one, and so is any ``$``.

    ``@word[...]@`` and ``@word(...)@`` are words too, see `c99.common.Source.text`.
    """

    pattern = (
        r"@(?:(?P<named>[a-z_0-9]+(?:\[[^]@\n]+\]|\([^)@\n]+\))?)@"
        "|(?P<braced>(?!))|(?P<escaped>(?!))|(?P<invalid>(?!)))"
    )


#: A line that depends on a word, and lines, without others that do.
_LINE = re.compile(r"^@if (\w+)@(.+\n)", re.MULTILINE)
_LINES = re.compile(r"^@if (\w+)@\n((?:(?!@if |@end@).*\n)*)@end@\n", re.MULTILINE)


@cache
def _text(path: Path) -> str:
    return path.read_text("utf-8")


def _fill(text: str, words: Mapping[str, object]) -> str:
    def choose(lines: re.Match[str]) -> str:
        some, _, others = lines[2].partition("@else@\n")
        return some if words.get(lines[1]) else others

    text, n = _LINE.sub(choose, text), 1
    while n:
        text, n = _LINES.subn(choose, text)
    return _Text(text).substitute(words)


def filled(path: str, words: Mapping[str, object]) -> str:
    """Fill a template."""
    return _fill(_text(_ROOT / path), words)


def filled_folder(folder: str, words: Mapping[str, object]) -> dict[str, str]:
    """Fill all templates in a folder, whose paths may hold words too."""
    root, files = _ROOT / folder, {}
    for path in sorted(root.rglob("*.in")):
        name = path.relative_to(root).as_posix().removesuffix(".in")
        files[_fill(name, words)] = _fill(_text(path), words)
    return files


@cache
def sections(path: str) -> dict[str, str]:
    """Text of each section of a template, by its name."""
    parts = re.split(r"^@@ (.+)\n", _text(_ROOT / path), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def chosen(
    path: str, words: Mapping[str, object], holds: Collection[str]
) -> dict[str, object]:
    """The words, and those that a template has of what holds.

    A section is named "word, condition condition ...". Those of one word follow each
    other, and words of earlier sections may stand in them.
    """
    named = {name: name.partition(", ") for name in sections(path)}
    found: dict[str, str] = {}
    words = {**dict.fromkeys((word for word, *_ in named.values()), ""), **words}
    for name, (word, _, conditions) in named.items():
        if {*conditions.split()} <= {*holds}:
            text = section(path, name, {**words, **found}).removesuffix("\n")
            found[word] = found.get(word, "") + text
    return {**words, **found}


def section(path: str, name: str, words: Mapping[str, object]) -> str:
    """Fill a section of a template."""
    return _fill(sections(path)[name], words)
