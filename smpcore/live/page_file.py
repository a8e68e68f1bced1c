"""The figure as one file that needs no server: its solved values are in it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from smpcore.datasets import plain_number
from smpcore.errors import SmpcoreError
from smpcore.live import path
from smpcore.live.answers import Answers
from smpcore.live.context import Context
from smpcore.live.controls import live_controls
from smpcore.live.messages import pack
from smpcore.live.picture import picture
from smpcore.live.scene import Scene
from smpcore.parameters import Param

FOLDER = Path(__file__).parent
#: Of each figure: its style, and its script.
STYLE = (FOLDER / "figure.css").read_text("utf-8")
#: Values that are solved for the file, at least: of a path all that take about so
#: many seconds together. Where the least take longer than the most, there is no file.
FEW, SECONDS, MOST_SECONDS = 12, 10.0, 120.0
#: With a second control so many values of it, and of the main one, at most.
MOST_ROWS, MOST_BESIDE = 6, 17


#: What a page adds to the picture of a context's model.
Remarks = Callable[[Context, Any], dict[str, Any]]


@dataclass
class SavedFigure:
    """A figure of a page: its payload, and what it is of.

    Parameters
    ----------
    context : Context
        Its canonical fit is there.
    sources : list of str
        Functions of JavaScript, shared by the figures of a page.
    with_rows : bool
        Whether the rows that are drawn are in the file.
    turn : callable
        Context in which each picture is painted: who drags meanwhile waits for one
        picture, not for all.
    main, second : Param, optional
        Controls that move: over all solved values, and over a coarse grid.
    remarks : callable
        What is added to the picture of a model.
    hides_test : bool
        Whether test rows that are open are not in it.
    """

    context: Context
    sources: list[str]
    with_rows: bool = True
    turn: Callable[[], AbstractContextManager] = nullcontext
    main: Param | None = None
    second: Param | None = None
    remarks: Remarks = lambda *_: {}
    hides_test: bool = False

    def __post_init__(self) -> None:
        context = self.context
        window = context.host.studies.view(context.data, context.view)
        open_test = context.open_test and not self.hides_test
        self._scene = Scene(context.data, window, open_test)
        self._answers = Answers(context, self._scene, self.with_rows, self.sources)
        self.moving: list[tuple[Param, int]] = []

    @property
    def sentences(self) -> Iterable[str]:
        """What the figure is of, and what is computed in the file."""
        yield from _sentences(self.context, self.moving, self.with_rows)
        yield self._answers.sentence

    def _paint(self, context: Context, row: int, fitted: Any, at: float | None) -> dict:
        about = {"canonical": True, "coarse": None, "ms": 0.0, "value": at}
        with self.turn():
            fitted = context.of_outcome(fitted)
            painted = picture(fitted, self._scene, context.data, coded=True) | about
            painted["program"] = self._answers.program(fitted.model_)
        painted |= {"chain": f"saved {row}"} | self.remarks(context, fitted)
        return painted if self.with_rows else _without_rows(painted)

    def payload(self) -> dict[str, Any]:
        """The answer that draws everything, with the pictures of all values."""
        context, fitted = self.context, self.context.fit().finished()
        now, moves = None, {"path": None, "knots": [], "controls": [], "second": None}
        rows, at = _rows(context, self.second)
        if self.main is not None:
            now = context.values[self.main.name]
            if now is None:
                now = fitted.automatic_.get(self.main.name, self.main.low)
            now, moves = float(now), self._moves(rows, at, float(now))
        header = self._scene.header | {"id": "saved", "saved": True, "present": False}
        header["editable"] = False
        if not self.with_rows:
            header["points"] = {name: a[:0] for name, a in header["points"].items()}
            header |= {"shown_of": [0, 0], "behind": None}
        shown = self._paint(context, at, context.with_threshold(fitted), now)
        return {
            **{"v": 1, "seq": 0, "busy": 0, "notices": [], "kind": "full", "undo": ""},
            **{"scene": header, "picture": shown | {"knot": None}, "job": None},
            **moves,
            "headline": "",
            "answers": self._answers.described(),
            "terms": [term._asdict() for term in context.method.terms],
        }

    def _moves(self, rows: list[Context], at: int, now: float) -> dict[str, Any]:
        """Controls, path and pictures of what can be dragged."""
        context, param, other = self.context, self.main, self.second
        seconds = context.fit().finished().history_.seconds
        places, _ = _values(context, param, seconds * len(rows))
        if other:
            places = _spread(places, MOST_BESIDE)
        grid = []
        for j, row in enumerate(rows):
            _, solve = _values(row, param, seconds)
            pictures = [
                self._paint(row.with_values({param.name: v}), j, solve(v), v)
                for v in places.tolist()
            ]
            grid.append([one | {"knot": place} for place, one in enumerate(pictures)])
        self.moving = [(param, len(places))]
        controls, second = [_control(context, param, places, now)], None
        if other:
            values = [row.values[other.name] for row in rows]
            beside = [[] if j == at else pictures for j, pictures in enumerate(grid)]
            second = {"param": other.name, "values": values, "at": at, "knots": beside}
            of_rows = _control(context, other, np.array(values), values[at])
            controls.append(of_rows | {"scrub": False})
            self.moving.append((other, len(values)))
        line = path.described(context, param.name, places)
        moves = {"path": line, "knots": grid[at], "controls": controls}
        return moves | {"second": second}


def saved_page(
    context: Context,
    address: str,
    with_rows: bool = True,
    turn: Callable[[], AbstractContextManager] = nullcontext,
    second: bool = False,
) -> bytes:
    """Write the figure of a choice with the values of its main control.

    Parameters
    ----------
    context : Context
        Its canonical fit is there.
    address : str
        Of the same figure in the app, or its part from the question mark on; empty:
        there is none for others.
    with_rows : bool
        Whether the rows that are drawn are in the file.
    turn : callable
        As of `SavedFigure`.
    second : bool
        Whether a second control moves, too: `second_control`, over a coarse grid.

    Returns
    -------
    bytes
        The page, HTML.

    Raises
    ------
    SmpcoreError
        If even a few values take too long to solve.
    """
    other = second_control(context) if second else None
    main, sources = _main_control(context), []
    figure = SavedFigure(context, sources, with_rows, turn, main, other)
    payload = figure.payload()
    title = f"{context.data.dataset.name}. {context.method.title}"
    return written_page(title, figure.sentences, address, payload, sources)


def _main_control(context: Context) -> Param:
    """The control of the path; of a method without one, the first on a log scale."""
    method = context.method
    if method.scrubs(context.values):
        return method.param(method.path)
    return next(p for p in context.params if p.scale == "log")


def second_control(context: Context) -> Param | None:
    """Another slider that a page can have: the next on a log scale, else a count."""
    main, values = _main_control(context), context.values
    able = [
        param
        for param in context.params
        if param.scale in ("log", "int") and not param.advanced
        if param is not main and values[param.name] is not None
        if param.shown_if is None or param.shown_if(values)
    ]
    return min(able, key=lambda param: param.scale != "log", default=None)


def _rows(context: Context, other: Param | None) -> tuple[list[Context], int]:
    """The context with some values of another control, and which one it is itself."""
    if other is None:
        return [context], 0
    limits = context.holding(context.host.computed.bounds(*context.request))
    low, high = limits.get(other.name, (other.low, other.high))
    spaced = np.geomspace(low, high, MOST_ROWS)
    if other.scale == "int":
        spaced = np.unique(np.rint(spaced))
    now = context.values[other.name]
    at = int(np.abs(spaced - now).argmin())
    values = [other.clean(value) for value in spaced.tolist()]
    values[at] = now
    rows = [context.with_values({other.name: value}) for value in values]
    return rows, at


def _values(
    context: Context, param: Param, seconds: float
) -> tuple[np.ndarray, Callable[[float], Any]]:
    """Values that are solved, few where a fit takes long, and what solves one."""
    data, method, values = context.data, context.method, context.values
    if FEW * seconds > MOST_SECONDS:
        raise SmpcoreError(
            f"each of the {FEW} values of its slider takes about {seconds:.0f} s to "
            "solve. Choose a table with fewer rows or features."
        )
    computed = context.host.computed
    limits = context.holding(computed.bounds(*context.request))
    if method.scrubs(values) and param.name == method.path:
        off_path = method.off_path(values, data.dataset.task)
        places = method.grid(limits[method.path])
        most = max(FEW, int(SECONDS / max(seconds, 1e-3)))
        return _spread(places, most), lambda at: computed.path_point(
            data, method.key, off_path, at
        )

    def solve(value: float) -> Any:
        now = {**values, param.name: param.clean(value)}
        problem = computed.problem(data, method.key, now)
        return method.estimator(now, problem.task).solve(problem)

    return _spaced(param, *limits.get(param.name, (param.low, param.high))), solve


def _spaced(param: Param, low: float, high: float) -> np.ndarray:
    """A few values of a control, from end to end."""
    if param.scale == "log":
        values = np.geomspace(low, high, FEW)
        return np.append(0.0, values) if param.zero else values
    values = np.linspace(low, high, FEW)
    return np.unique(np.rint(values)) if param.scale == "int" else values


def _spread(places: np.ndarray, most: int) -> np.ndarray:
    """So many of some values at most, the first and the last among them."""
    some = np.linspace(0, len(places) - 1, min(most, len(places)))
    return places[some.round().astype(int)]


#: Of a picture and of its prototypes: what is said row by row.
_OF_ROWS = ("predicted", "hollow")
_OF_CASES = ("cases", "mark_start")
#: Where training rows stand that prototypes are; invented ones stand for themselves.
_PLACES = ("marks", "marks_label", "size")


def _without_rows(painted: dict[str, Any]) -> dict[str, Any]:
    """The picture without what stands for rows of the table."""
    left = {name: v for name, v in painted.items() if name != "codes"}
    left |= {name: painted[name][:0] for name in _OF_ROWS}
    if doubts := left.get("doubts"):
        left["doubts"] = doubts | {"rows": doubts["rows"][:0]}
    prototypes = left["prototypes"]
    names = _OF_CASES if "mark_weight" in prototypes else (*_OF_CASES, *_PLACES)
    left["prototypes"] = {n: v for n, v in prototypes.items() if n not in names}
    return left


def _control(
    context: Context, param: Param, places: np.ndarray, value: float
) -> dict[str, Any]:
    every = np.ones(context.data.X.shape[1], dtype=bool)
    rows = live_controls(context, {}, every, {}, lambda _: [])
    (row,) = (row for row in rows if row["name"] == param.name)
    limits = {"low": float(places[0]), "high": float(places[-1])}
    return row | limits | {"value": value, "scrub": True, "shown": True}


def _settings(context: Context, moving: list[Param]) -> str:
    """The settings that stand still, as far as they were chosen."""
    values = context.choice.values
    others = [p for p in context.params if p not in moving and p.name in values]
    chosen = [
        f"{one.label} {plain_number(value, 4) if type(value) is float else value}"
        for one in others
        if (value := values[one.name]) is not None
    ]
    return f" {', '.join(chosen)}." if chosen else ""


def _sentences(
    context: Context, moving: list[tuple[Param, int]], with_rows: bool
) -> Iterable[str]:
    name, method = context.data.dataset.name, context.method
    moves = " and ".join(f"{param.label} over {count}" for param, count in moving)
    settings = _settings(context, [param for param, _ in moving])
    yield (
        f"{method.title} on {name}: solved values of {moves} places can be dragged, "
        f"all else stands as it was set.{settings} Training and "
        "validation rows are those of the app; nothing is sent anywhere."
    )
    if not with_rows:
        yield "The rows of the table are not in this file."


def written_page(
    title: str,
    sentences: Iterable[str],
    address: str,
    payload: dict[str, Any],
    programs: list[str],
) -> bytes:
    """Write the page around a payload: text is text, only its own scripts may run.

    Parameters
    ----------
    title : str
        Its heading.
    sentences : iterable of str
        What it is, above the figure.
    address : str
        As of `saved_page`.
    payload : mapping
        What is in it.
    programs : list of str
        Functions of JavaScript that its figures compute with.

    Returns
    -------
    bytes
        HTML.
    """
    page, style = (
        (FOLDER / f"saved.{ending}").read_text("utf-8") for ending in ("html", "css")
    )
    script = (FOLDER / "figure.js").read_text("utf-8").replace("</script", "<\\/script")
    words = [f"<p>{html.escape(text)}</p>" for text in sentences]
    link = html.escape(address)
    if link.startswith("?"):
        words.append(f"<p>In the app: <code>{link}</code> behind its address.</p>")
    elif link:
        words.append(f'<p><a href="{link}">The same figure in the app</a></p>')
    programs = f"globalThis.savedPrograms = [{', '.join(programs)}];"
    packed = base64.b64encode(gzip.compress(pack(payload), 9, mtime=0)).decode()
    parts = {
        "title": html.escape(title),
        "words": "\n".join(words),
        **{"style": style, "figure_style": STYLE, "script": script},
        **{"programs": programs, "payload": packed},
        "style_hashes": f"{_hash(style)} {_hash(STYLE)}",
        "script_hashes": f"{_hash(programs)} {_hash(script)}",
    }
    return Template(page).substitute(parts).encode()


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
