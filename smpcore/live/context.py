"""A choice with all that follows from it: a value, which never asks who looks."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from smpcore.datasets import Dataset, Split, plain_number, rarer_class
from smpcore.evaluation import at_threshold
from smpcore.live.choice import Choice, view_kinds
from smpcore.live.host import Drawing, Host
from smpcore.live.parts import PARTS, STOPPED, Parts, short_digest
from smpcore.methods import METHODS, Method
from smpcore.model import PrototypeModel
from smpcore.parameters import Param

SliderRanges = Mapping[str, tuple[float, float]]
Extended = TypeVar("Extended", bound="Context")


@dataclass(frozen=True, eq=False)
class Context:
    """A choice with its table, and what follows, each computed when it is asked for.

    All that depends on who looks is here from the start (`resolve`): what follows
    can be computed in any thread, also after the viewer has left. It raises
    SmpcoreError if the data cannot be learned from. ``drawn`` are its parts, if the
    choice does not draw them (points moved by hand), ``known`` the results of `cached`.
    """

    choice: Choice
    table: Dataset
    host: Host
    drawn: Split | None = None
    known: dict[Hashable, Any] = field(default_factory=dict)

    def cached(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Compute what does not change when sliders of the method move."""
        if key not in self.known:
            self.known[key] = compute()
        return self.known[key]

    @property
    def whole(self) -> Dataset:
        """The same with the question that is asked of it."""
        return self.host.computed.with_question(
            self.table, self.choice.follow_up, self.choice.two_classes
        )

    @property
    def dataset(self) -> Dataset:
        """What models learn from: the same without the features that are forbidden."""
        forbidden = self.choice.forbidden
        return (
            self.host.computed.forbidding(self.whole, forbidden)
            if forbidden
            else self.whole
        )

    @property
    def task(self) -> str:
        """What the data ask for."""
        return self.whole.task

    @cached_property
    def data(self) -> Parts:
        """The data set, split and prepared."""
        division, chosen = self.drawn, self.choice
        if division is None:
            shares = chosen.validation, chosen.test, chosen.seed
            division = self.host.computed.split_of(self.whole, *shares)
        return self.host.computed.parts(self.dataset, division)

    @property
    def methods(self) -> dict[str, Method]:
        """Methods that can learn these data."""
        return {k: m for k, m in METHODS.items() if m.learns(self.dataset, self.task)}

    @cached_property
    def method(self) -> Method:
        """The method that learns from it."""
        return METHODS[self.choice.method]

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The method's controls for these data."""
        params = self.method.controls(self.task)
        return params if self.dataset.channels else tuple(map(_without_series, params))

    @cached_property
    def values(self) -> dict[str, Any]:
        """The method's parameters, defaults filled in."""
        values = {**self.method.defaults(self.task), **self.choice.values}
        for param in self.params:
            if param.scale == "class":
                named = self.choice.values.get(param.name) or self.choice.outcome
                values[param.name] = self._label(named) if named else None
            if param.scale == "lists" and values[param.name] is not None:
                values[param.name] = self._feature_numbers(values[param.name])
        return {**values, **self.method.data_params(self.dataset, values)}

    @property
    def key(self) -> str:
        """Short text that is the same for the same model only."""
        chosen = self.choice
        source = chosen.data, sorted(chosen.data_values.items()), chosen.token
        data = (*source, chosen.two_classes, *chosen.forbidden)
        data += () if chosen.follow_up is None else (chosen.follow_up,)
        parts = chosen.validation, chosen.test, chosen.seed
        model = chosen.method, sorted(self.values.items())
        return short_digest(data, parts, model)

    @property
    def operating(self) -> str:
        """Threshold and band of this very model in words; empty if none is set."""
        threshold, band = self.choice.threshold, self.choice.band
        if not (threshold or band) or self.choice.set_for != self.key:
            return ""
        words = ""
        if threshold:
            shown = self.threshold_in_words(self.turned(threshold))
            words = f"Threshold moved to {shown}"
        if band:
            words += (
                f"{' and n' if words else 'N'}ot sure within {plain_number(band)} of it"
            )
        return words

    @cached_property
    def labels(self) -> list[str]:
        """The classes of the training rows, in order, as text; none of a regression."""
        if self.data.dataset.classes is None:
            return []
        return [str(label) for label in np.unique(self.data.of("train")[1])]

    @cached_property
    def outcome(self) -> int:
        """Number of the class that is the event, of two: all that is shown is of it."""
        if len(self.labels) == 2 and self.choice.outcome in self.labels:
            return self.labels.index(self.choice.outcome)
        if len(self.labels) != 2:
            return 1
        return rarer_class(np.unique(self.data.of("train")[1], return_inverse=True)[1])

    def turned(self, threshold: float) -> float:
        """A threshold of the outcome, of one of the second class; and back."""
        return threshold + 0.0 if self.outcome else 0.0 - threshold  # no -0

    def threshold_in_words(self, threshold: float) -> str:
        """A threshold of the outcome as every page shows it, with its class."""
        name = self.labels[self.outcome]
        return f"{plain_number(threshold)} on the margin of {name}"

    def of_outcome(self, estimator: Any) -> Any:
        """The fitted estimator whose model is about the outcome."""
        model = estimator.model_
        if len(self.labels) != 2 or model.outcome == self.outcome:
            return estimator
        return _with_model(estimator, replace(model, outcome=self.outcome))

    @property
    def times_opened(self) -> int:
        """How often the test part of these data was opened."""
        opened = self.choice.opened
        if not opened:
            return 0
        return opened.get(self.cached("digest", lambda: self.table.digest), 0)

    @property
    def open_test(self) -> bool:
        """Whether test rows may be looked at."""
        return self.choice.open_test or self.data.dataset.open_test

    @property
    def open_parts(self) -> list[str]:
        """Parts whose rows may be looked at, as far as they have rows."""
        parts = PARTS if self.open_test else PARTS[:2]
        return [part for part in parts if getattr(self.data.split, part).size]

    @property
    def view_kinds(self) -> dict[str, str]:
        """Pictures that there are of these data here, with their names."""
        kinds = view_kinds(self.data.X.shape[1], self.data.dataset)
        if self.host.studies.map_of is None:
            kinds.pop("map", None)
        return kinds

    @property
    def view(self) -> dict[str, Any]:
        """The view, made to fit these data."""
        chosen, n_features = self.choice.view, self.data.X.shape[1]
        kinds = self.view_kinds
        kind = chosen.get("kind")
        kind = kind if kind in kinds else next(iter(kinds))
        if kind == "pca" and "kind" not in chosen:
            job = "map" in kinds and self.host.studies.map_of(self.data)
            kind = "map" if job and job.opens else "pca"
        first = min(chosen.get("first", 0), n_features - 1)
        second = min(chosen.get("second", 1), n_features - 1)
        second = first if kind == "curve" else second
        at = chosen.get("at", {}) if kind in ("axes", "curve") else {}
        fixed = [(i, v) for i, v in sorted(at.items()) if i < n_features]
        fixed = [(i, v) for i, v in fixed if i not in (first, second)]
        return {"kind": kind, "first": first, "second": second, "at": tuple(fixed)}

    @property
    def request(self) -> tuple[Parts, str, dict[str, Any]]:
        """What a fit depends on."""
        return self.data, self.method.key, self.values

    def fit(self) -> Any:
        """The canonical fit."""
        return self.host.fits.fit(*self.request)

    def model(self) -> PrototypeModel:
        """The canonical model, with the threshold that is set for it."""
        return self.with_threshold(self.fit().finished()).model_

    @property
    def training_scores(self) -> Any:
        """Out-of-fold scores of the training rows, where somebody computed them."""
        return self.host.studies.training_scores(*self.request)

    def with_threshold(self, estimator: Any) -> Any:
        """The fitted estimator with what is set for its model beside the fit.

        The outcome, threshold and band, and the calibration where it is there already.
        """
        estimator = self.of_outcome(estimator)
        model = estimator.model_
        calibration = self.training_scores.calibration
        if calibration is not None and estimator.history_.status != STOPPED:
            model = replace(model, calibration=calibration)
        if self.operating and model.classes is not None and len(model.classes) == 2:
            threshold = self.turned(self.choice.threshold)
            model = at_threshold(model, threshold, band=self.choice.band)
        return estimator if model is estimator.model_ else _with_model(estimator, model)

    def _label(self, text: Any) -> Any:
        """The class that reads like this; None if the data have no such class."""
        matches = [c for c in self.dataset.classes.tolist() if str(c) == str(text)]
        return matches[0] if matches else None

    def _feature_numbers(
        self, lists: tuple[tuple[str, ...], ...]
    ) -> tuple[tuple[int, ...], ...] | None:
        """Lists of features by their numbers; None if the data lack one of them."""
        numbers = {
            name: i for i, name in enumerate(self.data.preparation.feature_names)
        }
        if any(name not in numbers for names in lists for name in names):
            return None
        return tuple(tuple(numbers[name] for name in names) for names in lists)

    def with_values(self, values: Mapping[str, Any]) -> Context | None:
        """The same with new values of sliders; None if one of them is not a slider."""
        if not values.keys() <= self._sliders.keys():
            return None
        clean = {n: self._sliders[n].clean(value) for n, value in values.items()}
        choice = replace(self.choice, values={**self.choice.values, **clean})
        changed = replace(self, choice=choice)
        vars(changed).update(vars(self), choice=choice, values={**self.values, **clean})
        return changed

    def extended(self, kind: type[Extended], **more: Any) -> Extended:
        """The same context with more fields; what was computed already stays."""
        same = {field.name: getattr(self, field.name) for field in fields(Context)}
        made = kind(**same, **more)
        vars(made).update(vars(self))
        return made

    @cached_property
    def _sliders(self) -> dict[str, Param]:
        """The method's numbers by their names."""
        scales = ("linear", "log", "int")
        return {param.name: param for param in self.params if param.scale in scales}

    def problem(self) -> Any:
        """Scaled training rows with their start; a few values decide about it."""
        needed = self.method.estimators[self.data.dataset.task].problem_params
        key = ("problem", *map(self.values.get, needed))
        return self.cached(key, lambda: self.host.computed.problem(*self.request))

    def clip_to_ranges(self, chosen: Collection[str]) -> tuple[Context, list[str]]:
        """Bring values that were not chosen for these data into their slider's range.

        A prototype per example, say, needs a far smaller fusion than a few prototypes
        do: at the slider's upper end, and beyond it, all prototypes are merged. So a
        value beyond the end goes to the middle, not to the end.
        """
        if self.host.computed.is_slow(*self.request):
            return self, []
        values, messages = {}, []
        ranges = self.host.computed.bounds(*self.request)
        for name, param in self._sliders.items():
            low, high = ranges.get(name, (0.0, np.inf))
            value, is_count = self.values[name], param.scale == "int"
            is_default = name not in self.choice.values
            stays = name in chosen and not (is_default and is_count)
            if value is None or stays or param.scale == "linear" or value <= high:
                continue
            middle = float(f"{np.sqrt(low * high):.3g}")
            values[name] = new = int(high) if is_count else middle
            if not (is_count and is_default):
                text = f"{param.label} was out of range; reset to {new:g}"
                messages.append(f"{text}, the maximum." if is_count else f"{text}.")
        return self.with_values(values), messages

    def holding(self, ranges: SliderRanges | None) -> dict[str, tuple[float, float]]:
        """Slider ends, moved outwards where a chosen value lies beyond them.

        They are the widest until a fit gives narrower ones.
        """
        if ranges is None:
            ranges = {name: (p.low, p.high) for name, p in self._sliders.items()}
        widened = dict(ranges)
        for param in self.params:
            value = self.values[param.name]
            # The exact 0 of a log slider has a place of its own.
            zero = param.zero and value == 0
            if param.name in ranges and value is not None and not zero:
                low, high = ranges[param.name]
                widened[param.name] = min(low, value), max(high, value)
        return widened


def _with_model(estimator: Any, model: PrototypeModel) -> Any:
    changed = copy.copy(estimator)
    changed.model_ = model
    return changed


def resolve(choice: Choice, drawing: Drawing = None, *, host: Host) -> Context:
    """Look up the table of a choice; it may be a drawing that is not kept."""
    table, drawn = drawing or host.table(choice)
    return Context(choice, table, host, drawn)


def _without_series(param: Param) -> Param:
    """A control without the options that series have only."""
    if not param.series_options:
        return param
    left = (o for o in param.options if o[0] not in param.series_options)
    return replace(param, options=tuple(left))


#: What the target of a task is, in words.
ANSWERS = {"classification": "a class", "regression": "a number"}
