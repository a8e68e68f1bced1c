"""Settings from anywhere, made a choice that data, task and method allow as a whole.

Links, lessons and state files give a *wish*: a choice whose numbers may still be texts,
whose names need not be there, and whose method may be "", any that learns the data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from smpcore.datasets import forbiddable, likely_outcome, list_names
from smpcore.errors import SmpcoreError
from smpcore.live.choice import BUNDLED, NO_QUESTION, VIEW_KINDS, Choice
from smpcore.live.context import ANSWERS, Context, resolve
from smpcore.live.host import Drawing, Host
from smpcore.methods import METHODS
from smpcore.parameters import Param

LARGEST_SHARES = 0.9
SEED = Param("seed", "seed", "int", 0, 9999)
#: What decides the parts of a table.
SPLIT_PARAMS = (
    *(Param(n, n, "linear", 0.0, 0.6) for n in ("validation", "test")),
    SEED,
)
OPERATING = (
    Param("threshold", "threshold", "linear", -1e9, 1e9),
    Param("band", "band", "linear", 0.0, 1e9),
)
_VIEW = {
    "kind": Param("kind", "kind", "choice", options=[(k, k) for k in VIEW_KINDS]),
    **{n: Param(n, n, "int", 0, 99_999) for n in ("first", "second")},
}


def setting_text(value: Any) -> str:
    """A value as links have it, with every digit: a link gives the very same model."""
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False)
    return repr(float(value)) if isinstance(value, float) else str(value)


def view_param(name: str) -> Param | None:
    """What a link, or the figure, may say of the view behind ``v.``; else None."""
    if re.fullmatch(r"at\d{1,5}", name, re.ASCII):
        return Param(name, name, "linear", -1e15, 1e15)
    return _VIEW.get(name)


def with_view(view: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A view with other values of `view_param`."""
    at = {int(n[2:]): value for n, value in values.items() if n not in _VIEW}
    view = {**view, **{n: value for n, value in values.items() if n in _VIEW}}
    return view | {"at": view.get("at", {}) | at} if at else view


def flat_view(view: Mapping[str, Any]) -> dict[str, Any]:
    """The values that `with_view` makes a view of."""
    at = {f"at{i}": value for i, value in view.get("at", {}).items()}
    return {name: value for name, value in view.items() if name != "at"} | at


def with_data_here(wish: Choice, *, host: Host) -> tuple[Choice, list[str]]:
    """The wish, for the first data where its own are not here; and sentences on that.

    A table may have expired, or another tab of the same browser may have deleted it.
    """
    try:
        _ = wish.data in BUNDLED or resolve(wish, host=host)
    except SmpcoreError as error:
        left_out = [str(error)]
    else:
        return wish, []
    if lost := _of_the_data(wish):
        left_out.append(f"Left out with these data: {_listed(lost)}.")
    others = tuple(token for token in wish.others if token != wish.token)
    gone = {"data": Choice.data, "data_values": {}, "token": "", "others": others}
    gone |= {"forbidden": (), "view": {}, "threshold": 0.0, "band": 0.0, **NO_QUESTION}
    gone |= {"values": {}}  # a λ of other data says nothing
    return replace(wish, **gone), left_out


def _of_the_data(choice: Choice) -> list[str]:
    """Names of what was set for the data of a choice, as links have them."""
    names = {f"d.{name}": True for name in choice.data_values}
    names |= {f"v.{name}": True for name in flat_view(choice.view)}
    names |= {"two": choice.two_classes, "within": choice.follow_up}
    names |= {"without": choice.forbidden, "open": choice.open_test}
    names |= {"outcome": choice.outcome}
    names |= {param.name: getattr(choice, param.name) for param in OPERATING}
    names |= dict.fromkeys(choice.values, True)
    return [name for name, value in names.items() if value]


def validated(
    wish: Choice, drawing: Drawing = None, *, host: Host
) -> tuple[Choice, list[str]]:
    """The nearest choice that is valid as a whole; what was left out, in sentences.

    Its table is the ``drawing`` where there is one, which need not be kept; the data of
    another wish are here.
    """
    left_out: list[str] = []
    params = BUNDLED[wish.data].params if wish.data in BUNDLED else ()
    values = _cleaned(params, wish.data_values, left_out, "d.")
    context = resolve(replace(wish, data_values=values), drawing, host=host)
    data = _parts, _question, _forbidden, _outcome
    for part in (*data, _method, _values, _view, _operating):
        choice = replace(context.choice, **part(context, left_out))
        context = replace(context, choice=choice)
    return context.choice, left_out


def _parts(context: Context, left_out: list[str]) -> dict[str, Any]:
    wanted = {param.name: getattr(context.choice, param.name) for param in SPLIT_PARAMS}
    start = {name: getattr(Choice, name) for name in wanted}
    parts = start | _cleaned(SPLIT_PARAMS, wanted, left_out)
    if parts["validation"] + parts["test"] > LARGEST_SHARES:
        words = "The shares leave too few rows for training; they are 0.2 each instead."
        left_out.append(words)
        return start | {"seed": parts["seed"]}
    return parts


def _question(context: Context, left_out: list[str]) -> dict[str, Any]:
    choice = context.choice
    try:
        _ = context.whole
    except SmpcoreError as problem:
        if choice.follow_up is None:
            raise
        words = "The question of time to event no longer fits the table"
        left_out.append(f"{words}: {problem}")
        return {"follow_up": None}
    is_cut = choice.follow_up is None and context.table.task == "regression"
    if choice.two_classes and not is_cut:
        left_out.append("There is no number to predict that makes two classes.")
        return {"two_classes": False}
    return {}


def _forbidden(context: Context, left_out: list[str]) -> dict[str, Any]:
    forbidden = context.choice.forbidden
    if not forbidden:
        return {}
    known = forbiddable(context.whole)
    if lost := [name for name in forbidden if name not in known]:
        names = list_names(lost, longest=40)
        left_out.append(f"No longer forbidden, as these data do not have it: {names}.")
    allowed = tuple(name for name in known if name in forbidden)
    try:
        _ = replace(context, choice=replace(context.choice, forbidden=allowed)).dataset
    except SmpcoreError as error:
        left_out.append(f"Nothing is forbidden: {error}")
        allowed = ()
    return {"forbidden": allowed}


def _outcome(context: Context, left_out: list[str]) -> dict[str, Any]:
    """A class of two; where none was chosen the one that the table proposes."""
    wanted = context.choice.outcome
    if wanted == "":
        return {}
    with suppress(SmpcoreError):  # what cannot be divided: pages say why
        proposed = likely_outcome(context.dataset, context.data.split.train)
        if proposed is None:
            if wanted:
                words = "the data have no two classes"
                left_out.append(f"There is no outcome {wanted!s:.40}: {words}.")
            return {"outcome": ""}
        if wanted in context.labels:
            return {}
        if wanted:
            words = f"There is no class {wanted!s:.40}"
            left_out.append(f"{words}; the outcome is {proposed.label}.")
        return {"outcome": proposed.label}
    return {"outcome": ""}


def _method(context: Context, left_out: list[str]) -> dict[str, Any]:
    """A method that can learn the data; another one has none of the values."""
    choice, able = context.choice, context.methods
    if choice.method in able:
        return {}
    other = next(iter(able.values()))
    if not choice.method:
        return {"method": other.key}
    if choice.method not in METHODS:
        names = ", ".join(METHODS)
        words = f"The link names an unknown method, not {names}; {other.title} is used."
    else:
        method = context.method
        why = f"does not predict {ANSWERS[context.task]}, as this data set requires"
        if reason := method.refusal(context.dataset):
            why = f"cannot learn these data: {reason}"
        words = f"{method.title} {why}; {other.title} is used instead."
    left_out.append(words)
    if choice.values:
        left_out.append(f"Its settings were left out: {_listed(choice.values)}.")
    return {"method": other.key, "values": {}}


def _values(context: Context, left_out: list[str]) -> dict[str, Any]:
    method, values = context.method, dict(context.choice.values)
    for name in [name for name in method.removed if name in values]:
        del values[name]
        left_out.append(method.removed[name])
    controls = {param.name: param for param in context.params}
    other_task = {
        param.name: param.label
        for param in method.params
        if param.name in values and param not in context.params
        if _takes(param, values[param.name])
        if not _takes(controls.get(param.name), values[param.name])
    }
    if other_task:
        labels, wanted = ", ".join(other_task.values()), ANSWERS[context.task]
        left_out.append(f"Settings not used when predicting {wanted}: {labels}.")
    values = {name: v for name, v in values.items() if name not in other_task}
    clean = _cleaned(context.params, values, left_out)
    used = replace(context, choice=replace(context.choice, values=dict(clean)))
    with suppress(SmpcoreError):  # where nothing can be learned, pages say why
        for name in [n for n, v in clean.items() if not _is_used(v, used.values[n])]:
            words = f"{method.param(name).label} cannot be {clean.pop(name)!s:.40}"
            left_out.append(f"{words} for these data.")
    return {"values": clean}


def _takes(param: Param | None, value: Any) -> bool:
    """Whether a control can have a value; a number it can clip is one."""
    try:
        _ = param and param.clean(value)
    except SmpcoreError:
        return False
    return param is not None


def _is_used(chosen: Any, value: Any) -> bool:
    """Whether the data leave a value as it was chosen: names become what they name."""
    if isinstance(chosen, tuple):
        return value is not None
    return chosen is None or str(value) == str(chosen)


def _view(context: Context, left_out: list[str]) -> dict[str, Any]:
    flat = flat_view(context.choice.view)
    if not flat:
        return {}
    params = filter(None, map(view_param, flat))
    view = _cleaned([*params], flat, left_out, "v.")
    with suppress(SmpcoreError):
        if lost := [n for n, value in view.items() if not _is_there(n, value, context)]:
            named = _listed(f"v.{name}={view.pop(name)}" for name in lost)
            left_out.append(f"There is no such picture of these data: {named}.")
    return {"view": with_view({}, view)}


def _is_there(name: str, value: Any, context: Context) -> bool:
    """Whether there is a picture of these data with a value of a view."""
    n_features = context.data.X.shape[1]
    if name == "kind":
        return value in context.view_kinds
    return (int(name[2:]) if name.startswith("at") else value) < n_features


def _operating(context: Context, left_out: list[str]) -> dict[str, Any]:
    """Threshold and band, of the model that is chosen if none is named."""
    choice = context.choice
    wanted = {param.name: getattr(choice, param.name) for param in OPERATING}
    values = {"threshold": 0.0, "band": 0.0} | _cleaned(OPERATING, wanted, left_out)
    if choice.set_for or not any(values.values()):
        return values
    if context.dataset.classes is None or len(context.dataset.classes) != 2:
        names = _listed(name for name, value in values.items() if value)
        left_out.append(f"Only a model of two classes has a {names}; it is left out.")
        return {"threshold": 0.0, "band": 0.0}
    if values["threshold"] and not context.method.has_threshold:
        left_out.append(f"{context.method.title} has no threshold; it stays at 0.")
        values["threshold"] = 0.0
    with suppress(SmpcoreError):  # as above
        return values | {"set_for": context.key}
    return {"threshold": 0.0, "band": 0.0}


def _cleaned(
    params: Iterable[Param],
    values: Mapping[str, Any],
    left_out: list[str],
    prefix: str = "",
) -> dict[str, Any]:
    """The values that controls can have, and sentences about all others."""
    clean, names = {}, set()
    for param in params:
        names.add(param.name)
        if param.name not in values:
            continue
        value = values[param.name]
        try:
            clean[param.name] = nearest = value if value is None else param.clean(value)
        except SmpcoreError as error:
            left_out.append(f"A setting was left out: {error}")
            continue
        is_number = param.scale in ("linear", "log", "int") and value is not None
        if is_number and float(value) != nearest:
            words = f"{prefix}{param.name} cannot be {value!s:.40}"
            left_out.append(f"{words}; {nearest} is nearest.")
    if unknown := [f"{prefix}{name}" for name in values if name not in names]:
        left_out.append(f"Unknown settings were ignored: {_listed(unknown)}.")
    return clean


def _listed(names: Iterable[str]) -> str:
    return list_names([*names], longest=40)
