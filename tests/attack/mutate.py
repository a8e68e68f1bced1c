"""Values that nobody expects, and changes of what was right, drawn by a seed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

#: Texts where a number, a name or a name of a file is meant.
TEXTS = (
    *("", " ", "nan", "inf", "-inf", "1e999", "-1", "0", "1e308", "9" * 400, "0x10"),
    *(
        "<script>alert(1)</script>",
        "![](http://127.0.0.1:9/x.png)",
        "$\\frac{1}{",
        "**",
    ),
    *("\x00", "\ud83d", "\u202egnp.exe", "\ufeff", "=1+1", "../../etc/passwd", "%s%n"),
    *("[", "[[]]", "{}", "null", "true", "1,2", "٣", "１", "a" * 3_000, "😀", "`x`"),
    *("javascript:alert(1)", "moons", "smp", "yes", "1_000", "1e-400", "+5", "5."),
)
VALUES = (
    *(None, True, False, -1, 0, 1, 2, 10**6, 10**30, 0.5, -0.0, 1e308, 1e-320),
    *([], {}, [None], {"a": {}}, [[1, 2], [3]], "x", [0] * 1_000),
    *(float("nan"), float("inf")),
)
#: Pieces of files of all kinds.
PIECES = (
    *(b",", b";", b"\t", b'"', b"'", b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"?"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"{", b"}", b"[", b"]", b"@data", b"@attribute"),
    *(b"1e999", b"nan", b"-", b"%", b":", b"=1+1", b"0x", b"\xc3", b"9" * 400, b"<td>"),
)


def pick(draw: np.random.Generator, options: Any) -> Any:
    """One of some."""
    options = tuple(options)
    return options[draw.integers(len(options))]


def text(draw: np.random.Generator) -> str:
    """A text; now and then a number."""
    if draw.random() < 0.3:
        return repr(float(np.round(draw.normal() * 10.0 ** draw.integers(-6, 7), 6)))
    return pick(draw, TEXTS)


def value(draw: np.random.Generator) -> Any:
    """A value of JSON, or what Python writes as JSON."""
    return text(draw) if draw.random() < 0.4 else pick(draw, VALUES)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Containers of a tree, and the keys in them."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, one in entries:
        yield tree, key
        if isinstance(one, dict | list):
            yield from _places(one)


def tree(draw: np.random.Generator, right: Any) -> Any:
    """Content of a JSON file with some entries that are replaced or moved."""
    changed = copy.deepcopy(right)
    for _ in range(1 + draw.poisson(0.5)):
        places = [*_places(changed)]
        if not places:
            break
        inside, key = pick(draw, places)
        what = draw.integers(4)
        if what == 0:
            del inside[key]
        elif what == 1:
            other, at = pick(draw, places)
            if at in other if isinstance(other, dict) else at < len(other):
                inside[key] = copy.deepcopy(other[at])
        elif what == 2 and isinstance(inside, dict):
            inside[text(draw)] = value(draw)
        else:
            inside[key] = value(draw)
    return changed


def content(draw: np.random.Generator, right: bytes) -> bytes:
    """A file with some places where bytes are cut, doubled, changed or put in."""
    data = bytearray(right)
    for _ in range(1 + draw.poisson(1)):
        start = int(draw.integers(len(data) + 1))
        end = min(len(data), start + int(draw.integers(1, 30)) ** 2)
        what = draw.integers(6)
        if what == 0:
            del data[start:end]
        elif what == 1:
            data[start:start] = data[start:end]
        elif what == 2 and start < len(data):
            data[start] = int(draw.integers(256))
        elif what == 3 and draw.random() < 0.3:
            del data[start:]
        else:
            data[start:start] = pick(draw, PIECES)
    return bytes(data)
