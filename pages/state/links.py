"""A choice, and the values of the pages' controls, as the parameters of a URL."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, replace
from typing import Any

import msgspec

from pages.state.host import resolve, validated, with_data_here
from smpcore import METHODS, SmpcoreError
from smpcore.datasets import FollowUp
from smpcore.live import (
    MINE,
    OPERATING,
    SPLIT_PARAMS,
    Choice,
    Drawing,
    flat_view,
    setting_text,
    view_param,
    with_view,
)

#: Before the key of a control in a link.
PREFIX = "p."
#: Controls, and characters of what one says, that a link may have.
MOST, LONGEST = 40, 400


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
        "outcome": choice.outcome,
        "within": choice.follow_up and setting_text(astuple(choice.follow_up)),
        "without": choice.forbidden and setting_text(choice.forbidden),
        "method": choice.method if choice.method != start.method else "",
        **{
            name: setting_text(getattr(choice, name))
            for name in ("validation", "test", "seed")
            if getattr(choice, name) != getattr(start, name)
        },
        **{
            f"d.{name}": setting_text(value)
            for name, value in choice.data_values.items()
        },
        "opened": times and str(times),
        "open": times and choice.open_test and "1",
        **{
            name: setting_text(value)
            for name, value in choice.values.items()
            if value != defaults.get(name)
        },
        "threshold": context.operating and setting_text(choice.threshold),
        "band": context.operating and setting_text(choice.band),
        **{f"v.{name}": setting_text(v) for name, v in flat_view(choice.view).items()},
    }
    return {name: text for name, text in query.items() if text}


def read_url(
    query: Mapping[str, str], drawing: Drawing = None, **tables: Any
) -> tuple[Choice, list[str]]:
    """Read URL parameters from anywhere, but those of `read_controls`.

    Of a visitor's own drawing they are no link: `tables` name it.
    """
    notices: list[str] = []
    wish, opened = _wish(query, notices)
    wish = replace(wish, **tables)
    here, gone = (wish, []) if drawing else with_data_here(wish)
    with suppress(SmpcoreError):  # of data that cannot be learned from
        here = _with_detected(here, drawing, read_controls(query))
    choice, left_out = validated(here, drawing)
    if opened and not gone:
        context = resolve(choice, drawing)
        choice = replace(choice, opened={context.table.digest: opened})
    return choice, [*notices, *gone, *left_out]


def _with_detected(
    choice: Choice, drawing: Drawing, controls: Mapping[str, str]
) -> Choice:
    """The choice of a link of before the outcome, which has the class to detect.

    It said nothing to methods: their own class with prototypes stays.
    """
    numbers = {n: v for n, v in controls.items() if n.startswith("positive ")}
    if choice.outcome or not numbers:
        return choice
    context = resolve(choice, drawing)
    number = numbers.get(f"positive {context.dataset.digest}", "")
    if number not in ("0", "1") or len(context.labels) != 2:
        return choice
    classes = (param.name for param in context.params if param.scale == "class")
    values = dict.fromkeys(classes, context.labels[1]) | choice.values
    return replace(choice, outcome=context.labels[int(number)], values=values)


def _wish(query: Mapping[str, str], notices: list[str]) -> tuple[Choice, int]:
    """What a link asks for, and how often it says that test rows were opened."""
    left = {n: text for n, text in query.items() if not n.startswith(PREFIX)}
    data = left.pop("data", Choice.data)
    opened = left.get("opened", "")
    times = int(opened) if opened.isdecimal() and len(opened) < 4 else 0
    flags = ("two", "open") if times else ("two",)
    is_set = {name: left.get(name) == "1" and bool(left.pop(name)) for name in flags}
    view = {n[2:]: left.pop(n) for n in [*left] if n[:2] == "v." and view_param(n[2:])}
    numbers = [p.name for p in (*SPLIT_PARAMS, *OPERATING) if p.name in left]
    question = _from_json(left, "within", tuple[str, str, str, float], _ASK, notices)
    forbidden = _from_json(left, "without", tuple[str, ...], _FORBID, notices)
    wish = Choice(
        data=data,
        token=left.pop("mine", "")[:64] if data == MINE else "",
        two_classes=is_set["two"],
        outcome=left.pop("outcome", "")[:LONGEST],
        follow_up=question and FollowUp(*question),
        forbidden=forbidden or (),
        method=left.pop("method", ""),
        data_values={n[2:]: left.pop(n) for n in [*left] if n[:2] == "d."},
        view=with_view({}, view),
        open_test=is_set.get("open", False),
        **{name: left.pop(name) for name in numbers},
    )
    if times:
        del left["opened"]
    return replace(wish, values=left), times


_ASK = (
    'ask about time to event as in ["months", "death", "1", 24]; the table\'s own '
    "target is predicted"
)
_FORBID = 'name what is forbidden as in ["age", "height"]; nothing is forbidden'


def _from_json(
    left: dict[str, str], name: str, kind: type, words: str, notices: list[str]
) -> Any:
    """What a part of a link holds; None if there is none, or it is damaged."""
    text = left.pop(name, "")
    try:
        return msgspec.json.decode(text, type=kind) if text else None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        notices.append(f"The link should {words}.")
        return None


def read_all(
    query: Mapping[str, str], name: str, drawing: Drawing = None, **tables: Any
) -> tuple[Choice, list[str]]:
    """The choice of saved URL parameters, all of them, as `read_url`.

    The sentences are about settings that are no longer there.
    """
    choice, notices = read_url(query, drawing, **tables)
    removed = METHODS[choice.method].removed.values()
    if left_out := [words for words in notices if words not in removed]:
        words = f"The {name} was not understood: {left_out[0]} Nothing was changed."
        raise SmpcoreError(words)
    return choice, notices
