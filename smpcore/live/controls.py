"""Controls of the live figure: made from the registry, read back with care."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from smpcore.datasets import Dataset, FollowUp, horizons, shorten_name
from smpcore.errors import SmpcoreError
from smpcore.live.choice import BUNDLED, Choice
from smpcore.live.context import ANSWERS, Context, SliderRanges, resolve
from smpcore.live.host import Host
from smpcore.live.settings import setting_text, view_param, with_view
from smpcore.methods import METHODS, refusals
from smpcore.parameters import Param

#: Name of the slider of a question of time to event.
WITHIN = "within"
_WITHIN_HELP = (
    "Rows that were censored before this time have no answer and are not used; the "
    "others are weighted for them."
)
#: Sliders for features that stand still in an axis view, at most.
MAX_SLICES = 12


#: Data that can be chosen beside a choice: key and title.
DataOptions = Callable[[Choice], list[tuple[str, str]]]


def set_value(choice: Choice, name: str, value: Any, host: Host) -> Choice:
    """Apply what one control says; `Figure` knows which data there are."""
    if name == "method":
        if value not in resolve(choice, host=host).methods:
            raise SmpcoreError("method should be one of the listed methods.")
        return replace(choice, method=value, values={})
    if name == "open_test":
        opened = dict(choice.opened)
        if value and not choice.open_test:
            digest = resolve(choice, host=host).table.digest
            opened[digest] = opened.get(digest, 0) + 1
        return replace(choice, open_test=bool(value), opened=opened)
    if name == WITHIN and choice.follow_up is not None:
        return replace(choice, follow_up=_within(choice, value, host))
    group, _, inner = name.partition(".")
    if group == "d" and choice.data in BUNDLED:
        param = _named(BUNDLED[choice.data].params, inner)
        values = {**choice.data_values, inner: param.clean(value)}
        return replace(choice, data_values=values)
    if group == "v" and (param := view_param(inner)):
        view = with_view(choice.view, {inner: param.clean(value)})
        return replace(choice, view=view)
    param = _named(resolve(choice, host=host).params, name)
    if param.scale == "class":
        return choice.with_outcome(param.clean(value))
    return replace(choice, values={**choice.values, name: param.clean(value)})


def _within(choice: Choice, value: Any, host: Host) -> FollowUp:
    """The question of time to event, with the horizon that a slider says."""
    asks = choice.follow_up
    table = resolve(choice, host=host).table
    *_, step = horizons(table, asks)
    number = _horizon_param(asks, table).clean(value)
    return replace(asks, horizon=round(round(number / step) * step, 9))


def _horizon_param(asks: FollowUp, table: Dataset) -> Param:
    """The slider of the time within which the event is asked for."""
    low, high, *_ = horizons(table, asks)
    low, high = min(low, asks.horizon), max(high, asks.horizon)
    unit = shorten_name(asks.unit or asks.time, 20)
    label = f"{shorten_name(asks.event, 20)} within ({unit})"
    return Param(WITHIN, label, "linear", low, high, help=_WITHIN_HELP)


def _named(params: tuple[Param, ...], name: str) -> Param:
    by_name = {param.name: param for param in params}
    if name not in by_name:
        raise SmpcoreError(f"{name[:40]} is no control of this page; reload the page.")
    return by_name[name]


def live_controls(
    context: Context,
    bounds: SliderRanges,
    support: np.ndarray,
    automatic: Mapping[str, float],
    data_options: DataOptions,
) -> list[dict[str, Any]]:
    """The controls as the live figure wants them."""
    values = context.values
    parts = _method_rows, _view_rows, _test_rows
    data, of_method, (view, slices), test = context.cached(
        "rows",
        lambda: [_data_rows(context, data_options), *(part(context) for part in parts)],
    )
    rows = [*data]
    for param, row in zip(context.params, of_method, strict=True):
        low, high = bounds.get(param.name, (param.low, param.high))
        value = values[param.name]
        if param.scale == "class":
            last = row["options"][-1]["value"] if row["options"] else ""
            value = last if value is None else str(value)
        elif param.scale == "lists":
            chosen = context.choice.values.get(param.name)
            value = "" if value is None else setting_text(chosen)
        elif value is None and param.scale not in ("choice", "flag"):
            value = automatic.get(param.name, low)
        shown = row["shown"] and (param.shown_if is None or param.shown_if(values))
        now = {"low": float(low), "high": float(high), "value": value, "shown": shown}
        rows.append(row | now)
    shown = [slices[i] for i in np.flatnonzero(support) if i in slices]
    return rows + view + shown[:MAX_SLICES] + test


def _data_rows(context: Context, data_options: DataOptions) -> list[dict[str, Any]]:
    """Which data, how they are made, and which method."""
    choice, task = context.choice, context.data.dataset.task
    rows = [_picker("data", "Data", "data", choice.data, data_options(choice))]
    if choice.data in BUNDLED:
        for param in BUNDLED[choice.data].params:
            value = choice.data_values.get(param.name, param.start)
            rows.append(_control(param, f"d.{param.name}", "data", value))
    if choice.follow_up is not None:
        param = _horizon_param(choice.follow_up, context.table)
        rows.append(_control(param, WITHIN, "data", choice.follow_up.horizon))
    able, refused = context.methods, refusals(context.dataset)
    titles = [(key, method.title) for key, method in able.items()]
    rows.append(_picker("method", "Method", "method", choice.method, titles))
    others = {k: m.title for k, m in METHODS.items() if k not in able}
    if why := [f"{t}: {refused[k]}." for k, t in others.items() if k in refused]:
        rows[-1]["remark"] = f"Not available for these data. {' '.join(why)}"
    elif others:
        rows[-1]["remark"] = (
            f"This data set needs a method that predicts {ANSWERS[task]}. Not "
            f"available: {', '.join(others.values())}."
        )
    return rows


def _method_rows(context: Context) -> list[dict[str, Any]]:
    """A row for each parameter of the method, still without range and value."""
    labels = []
    if context.data.dataset.classes is not None:
        labels = list(map(str, np.unique(context.data.of("train")[1])))
    rows = []
    for param in context.params:
        name, (fewest, most) = param.name, param.n_classes
        if param.scale == "class":
            options = tuple((label, label) for label in labels)
            param = replace(param, scale="choice", options=options)
        unpicked = param.scale == "lists" and context.values[name] is None
        if param.scale == "lists":
            text = setting_text(context.choice.values.get(name))
            options = (("", "chosen by the fit"), (text, "picked on Prototypes"))
            param = replace(param, scale="choice", options=options)
        row = _control(param, name, "method", None)
        row["scrub"] = name == context.method.path
        row["shown"] = (fewest <= len(labels) <= most or not labels) and not unpicked
        rows.append(row)
    return rows


def _view_rows(
    context: Context,
) -> tuple[list[dict[str, Any]], dict[int, dict[str, Any]]]:
    """What is shown in the window, and a slider for each feature that stands still."""
    data = context.data
    names = data.preparation.feature_names
    kinds = context.view_kinds
    if len(kinds) == 1:
        return [], {}
    shown = context.view
    rows = [_picker("v.kind", "Picture of", "view", shown["kind"], [*kinds.items()])]
    if shown["kind"] in ("pca", "map") or (shown["kind"] == "axes" and len(names) <= 2):
        return rows, {}
    options = [(i, shorten_name(name, 60)) for i, name in enumerate(names)]
    rows.append(_picker("v.first", "x axis", "view", shown["first"], options))
    if shown["kind"] == "axes":
        rows.append(_picker("v.second", "y axis", "view", shown["second"], options))
    X = data.of("train")[0]
    low, high, middle = X.min(axis=0), X.max(axis=0), np.median(X, axis=0)
    at, slices = dict(shown["at"]), {}
    for i, name in enumerate(names):
        if i not in (shown["first"], shown["second"]):
            label, value = shorten_name(name, 40), at.get(i, float(middle[i]))
            param = Param(f"at{i}", label, "linear", low[i], high[i])
            slices[i] = _control(param, f"v.at{i}", "view", value)
    return rows, slices


def _test_rows(context: Context) -> list[dict[str, Any]]:
    """The switch that opens the test part, where it is closed at first."""
    data = context.data
    if data.dataset.open_test or not len(data.split.test):
        return []
    flag = Param("open_test", "Open the test set", "flag", help=_OPEN_HELP)
    return [_control(flag, "open_test", "data", context.choice.open_test)]


_OPEN_HELP = (
    "Choose with the validation rows; open the test rows once, at the end. How often "
    "they were opened is recorded with the model."
)


def _picker(
    name: str, label: str, group: str, value: Any, options: list[tuple[Any, str]]
) -> dict[str, Any]:
    param = Param(name, label, "choice", 0, 0, options=tuple(options))
    return _control(param, name, group, value)


def _control(param: Param, name: str, group: str, value: Any) -> dict[str, Any]:
    copied = ("label", "scale", "zero", "help", "advanced")
    return {field: getattr(param, field) for field in copied} | {
        "name": name,
        "group": group,
        "low": float(param.low),
        "high": float(param.high),
        "value": value,
        "options": [{"value": v, "label": text} for v, text in param.options],
        "scrub": False,
        "shown": True,
        "marks": [],
    }
