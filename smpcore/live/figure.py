"""The live figure: what a message changes, and the answer to it.

On release of a control the answer is the *canonical* fit, while it moves the same one
where that is quick, else a *preview*; where the canonical fit takes long it goes on in
a job, and one on a part of the rows is shown meanwhile. Points of the path are asked
for afterwards, so that no message waits behind them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from smpcore import figures
from smpcore.datasets import Dataset, Split
from smpcore.errors import SmpcoreError
from smpcore.live import path
from smpcore.live.choice import BUNDLED, MINE, NO_QUESTION, Choice
from smpcore.live.context import Context, SliderRanges, resolve
from smpcore.live.controls import live_controls, set_value
from smpcore.live.host import Host
from smpcore.live.messages import Message
from smpcore.live.parts import STOPPED, Parts, short_digest
from smpcore.live.picture import picture
from smpcore.live.points import STEPS, changed
from smpcore.live.scene import Scene, laying_out
from smpcore.live.selection import selection
from smpcore.live.settings import validated
from smpcore.readouts import READOUTS

log = logging.getLogger(__name__)
#: While a control moves, a canonical fit may take this long; a preview is shown if the
#: last one took longer.
CANONICAL_SECONDS = 0.05
#: Messages that change no model: what they ask for comes beside the picture.
BACKGROUND = ("knots", "steps", "select")
#: A preview of a slow fit has at most so many training rows, and numbers in them.
MOST_ROWS, MOST_VALUES = 300, 100_000
#: Fewer rows than this tell nothing.
LEAST_ROWS = 30


@dataclass
class Shown:
    """What a figure shows, and what its next answer builds on.

    Parameters
    ----------
    edited : str
        Token of the table whose points were drawn last.
    gesture, edit : int or None
        The stroke of a drawing tool that goes on; the last edit that counted, as the
        browser repeats one whose answer was lost.
    drag : Context or None
        What the last message of a drag left.
    state : object
        Where the last fit ended, for a warm start.
    bounds : dict
        Key of the method -> ends of its sliders.
    quick : bool
        Whether the last canonical fit was no job, and took `seconds`.
    canonical : bool
        Whether the last answer looked at a canonical fit.
    selected : dict of str to list of int
        Digest of a table -> its rows that are selected in the picture.
    """

    edited: str = ""
    gesture: Any = None
    edit: int | None = None
    drag: Context | None = None
    scene: Scene | None = None
    state: object = None
    bounds: dict[str, SliderRanges] = field(default_factory=dict)
    quick: bool = True
    seconds: float = float("inf")
    waits_for: Any = None
    cautions: list[str] = field(default_factory=list)
    present: bool = False
    canonical: bool = False
    selected: dict[str, list[int]] = field(default_factory=dict)

    def wait_for(self, fit: Any) -> None:
        """Wait for this fit and for no older one, which may end then."""
        fit.want()
        older = self.waits_for or fit
        self.waits_for = fit
        if older is not fit:
            older.leave()


class Figure:
    """The figure of one viewer in a host.

    Parameters
    ----------
    host : Host
        What it is given.
    shown : Shown
        What it shows.
    """

    def __init__(self, host: Host, shown: Shown) -> None:
        self.host, self.shown = host, shown

    @property
    def hides_test(self) -> bool:
        """Whether test rows stay closed, whatever was chosen."""
        return False

    def data_options(self, choice: Choice) -> list[tuple[str, str]]:
        """Data that can be chosen: key and title."""
        return [(key, info.title) for key, info in BUNDLED.items()]

    def with_data(self, choice: Choice, key: str) -> Choice:
        """The choice with other data, one of `data_options`."""
        afresh = {"data_values": {}, "view": {}, "open_test": False, "forbidden": ()}
        return replace(choice, data=key, **afresh, **NO_QUESTION)

    def with_table(
        self, choice: Choice, dataset: Dataset, division: Split, step: str
    ) -> Choice:
        """The choice with an edited table; the step is named, if it can be undone."""
        raise NotImplementedError

    def undo(self, choice: Choice) -> Choice:
        """The choice before the last step."""
        raise NotImplementedError

    def edited(self, choice: Choice, message: Message) -> Choice:
        """The choice after points were drawn, or a step back."""
        op, shown = message.op, self.shown
        gesture = op, message.row if op == "move" else None
        goes_on = op in ("move", "erase", "spray") and shown.gesture == gesture
        shown.gesture = None
        if op == "undo":
            return self.undo(choice)
        data = resolve(choice, host=self.host).data
        dataset, division = changed(data, message, goes_on)
        # A drag or a sweep is one step to undo, however many messages it took.
        step = "" if goes_on else STEPS[op]
        choice = self.with_table(choice, dataset, division, step)
        shown.gesture = gesture if message.dragging else None
        return choice

    def set_values(self, choice: Choice, values: Mapping[str, Any]) -> Choice:
        """Apply what the controls say."""
        for name, value in values.items():
            if name == "data":
                if value not in dict(self.data_options(choice)):
                    raise SmpcoreError("data should be one of the listed data sets.")
                choice = self.with_data(choice, value)
            else:
                choice = set_value(choice, str(name), value, self.host)
        return choice

    def follow(
        self, header: dict[str, Any], before: Choice, message: Message
    ) -> tuple[Context, list[str], bool]:
        """Apply a message to a choice and fill in the answer.

        Parameters
        ----------
        header : dict
            Of the answer.
        before : Choice
            What is on the screen.
        message : Message
            What the viewer did.

        Returns
        -------
        context : Context
            Its choice is on the screen from now on.
        changes : list of str
            What was changed besides, in sentences.
        goes_on : bool
            Whether it is a drag that goes on: nothing but sliders moved.

        Raises
        ------
        SmpcoreError
            If the message asks for what cannot be; nothing has changed then.
        """
        shown, changes = self.shown, []
        is_drag = message.kind == "set" and message.dragging
        # The last context of a drag with its sliders moved, if no other page has made
        # another choice meanwhile.
        context, shown.drag, shown.canonical = shown.drag, None, False
        goes_on = is_drag and context is not None and context.choice is before
        context = context.with_values(message.values) if goes_on else None
        if context is None:
            context, changes = self._resolved(before, message)
            goes_on = False
        self.respond(header, context, message)
        shown.drag = context if is_drag else None
        if message.kind not in BACKGROUND and not message.dragging:
            shown.cautions = self.host.computed.cautions(*context.request)
        return context, changes, goes_on

    def _resolved(self, before: Choice, message: Message) -> tuple[Context, list[str]]:
        """What the message makes of a choice, and what was changed besides."""
        host = self.host
        choice, left_out = validated(self._applied(before, message), host=host)
        context, moved = resolve(choice, host=host), []
        chosen = set(message.values)
        options = {param.name for param in context.params if param.scale == "choice"}
        # Another page or a link, or all defaults: the figure shows what was chosen.
        if message.kind in ("full", "reset"):
            context, moved = context.clip_to_ranges(context.values)
        elif "method" in chosen or (chosen and before.source != choice.source):
            context, moved = context.clip_to_ranges(chosen)
        elif chosen & options:  # they may move the ends of its sliders by much
            context, moved = context.clip_to_ranges(chosen | set(before.values))
        return context, left_out + moved

    def _applied(self, choice: Choice, message: Message) -> Choice:
        """Apply what the message changes."""
        kind, values, shown = message.kind, message.values, self.shown
        if kind == "set":
            if values and shown.scene and shown.scene.header["view"]["far"] is not None:
                # A map that a table opened with stays, and goes into the link.
                choice = replace(choice, view={"kind": "map", **choice.view})
            return self.set_values(choice, values)
        if kind == "reset":
            return replace(choice, values={}, view={}, threshold=0.0, band=0.0)
        if kind == "edit" and message.seq != shown.edit:
            # The browser repeats an edit whose answer got lost: it counts once.
            choice = self.edited(choice, message)
            shown.edit = message.seq
        return choice

    def respond(
        self, header: dict[str, Any], context: Context, message: Message
    ) -> None:
        """Fill in the answer to the message."""
        dragging, shown = message.dragging, self.shown
        scene = context.cached("scene", lambda: self._scene(context))
        if message.kind == "select":  # rows of the table, whatever picture they are in
            shown.selected = {context.data.dataset.digest: list(message.want)}
        # What is asked for of another scene would belong to nothing: the new one comes.
        known = message.have == scene.header["id"]
        if known and message.kind in BACKGROUND:
            pictures = self._pictures(context, scene, message)
            header.update(kind=message.kind, **pictures)
            return
        started = time.perf_counter()
        estimator, data, job, canonical = self._fitted(context, message)
        bounds = context.holding(shown.bounds.get(context.method.key))
        shown.bounds = {context.method.key: bounds}
        automatic: Mapping[str, float] = {}
        support = np.ones(context.data.X.shape[1], dtype=bool)
        if estimator is not None:
            shown.state = estimator.state_
            support, automatic = estimator.model_.support, estimator.automatic_
            seconds = time.perf_counter() - started
            value = context.values.get(context.method.path)
            part = None if data is context.data else words(data, context.data)
            tied = message.assignments
            painted = picture(estimator, scene, data, tied, coded=not dragging)
            usual = automatic.get(context.method.path)
            header["picture"] = painted | {
                "canonical": canonical,
                "coarse": part,
                "ms": 1000 * seconds,
                "chain": path.chain(context, scene, bounds),
                "knot": None,
                "value": usual if value is None else value,
            }
        header["job"] = job
        scrubs = shown.quick and context.method.scrubs(context.values)
        header["path"] = path.grid(context, bounds) if scrubs else None
        header["controls"] = live_controls(
            context, bounds, support, automatic, self.data_options
        )
        header["terms"] = [term._asdict() for term in context.method.terms]
        header |= {"kind": "picture"} if known else self._full(context, scene)
        if not dragging:
            header["headline"] = _headline(context, scene)
            header["laying_out"] = laying_out(context, scene)

    def _full(self, context: Context, scene: Scene) -> dict[str, Any]:
        """What stands still while a model changes."""
        described = scene.header | {"present": self.shown.present}
        full = {"kind": "full", "scene": described}
        if self.shown.selected.get(context.data.dataset.digest):
            full["selection"] = self._selection(context, scene)
        return full

    def _selection(self, context: Context, scene: Scene) -> dict[str, Any]:
        rows = self.shown.selected.get(context.data.dataset.digest, [])
        return selection(context.data, scene, rows)

    def _pictures(
        self, context: Context, scene: Scene, message: Message
    ) -> dict[str, Any]:
        """What the browser asks for beside the picture, while nothing else goes on."""
        if message.kind == "select":
            return {"selection": self._selection(context, scene)}
        if message.kind == "knots":
            return {"knots": path.path_points(context, scene, message)}
        self.shown.wait_for(run := path.run_of(context, message))
        return path.steps(context, scene, message, run)

    def _fitted(
        self, context: Context, message: Message
    ) -> tuple[Any, Parts, dict[str, Any] | None, bool]:
        """The fit shown, its rows, its job if it goes on, whether it is canonical."""
        estimator, data, job, canonical = None, context.data, None, False
        kind, dragging, shown = message.kind, message.dragging, self.shown
        if not dragging:
            estimator, job, canonical = self._canonical(context, kind == "stop")
        # The last canonical fit was a job, or this one is bound to be.
        is_slow = self.host.computed.is_slow
        slow = context.cached("slow", lambda: is_slow(*context.request))
        waits = job and kind in ("set", "reset", "edit", "full")
        if waits or (dragging and (slow or not shown.quick)):
            state = shown.state if dragging else None
            estimator, data = subsampled_fit(context, state)
        elif dragging:
            estimator = self._canonical_if_quick(context) if kind == "set" else None
            estimator = estimator or preview(context, context.problem(), shown.state)
        # Looked at here first: no call more in most drags.
        if estimator and estimator.model_.outcome != context.outcome:
            estimator = context.of_outcome(estimator)
        return estimator, data, job, canonical

    def _canonical_if_quick(self, context: Context) -> Any:
        """The canonical fit, as a release gives it; None if it takes too long."""
        if self.shown.seconds > CANONICAL_SECONDS:
            return None
        problem = context.problem()
        unfitted = context.method.estimator(context.values, problem.task)
        with self.host.stopped_after(CANONICAL_SECONDS) as flag:
            fitted = unfitted.solve(problem, stop=flag)
        return None if fitted.history_.status == STOPPED else fitted

    def _canonical(
        self, context: Context, stop: bool
    ) -> tuple[Any, dict[str, Any] | None, bool]:
        """The canonical fit or None, what its job says, whether it is canonical."""
        method, shown = context.method, self.shown
        fit = context.fit()
        shown.wait_for(fit)
        # Points of a path that is slow to solve would keep the viewer waiting.
        shown.quick = fit.is_quick
        if stop and not fit.is_quick:
            fit.stop()
        elif fit.was_stopped:
            fit.restart()
        if fit.ready(0.0):
            shown.canonical = True
            shown.bounds = {method.key: fit.bounds}
            shown.seconds = fit.estimator.history_.seconds
            # What was chosen on folds beforehand takes its time once only.
            quick = shown.seconds < self.host.computed.quick_seconds or not fit.compiled
            shown.quick = quick and not self.host.computed.is_large(*context.request)
            return context.with_threshold(fit.estimator), None, not fit.was_stopped
        is_compiled = method.key not in self.host.computed.uncompiled
        doing = "Fitting" if is_compiled else "Compiling and fitting"
        others = ", kept running for another visitor" if stop else ""
        return None, path.job_of(fit, f"{doing} {method.title}{others}"), False

    def _scene(self, context: Context) -> Scene:
        """Rows and window of a choice: those on the screen where they are the same."""
        choice, data, shown = context.choice, context.data, self.shown
        window = sorted(context.view.items())
        note = self.host.studies.view(data, context.view).note
        parts = (data.dataset.digest, data.split.key, choice.open_test, window)
        hides_test = self.hides_test
        key = short_digest(*parts, hides_test, note)
        scene = shown.scene
        if scene is None or scene.header["id"] != key:
            open_test = context.open_test and not hides_test
            scene = shown.scene = Scene(data, self._view(context), open_test)
            scene.header["id"] = key
        return scene

    def _view(self, context: Context) -> figures.View:
        """The window; it stands still while the viewer's own points move inside it."""
        choice, data, shown = context.choice, context.data, self.shown
        view = self.host.studies.view(data, context.view)
        drawn = choice.data == MINE and shown.edited == choice.token
        if not drawn or shown.scene is None:
            return view
        before = shown.scene.view
        same = (before.x_label, before.y_label) == (view.x_label, view.y_label)
        if same and np.array_equal(before.origin, view.origin):
            low, high = np.transpose([before.x, before.y])
            xy = before.places(data.X, data.y)
            if ((low <= xy) & (xy <= high)).all():
                return before
        return view


def _headline(context: Context, scene: Scene) -> str:
    """What the method does."""
    is_drawn = scene.header["image"] is None and scene.header["view"]["far"] is None
    arrows = "arrows" if is_drawn else "prototypes"
    cases = READOUTS["invented_cases"].label.lower()
    if context.dataset.matrices:  # between similarities nothing can be invented
        cases = "real rows"
    return context.method.summary.format(arrows=arrows, cases=cases)


def subsampled_fit(context: Context, state: Any) -> tuple[Any, Parts | None]:
    """A quick fit on a part of the rows, and that part; None if it would not help."""
    part = part_of(context)
    n_features = context.data.X.shape[1]
    aligned = context.method.comparison_cost(context.values, n_features) > 1
    if part is None or aligned:  # where comparing rows is slow, so is a part of them
        return None, None
    try:
        problem = context.host.computed.problem(
            part, context.method.key, context.values
        )
        return preview(context, problem, state), part
    except SmpcoreError as error:
        log.info("no subsampled fit: %s", error)  # all of the rows may do
        return None, None


def preview(context: Context, problem: Any, state: Any) -> Any:
    """A quick fit from where the last one ended."""
    estimator = context.method.estimator(context.values, problem.task, preview=True)
    with context.host.stopped_after(context.host.computed.quick_seconds) as flag:
        return estimator.solve(problem, state, stop=flag)


def part_of(context: Context) -> Parts | None:
    """The same data with fewer training rows, which keep the shares of the classes."""
    data = context.data
    X, y = data.of("train")
    if data.dataset.matrices:  # fewer rows have other columns, too
        return None
    n_rows = min(MOST_ROWS, MOST_VALUES // max(X.shape[1], 1))
    is_compiled = context.method.key not in context.host.computed.uncompiled
    if not is_compiled or min(n_rows, len(y)) < LEAST_ROWS:
        return None
    classify = data.dataset.task == "classification"
    return replace(data, split=data.split.thinned(data.y, n_rows, classify))


def words(part: Parts, data: Parts) -> str:
    """What a subsampled fit is, to be shown with its picture."""
    few, all_rows = len(part.split.train), len(data.split.train)
    if few == all_rows:
        return "Preview: short fit"
    return f"Preview: fitted on {few:,} of {all_rows:,} rows"
