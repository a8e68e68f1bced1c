"""A choice, and the values of the pages' controls, as the parameters of a URL."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any

import msgspec

from pages.state.choice import BUNDLED, MINE, VIEW_KINDS, Choice
from pages.state.context import resolve, validated
from pages.work import sources
from smpcore import METHODS, SmpcoreError
from smpcore.datasets import FollowUp, forbiddable, list_names
from smpcore.parameters import Param

SHARES = tuple(Param(n, n, "linear", 0.0, 0.6) for n in ("validation", "test"))
LARGEST_SHARES = 0.9
#: Before the key of a control in a link.
PREFIX = "p."
#: Controls, and characters of what one says, that a link may have.
MOST, LONGEST = 40, 400
SEED = Param("seed", "seed", "int", 0, 9999)
VIEW = {
    "kind": Param("kind", "kind", "choice", options=[(k, k) for k in VIEW_KINDS]),
    **{n: Param(n, n, "int", 0, 99_999) for n in ("first", "second")},
}
OPERATING = (
    Param("threshold", "threshold", "linear", -1e9, 1e9),
    Param("band", "band", "linear", 0.0, 1e9),
)


def read_controls(query: Mapping[str, str]) -> dict[str, str]:
    """Values of the pages' controls in a link: key -> text."""
    texts = {
        name.removeprefix(PREFIX): text[:LONGEST]
        for name, text in query.items()
        if name.startswith(PREFIX) and len(name) <= LONGEST
    }
    return dict(list(texts.items())[:MOST])


def write_controls(texts: Mapping[str, str]) -> dict[str, str]:
    """Values of the pages' controls, for a link."""
    return {PREFIX + key: text for key, text in texts.items()}


def write_url(choice: Choice) -> dict[str, str]:
    """The choice as URL parameters; defaults are left out."""
    start, context = Choice(), resolve(choice)
    defaults = context.method.defaults(context.task)
    times = context.times_opened
    query = {
        "data": choice.data,
        "mine": choice.token if choice.data == MINE else "",
        "two": choice.two_classes and "1",
        "within": choice.follow_up and _as_json(astuple(choice.follow_up)),
        "without": choice.forbidden and _as_json(choice.forbidden),
        "method": choice.method if choice.method != start.method else "",
        **{
            name: as_text(getattr(choice, name))
            for name in ("validation", "test", "seed")
            if getattr(choice, name) != getattr(start, name)
        },
        **{f"d.{name}": as_text(value) for name, value in choice.data_values.items()},
        "opened": times and str(times),
        "open": times and choice.open_test and "1",
        **{
            name: as_text(value)
            for name, value in choice.values.items()
            if value != defaults.get(name)
        },
        "threshold": context.operating and as_text(choice.threshold),
        "band": context.operating and as_text(choice.band),
        **{f"v.{n}": str(v) for n, v in choice.view.items() if n != "at"},
        **{f"v.at{i}": as_text(v) for i, v in choice.view.get("at", {}).items()},
    }
    return {name: text for name, text in query.items() if text}


def _as_json(names: Sequence[Any]) -> str:
    return json.dumps(names, ensure_ascii=False)


def read_url(query: Mapping[str, str]) -> tuple[Choice, list[str]]:
    """Read URL parameters from anywhere, but those of `read_controls`."""
    notices: list[str] = []
    left = {n: text for n, text in query.items() if not n.startswith(PREFIX)}
    choice = Choice(view=_read_view(left, notices))
    choice = _read_data(choice, left, notices)
    choice = replace(choice, two_classes=left.pop("two", "") == "1")
    choice = _read_question(choice, left.pop("within", ""), notices)
    method, is_named = left.pop("method", choice.method), "method" in query
    if method not in METHODS:
        notices.append(f"The link names an unknown method, not {', '.join(METHODS)}.")
        method = choice.method
    choice, changes = validated(replace(choice, method=method))
    notices += [changes] if changes and is_named else []
    data_params = BUNDLED[choice.data].params if choice.data in BUNDLED else ()
    choice = replace(
        choice,
        values=_read(resolve(choice).params, left, "", notices),
        data_values=_read(data_params, left, "d.", notices),
        **_read((*SHARES, SEED), left, "", notices),
    )
    if choice.validation + choice.test > LARGEST_SHARES:
        notices.append("The link leaves too few rows for training: shares of 0.2 each.")
        choice = replace(choice, validation=Choice.validation, test=Choice.test)
    choice = _read_forbidden(choice, left.pop("without", ""), notices)
    if operating := _read(OPERATING, left, "", notices):
        choice = replace(choice, **operating, set_for=resolve(choice).key)
    opened, is_open = left.pop("opened", ""), left.pop("open", "") == "1"
    if opened.isdecimal() and len(opened) < 4 and int(opened):
        times = {resolve(choice).table.digest: int(opened)}
        choice = replace(choice, opened=times, open_test=is_open)
    notices += removed_settings(query)
    if unknown := sorted(left.keys() - _removed(query).keys()):
        names = list_names(unknown, longest=40)
        notices.append(f"Unknown settings in the link were ignored: {names}.")
    return choice, notices


def removed_settings(query: Mapping[str, str]) -> list[str]:
    """What holds now for settings of a link that are no longer there, in sentences."""
    return [text for name, text in _removed(query).items() if name in query]


def _removed(query: Mapping[str, str]) -> Mapping[str, str]:
    method = METHODS.get(query.get("method", Choice.method))
    return method.removed if method else {}


def read_all(query: Mapping[str, str], name: str) -> Choice:
    """The choice of saved URL parameters; all that are still there must be clear."""
    query = {key: text for key, text in query.items() if key not in _removed(query)}
    choice, notices = read_url(query)
    if notices:
        raise SmpcoreError(f"The {name} was not understood: {notices[0]}")
    nearest = write_url(choice)
    for key, text in query.items():
        if key in nearest and not _same(text, nearest[key]):
            raise SmpcoreError(
                f"The {name} sets {key[:40]} to {text[:40]}, which it cannot be: "
                f"{nearest[key][:40]} is nearest. Nothing was changed."
            )
    return choice


def _same(one: str, other: str) -> bool:
    try:
        return one == other or float(one) == float(other)
    except ValueError:
        return False


def _read_data(choice: Choice, left: dict[str, str], notices: list[str]) -> Choice:
    """The choice with the data that the link names, if they are here."""
    data, token = left.pop("data", choice.data), left.pop("mine", "")[:64]
    if data in BUNDLED:
        return replace(choice, data=data)
    wanted = replace(choice, data=data, token=token if data == MINE else "")
    if data != MINE and not sources.is_source(data):
        notices.append("The link names an unknown data set; moons is shown.")
        return choice
    try:
        _ = resolve(wanted)
    except SmpcoreError as error:
        notices.append(str(error))
        return choice
    return wanted


def _read_question(choice: Choice, text: str, notices: list[str]) -> Choice:
    """The choice with the question of time to event that the link asks."""
    words = (
        'ask about time to event as in ["months", "death", "1", 24]; the table\'s own '
        "target is predicted"
    )
    asked = _from_json(text, tuple[str, str, str, float], words, notices)
    if asked is None:
        return choice
    return _if_possible(choice, replace(choice, follow_up=FollowUp(*asked)), notices)


def _read_forbidden(choice: Choice, text: str, notices: list[str]) -> Choice:
    """The choice with the features forbidden that the link names."""
    words = 'name what is forbidden as in ["age", "height"]; nothing is forbidden'
    names = _from_json(text, list[str], words, notices)
    if names is None:
        return choice
    known = forbiddable(resolve(choice).whole)
    if unknown := [name for name in names if name not in known]:
        notices.append(
            "The link forbids features that these data do not have, which were left "
            f"out: {list_names(unknown, longest=40)}."
        )
    forbidden = tuple(name for name in known if name in names)
    return _if_possible(choice, replace(choice, forbidden=forbidden), notices)


def _from_json(text: str, kind: type, words: str, notices: list[str]) -> Any:
    """What a part of a link holds; None if there is none, or it is damaged."""
    try:
        return msgspec.json.decode(text, type=kind) if text else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        notices.append(f"The link should {words}.")
        return None


def _if_possible(choice: Choice, wanted: Choice, notices: list[str]) -> Choice:
    """The wanted choice, or the other one where its data cannot be so."""
    try:
        _ = resolve(wanted).dataset
    except SmpcoreError as error:
        notices.append(f"The link was not understood in one place: {error}")
        return choice
    return wanted


def _read(
    params: Sequence[Param], left: dict[str, str], prefix: str, notices: list[str]
) -> dict[str, Any]:
    """Take values of parameters out of a link."""
    values = {}
    for param in params:
        if (text := left.pop(prefix + param.name, None)) is None:
            continue
        try:
            values[param.name] = param.clean(text)
        except SmpcoreError as error:
            notices.append(f"The link was not understood in one place: {error}")
    return values


def view_param(name: str) -> Param | None:
    """What a link, or the figure, may say of the view behind ``v.``; else None."""
    if re.fullmatch(r"at\d{1,5}", name, re.ASCII):
        return Param(name, name, "linear", -1e15, 1e15)
    return VIEW.get(name)


def with_view(view: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A view with other values of `view_param`."""
    at = {int(n[2:]): value for n, value in values.items() if n not in VIEW}
    view = {**view, **{n: value for n, value in values.items() if n in VIEW}}
    return view | {"at": view.get("at", {}) | at} if at else view


def _read_view(left: dict[str, str], notices: list[str]) -> dict[str, Any]:
    params = [view_param(name[2:]) for name in left if name.startswith("v.")]
    return with_view({}, _read([*filter(None, params)], left, "v.", notices))


def as_text(value: Any) -> str:
    """A value as links have it, with every digit: a link gives the very same model."""
    if isinstance(value, tuple):
        return _as_json(value)
    return repr(float(value)) if isinstance(value, float) else str(value)
