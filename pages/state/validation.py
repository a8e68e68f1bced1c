"""The nearest choice that its data allow."""

from __future__ import annotations

from dataclasses import replace

from pages.state.choice import Choice
from pages.state.context import Context, resolve
from smpcore import SmpcoreError
from smpcore.datasets import forbiddable, list_names

#: What the target of a task is, in words.
ANSWERS = {"classification": "a class", "regression": "a number"}


def validated(choice: Choice) -> tuple[Choice, str]:
    """The nearest choice that can learn its data, and what was changed, in words."""
    context = resolve(choice)
    if choice.follow_up and (problem := _problem(context)):
        choice, changes = validated(replace(choice, follow_up=None))
        words = f"The question of time to event no longer fits the table: {problem}"
        return choice, f"{words} {changes}".strip()
    known = forbiddable(context.whole) if choice.forbidden else {}
    allowed_names = tuple(name for name in known if name in choice.forbidden)
    allowed_names = allowed_names if len(allowed_names) < len(known) else ()
    if lost := [name for name in choice.forbidden if name not in allowed_names]:
        choice, changes = validated(replace(choice, forbidden=allowed_names))
        names = list_names(lost, longest=40)
        words = f"No longer forbidden, as the columns have changed: {names}."
        return choice, f"{words} {changes}".strip()
    method, wanted = context.method, ANSWERS[context.task]
    if choice.method not in context.methods:
        other = next(iter(context.methods.values()))
        if reason := method.refusal(context.dataset):
            words = f"{method.title} cannot learn these data: {reason}; "
            words += f"{other.title} is used instead."
            return replace(choice, method=other.key, values={}), words
        words = f"{method.title} does not predict {wanted}, as this data set "
        words += f"requires; {other.title} is used instead."
        return replace(choice, method=other.key, values={}), words
    allowed = method.valid_values(choice.values, context.task)
    if len(allowed) == len(choice.values):
        return choice, ""
    lost = [p for p in method.params if p.name in set(choice.values) - set(allowed)]
    left = ", ".join(dict.fromkeys(param.label for param in lost))
    words = f"Settings not used when predicting {wanted}: {left}."
    return replace(choice, values=allowed), words


def _problem(context: Context) -> str:
    """Why the question cannot be asked of the table; empty if it can."""
    try:
        _ = context.whole
    except SmpcoreError as error:
        return str(error)
    return ""
