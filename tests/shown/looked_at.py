"""What a page shows, line by line, as it was when somebody looked at it.

``LOOKS=write tests/run tests/shown/test_looks.py`` writes the files of `looks` anew:
look at each line that differs before it is committed. A line is a part of the page with
all that the browser is told of it: sizes, colours, texts, tables, and charts by trace.
Long arrays stand as their size, mean, ends, least and most. Whether a number is right,
other tests of this folder say; these files say that nothing else has changed.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow
from google.protobuf.json_format import MessageToDict
from streamlit.testing.v1 import local_script_runner

from tests.test_live import decode

#: Names of this run, or of the machine.
_NOT_SHOWN = set(
    "id fragment_id form_id element_id metadata media_file_storage ms component_name "
    "page_script_hash url uid mark_order protobufs laying_out".split()
)
#: Parts of the framework, of a style, or without anything to see.
_UNSEEN = {None, "empty", "html", "balloons"}
#: What nearly every part has.
_USUAL = (
    {"width_config": {"use_stretch": True}},
    {"width_config": {"use_content": True}},
    {"text_alignment_config": {"alignment": "LEFT"}},
    {"wrap": True},
    {"allow_empty": True},
    {"gap_config": {"gap_size": "SMALL"}},
    {"theme": "streamlit"},
    {"config": {}},
    {"label_visibility": {}},
)
#: As long as this an array is written out.
_SHORT = 12
#: Durations, dates and how many steps a solver took depend on the machine.
_PASSING = re.compile(
    r"\d[\d.,]* (?=(ms|s|seconds?|minutes?|iterations?|steps?)\b)"
    r"|\d{4}-\d\d-\d\d|(?<=\?mine=)\w+|0x[0-9a-f]{6,}|(?<=ID `)\w+|\b[0-9a-f]{12,}\b"
    r"|\b\d+\.\d+\.\d+\b|(?<=ID )[0-9a-f]{8}|(?<=sha256-)[\w+/=]+"
)
#: Where a line of HTML begins.
_PARTS = re.compile(r"\n*(?=<(?:h[1-6]|p|tr|li|figure|svg|rect|text|path|section)\b)")
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
#: How far a number that is not whole may be from the one that was looked at.
_TOLERANCE = 2e-3


class Watched:
    """Messages of the last run of any page, by their place."""

    def __init__(self, monkeypatch: Any) -> None:
        self.messages: list[Any] = []
        parse = local_script_runner.parse_tree_from_messages

        def watch(messages: list[Any]) -> Any:
            self.messages = list(messages)
            return parse(messages)

        monkeypatch.setattr(local_script_runner, "parse_tree_from_messages", watch)

    def lines(self) -> list[str]:
        """The parts in the order of the page."""
        parts: dict[tuple[int, ...], Any] = {}
        for message in self.messages:
            if message.WhichOneof("type") == "delta":
                place = tuple(message.metadata.delta_path)
                parts = {p: v for p, v in parts.items() if p[: len(place)] != place}
                parts[place] = message.delta
        found = []
        for place, delta in sorted(parts.items(), key=lambda pair: pair[0]):
            kind = delta.WhichOneof("type")
            for line in _lines(kind, getattr(delta, kind)):
                found.append("  " * (len(place) - 1) + line)
        return found


def _lines(kind: str, message: Any) -> Iterator[str]:
    if kind == "add_block":
        yield f"[] {_json(MessageToDict(message, preserving_proto_field_name=True))}"
        return
    name = message.WhichOneof("type")
    if name in _UNSEEN:
        return
    shown = getattr(message, name)
    about = MessageToDict(message, preserving_proto_field_name=True)
    told = about.pop(name, {})
    if name == "plotly_chart":
        chart = json.loads(told.pop("spec"))
        chart["layout"].pop("template", None)
        yield f"{name} {_json(about | told)} {_json(chart['layout'])}"
        yield from (f"  trace {_json(trace)}" for trace in chart["data"])
    elif name == "dataframe":
        del told["arrow_data"]
        yield f"{name} {_json(about | told)}"
        yield from (f"  {_json(row)}" for row in _rows(shown.arrow_data.data))
    elif name == "bidi_component":
        kept = {"json": shown.json} if shown.json[:1] == "{" else {}
        yield f"{name} {_json(about | kept)}"
        if shown.bytes.startswith(b'{"id"'):
            yield from (f"  {line}" for line in _file(shown.bytes))
            return
        sent = decode(shown.bytes) if shown.bytes else {}
        yield from (f"  {n} {_json(value)}" for n, value in _pieces(sent))
    elif "Still compiling" not in told.get("body", ""):  # kernels, on a new machine
        yield f"{name} {_json(about | told)}"


def _file(sent: bytes) -> Iterator[str]:
    """A file that is saved: its name, and its text; of HTML a line for each part."""
    about, _, content = sent.partition(b"\n")
    name = json.loads(about)["name"]
    yield f"file {name}"
    if name.endswith((".html", ".csv", ".md", ".txt")):
        text = _PASSING.sub("#", content.decode())
        yield from _PARTS.sub("\n", text).splitlines()


def _pieces(sent: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """What the figure is sent, a line for each entry and each row of a list."""
    for name, value in sent.items():
        if name in _NOT_SHOWN:
            continue
        if isinstance(value, dict):
            yield from _pieces(value, f"{above}{name}.")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield from ((f"{above}{name}", one) for one in value)
        else:
            yield f"{above}{name}", value


def _rows(data: bytes) -> Iterator[Any]:
    table = pyarrow.ipc.open_stream(BytesIO(data)).read_all()
    yield table.column_names
    columns = [
        ["#"] * len(table) if "second" in name else table.column(name).to_pylist()
        for name in table.column_names
    ]
    rows = list(zip(*columns, strict=True))
    yield from rows[:_SHORT]
    if len(rows) > _SHORT:
        yield f"{len(rows)} rows", rows[-1]


def _json(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, default=str)


def _plain(value: Any) -> Any:
    """Without names of this run; arrays and JSON in texts opened, floats short."""
    if isinstance(value, dict):
        if {"dtype", "bdata"} <= value.keys():
            kind, data = np.dtype(value["dtype"]), base64.b64decode(value["bdata"])
            return _array(np.frombuffer(data, kind).tolist())
        kept = {n: v for n, v in value.items() if n not in _NOT_SHOWN}
        if isinstance(kept.get("help"), str):  # the glossary's; its beginning is enough
            kept["help"] = kept["help"][:40]
        return {n: _plain(v) for n, v in kept.items() if {n: v} not in _USUAL}
    if isinstance(value, np.ndarray):
        return _array(value.ravel().tolist())
    if isinstance(value, (list, tuple)):
        return _array(value)
    if isinstance(value, str):
        if value[:1] in "{[" and value[-1:] in "}]":
            try:
                return _plain(json.loads(value))
            except ValueError:
                pass
        return _PASSING.sub("#", value)
    if isinstance(value, float):
        return float(f"{value:.5g}")
    return value


def _array(values: Iterable[Any]) -> Any:
    values = list(values)
    if len(values) <= _SHORT:
        return [_plain(one) for one in values]
    ends = [_plain(values[0]), _plain(values[-1])]
    if all(isinstance(one, (int, float)) for one in values):
        known = np.array(values, float)
        known = known[np.isfinite(known)]
        if known.size:
            sizes = [float(f"{of(known):.4g}") for of in (np.mean, np.min, np.max)]
            return {"n": len(values), "mean, least, most": sizes, "ends": ends}
    return {"n": len(values), "ends": ends}


def differs(line: str, before: str) -> bool:
    """Whether two lines differ by more than the rounding of another machine."""
    # A slow machine takes seconds where another takes milliseconds.
    line, before = (one.replace("#ms", "#s") for one in (line, before))
    if line == before:
        return False
    if _NUMBER.sub("#", line) != _NUMBER.sub("#", before):
        return True
    pairs = zip(_NUMBER.findall(line), _NUMBER.findall(before), strict=True)
    return any(_is_far(*pair) for pair in pairs)


def _is_far(one: str, other: str) -> bool:
    if one == other:
        return False
    if "." not in one + other and "e" not in one + other:
        return True
    digits = max(len(text.partition(".")[2]) for text in (one, other))
    a, b = (float(text.replace(",", "")) for text in (one, other))
    return abs(a - b) > max(_TOLERANCE * max(abs(a), abs(b)), 1.01 * 10.0**-digits)
