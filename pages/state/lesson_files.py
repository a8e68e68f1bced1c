"""Lesson files: read from the app's folder, an operator's folder or an upload.

A file may come from anywhere: every value is checked, and nothing in it is ever run.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages.state import links, state_file
from pages.state.choice import BUNDLED, Choice
from pages.work import json_files, json_schema
from smpcore import METHODS, Dataset, SmpcoreError
from smpcore.datasets import Split, list_names
from smpcore.readouts import READOUTS

FORMAT = "sparse-prototype-explorer-lesson-1"
MOST_BYTES = 1_000_000
#: Lessons of an operator that are listed at most.
MOST_FILES = 100
#: What the lists of a lesson call the tools that draw.
POINTS = "points"
log = logging.getLogger(__name__)
HOME = Path(__file__).parents[2] / "assets" / "lessons"
#: Where a text shows a read-out.
PLACEHOLDER = re.compile(r"\{(before|after|change)\.(\w+)\}")

_SCHEMA = json.loads((HOME / "schema.json").read_text("utf-8"))
#: Read-outs of models, and what older files call some of them.
_MEASURED = {key for key, row in READOUTS.items() if row.value}
_OLDER = {
    **{"prototypes": "n_prototypes", "weights": "n_nonzeros", "columns": "n_features"},
    "support_vectors": "n_support_vectors",
}
#: Where a lesson names read-outs; a quote inside of a text has a backslash before it.
_NAMED = re.compile(r"\"(measure|show)\": (\"\w+\"|\[[^]]*\])|" + PLACEHOLDER.pattern)
_POINTS = json_schema.record(state_file.POINTS)
#: Controls of the figure beside those of data and methods.
_OTHERS = {"data", "method", "open_test", "within", POINTS}
_OTHERS |= {"v.kind", "v.first", "v.second"}


@dataclass(frozen=True, eq=False)
class Lesson:
    """A lesson whose every value was checked.

    Parameters
    ----------
    content : dict
        As assets/lessons/schema.json describes it.
    """

    content: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The lesson's title."""
        return self.content["title"]

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The lesson's steps."""
        return self.content["steps"]


def read(data: bytes) -> Lesson:
    """Read a lesson file from anywhere."""
    content = json_files.parse(data, "lesson file", MOST_BYTES)
    json_files.check(content, _SCHEMA, "lesson file")
    content = _with_keys(content)
    for number, step in enumerate(content["steps"], 1):
        _check_step(step, f"lesson file's step {number}")
    return Lesson(content)


def _with_keys(content: Any) -> Any:
    """A lesson with the keys of read-outs in place of older names of them."""

    def renamed(place: re.Match[str]) -> str:
        return re.sub(r"\w+", lambda word: _OLDER.get(word[0], word[0]), place[0])

    return json.loads(_NAMED.sub(renamed, json.dumps(content)))


def _check_step(step: dict[str, Any], place: str) -> None:
    """Refuse a step whose states, controls or placeholders are not here."""
    then = step.get("question", {}).get("then")
    if step.get("points"):
        json_files.check(step["points"], _POINTS, place)
        state_file.read_points(step["points"], place)
        if "data" in {**step.get("state", {}), **(then or {})}:
            json_files.refuse(place, "has points and names data; remove one of them")
    state_of(step, place)
    if then is not None:
        state_of(step, place, then)
    known = _OTHERS.union(
        *(
            {p.name for p in m.controls(t)}
            for m in METHODS.values()
            for t in m.estimators
        )
    ).union(
        *({f"d.{p.name}" for p in info.params} for info in BUNDLED.values()),
        *(m.removed for m in METHODS.values()),
    )
    if unknown := sorted(set(step.get("free", ())) - known):
        names = list_names(unknown, longest=40)
        json_files.refuse(place, f"frees controls that are not here: {names}")
    for moment, name in PLACEHOLDER.findall(json.dumps(step, ensure_ascii=False)):
        if name not in _MEASURED or (moment != "before" and "question" not in step):
            shown = f"{moment}.{name}"[:60]
            json_files.refuse(place, f"shows a read-out that is not here: {shown}")


def state_of(
    step: Mapping[str, Any], name: str, then: Mapping[str, str] | None = None
) -> Choice:
    """The choice that a step begins with; of drawn points all but their table."""
    return links.read_all({**step.get("state", {}), **(then or {})}, name)


#: Files do not change while they are here: each content is read once.
_read_once = functools.lru_cache(200)(read)


def listed() -> dict[str, Lesson | str]:
    """Lessons that ship and the operator's, by file name; or what is wrong with one.

    The operator's are the files of the folder ``SPE_LESSONS``. They are only read, and
    links that lead out of the folder are left out.
    """
    found: dict[str, Lesson | str] = {}
    for folder in (str(HOME), os.environ.get("SPE_LESSONS", "")):
        for path in _files(folder):
            try:
                if path.stat().st_size > MOST_BYTES:
                    json_files.refuse("lesson file", "should have at most 1 MB")
                found[path.name] = _read_once(path.read_bytes())
            except SmpcoreError as problem:
                found[path.name] = str(problem)
            except OSError:
                found[path.name] = "It cannot be opened; contact the operator."
            except Exception:  # one file, whatever is in it, keeps no lesson away
                log.exception("the lesson file %s cannot be read", path)
                found[path.name] = "It cannot be read; contact the operator."
    return found


def _files(folder: str) -> list[Path]:
    """Lesson files of a folder, sorted by name."""
    try:
        home = Path(folder).resolve(strict=True)
        paths = sorted(home.glob("*.json")) if folder else []
        inside = [p for p in paths if p.resolve(strict=True).is_relative_to(home)]
    except (OSError, RuntimeError):
        return []
    schema = HOME / "schema.json"
    return [p for p in inside if p != schema and p.is_file()][:MOST_FILES]


def points_of(step: Mapping[str, Any]) -> tuple[Dataset, Split] | None:
    """The drawing of a step, as a table with its parts; None if it has none."""
    points = step.get("points")
    return state_file.read_points(points) if points else None
