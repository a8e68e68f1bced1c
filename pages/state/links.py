"""A choice, and the values of the pages' controls, as the parameters of a URL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple, replace
from typing import Any

import numpy as np

from pages.state import table_store
from pages.state.choice import BUNDLED, MINE, Choice
from pages.state.context import resolve
from pages.state.validation import validated
from pages.work import sources
from smpcore import METHODS, SmpcoreError
from smpcore.datasets import FollowUp, forbiddable, list_names
from smpcore.parameters import Param

SHARE = Param("share", "share", "linear", 0.0, 0.6)
LARGEST_SHARES = 0.9
#: Before the key of a control in a link.
PREFIX = "p."
#: Controls, and characters of what one says, that a link may have.
MOST, LONGEST = 40, 400
SEED = Param("seed", "seed", "int", 0, 9999)
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


def without_controls(query: Mapping[str, str]) -> dict[str, str]:
    """The rest of a link, which says what is chosen."""
    return {n: text for n, text in query.items() if not n.startswith(PREFIX)}


def write_controls(texts: Mapping[str, str]) -> dict[str, str]:
    """Values of the pages' controls, for a link."""
    return {PREFIX + key: text for key, text in texts.items()}


def write_url(choice: Choice) -> dict[str, str]:
    """The choice as URL parameters; defaults are left out."""
    start = Choice()
    context, query = resolve(choice), {"data": choice.data}
    if choice.data == MINE:
        query["mine"] = choice.token
    if choice.two_classes:
        query["two"] = "1"
    if choice.follow_up:
        question = list(astuple(choice.follow_up))
        query["within"] = json.dumps(question, ensure_ascii=False)
    if choice.forbidden:
        query["without"] = json.dumps(choice.forbidden, ensure_ascii=False)
    if choice.method != start.method:
        query["method"] = choice.method
    for name in ("validation", "test", "seed"):
        if getattr(choice, name) != getattr(start, name):
            query[name] = as_text(getattr(choice, name))
    for name, value in choice.data_values.items():
        query[f"d.{name}"] = as_text(value)
    if times := context.times_opened:
        query["opened"] = str(times)
        if choice.open_test:
            query["open"] = "1"
    defaults = context.method.defaults(context.task)
    for name, value in choice.values.items():
        if value != defaults.get(name):
            query[name] = as_text(value)
    if context.operating:
        for name in ("threshold", "band"):
            query[name] = as_text(getattr(choice, name))
    for name in ("kind", "first", "second"):
        if name in choice.view:
            query[f"v.{name}"] = str(choice.view[name])
    for index, value in choice.view.get("at", {}).items():
        query[f"v.at{index}"] = as_text(value)
    return query


def read_url(query: Mapping[str, str]) -> tuple[Choice, list[str]]:
    """Read URL parameters from anywhere."""
    notices: list[str] = []
    choice = Choice(view=_read_view(query, notices))
    choice = _read_data(choice, query, notices)
    choice = replace(choice, two_classes=query.get("two") == "1")
    if "within" in query:
        choice = _within(choice, query["within"], notices)
    method = query.get("method", choice.method)
    if method not in METHODS:
        notices.append(f"The link names an unknown method, not {', '.join(METHODS)}.")
        method = choice.method
    choice, changes = validated(replace(choice, method=method))
    notices += [changes] if changes and "method" in query else []
    data_params = BUNDLED[choice.data].params if choice.data in BUNDLED else ()
    shares = [replace(SHARE, name=name) for name in ("validation", "test")]
    choice = replace(
        choice,
        values=_read(resolve(choice).params, query, "", notices),
        data_values=_read(data_params, query, "d.", notices),
        **_read((*shares, SEED), query, "", notices),
    )
    if choice.validation + choice.test > LARGEST_SHARES:
        notices.append("The link leaves too few rows for training: shares of 0.2 each.")
        choice = replace(choice, validation=Choice.validation, test=Choice.test)
    if "without" in query:
        choice = _without(choice, query["without"], notices)
    if operating := _read(OPERATING, query, "", notices):
        choice = replace(choice, **operating, set_for=resolve(choice).key)
    notices += removed_settings(query)
    if unknown := sorted(set(query) - _names(choice) - set(_removed(query))):
        names = list_names(unknown, longest=40)
        notices.append(f"Unknown settings in the link were ignored: {names}.")
    return _read_opened(choice, query), notices


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


def _read_data(choice: Choice, query: Mapping[str, str], notices: list[str]) -> Choice:
    """The choice with the data that the link names, if they are here."""
    data = query.get("data", choice.data)
    if data == MINE:
        choice = replace(choice, data=MINE, token=query.get("mine", "")[:64])
        try:
            table_store.visit(choice.token)
        except SmpcoreError as error:
            notices.append(str(error))
            choice = replace(choice, data=Choice.data, token="")
    elif data in BUNDLED:
        choice = replace(choice, data=data)
    elif sources.is_source(data):
        try:
            sources.load(data)
            choice = replace(choice, data=data)
        except SmpcoreError as error:
            notices.append(str(error))
    else:
        notices.append("The link names an unknown data set; moons is shown.")
    return choice


def _read_opened(choice: Choice, query: Mapping[str, str]) -> Choice:
    """The choice with how often its test part was opened."""
    opened = query.get("opened", "")
    if opened.isdecimal() and len(opened) < 4 and int(opened):
        choice = replace(
            choice,
            opened={resolve(choice).table.digest: int(opened)},
            open_test=query.get("open") == "1",
        )
    return choice


def _names(choice: Choice) -> set[str]:
    """What a link to this choice may set."""
    names = {"data", "mine", "two", "method", "validation", "test", "seed", "opened"}
    names |= {"open", "without", "within"} | {param.name for param in OPERATING}
    names |= {param.name for param in resolve(choice).params}
    if choice.data in BUNDLED:
        names |= {f"d.{param.name}" for param in BUNDLED[choice.data].params}
    places = {f"v.at{index}" for index in choice.view.get("at", {})}
    return names | {"v.kind", "v.first", "v.second"} | places


def _within(choice: Choice, text: str, notices: list[str]) -> Choice:
    """The choice with the question of time to event that the link asks."""
    try:
        *names, horizon = json.loads(text)
        question = FollowUp(*names, float(horizon))
    except (ValueError, TypeError, RecursionError):
        names = ()
    if not names or not all(isinstance(name, str) for name in names):
        notices.append(
            'The link should ask about time to event as in ["months", "death", "1", '
            "24]; the table's own target is predicted."
        )
        return choice
    wanted = replace(choice, follow_up=question)
    try:
        _ = resolve(wanted).whole
    except SmpcoreError as error:
        notices.append(f"The link was not understood in one place: {error}")
        return choice
    return wanted


def _without(choice: Choice, text: str, notices: list[str]) -> Choice:
    """The choice with the features forbidden that the link names."""
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        notices.append(
            'The link should name what is forbidden as in ["age", "height"]; nothing '
            "is forbidden."
        )
        return choice
    known = forbiddable(resolve(choice).whole)
    if unknown := [name for name in names if name not in known]:
        notices.append(
            "The link forbids features that these data do not have, which were left "
            f"out: {list_names(unknown, longest=40)}."
        )
    wanted = replace(choice, forbidden=tuple(n for n in known if n in set(names)))
    try:
        _ = resolve(wanted).dataset
    except SmpcoreError as error:
        notices.append(f"The link was not understood in one place: {error}")
        return choice
    return wanted


def _read(
    params: tuple[Param, ...], query: Mapping[str, str], prefix: str, notices: list
) -> dict[str, Any]:
    values = {}
    for param in params:
        if (text := query.get(prefix + param.name)) is None:
            continue
        try:
            values[param.name] = param.clean(text)
        except SmpcoreError as error:
            notices.append(f"The link was not understood in one place: {error}")
    return values


def _read_view(query: Mapping[str, str], notices: list) -> dict[str, Any]:
    view: dict[str, Any] = {}
    if query.get("v.kind") in ("pca", "axes", "curve"):
        view["kind"] = query["v.kind"]
    for name in ("first", "second"):
        if (text := query.get(f"v.{name}", "")).isdecimal() and len(text) < 6:
            view[name] = int(text)
    at = {}
    for name, text in query.items():
        if name.startswith("v.at") and name[4:].isdecimal() and len(name) < 10:
            try:
                value = float(text)
            except ValueError:
                value = np.nan
            if np.isfinite(value) and abs(value) < 1e15:
                at[int(name[4:])] = value
            else:
                notices.append(f"{name} in the link should be a number.")
    return {**view, "at": at} if at else view


def as_text(value: Any) -> str:
    """A value as links have it, with every digit: a link gives the very same model."""
    return repr(float(value)) if isinstance(value, float) else str(value)
