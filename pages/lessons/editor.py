"""The editor: what Explore shows becomes a step of a lesson of this browser."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

import msgspec
import pandas as pd
import streamlit as st
from msgspec.structs import replace

from pages.lessons import files
from pages.state import (
    lesson_files,
    lesson_run,
    links,
    session,
    state_file,
    table_store,
)
from pages.state.host import resolve
from pages.state.lesson_files import FORMAT, Lesson, Step
from pages.state.session import LessonDraft, Slot
from pages.ui import workspace
from pages.ui.elements import download, persistent_data_editor, problems_shown
from pages.ui.lesson_bar import as_markdown
from pages.ui.text import message
from smpcore import SmpcoreError
from smpcore.live import MINE, Choice, setting_text
from smpcore.readouts import READOUTS

_KINDS = {
    "": "Text only",
    "number": "Question: predict a number",
    "choices": "Question: choose an answer",
    "point": "Question: mark where a prototype lies",
    "task": "Task: reach values",
}
_MOMENTS = {
    "after": "after the answer",
    "before": "before the answer",
    "change": "change by the answer",
}
_COMPARED = _MOMENTS | {"ratio": "after / before"}
_PLACES = {"after": "of any prototype", "change": "of the one that moved farthest"}
_LIMITS = ["at_least", "at_most"]
_MEASURES = {
    name: f"{row.label} (%)" if row.unit == "%" else row.label
    for name, row in READOUTS.items()
    if row.value
}
#: Columns of a table of conditions, as files call them.
_CONDITION = {
    "text": st.column_config.TextColumn("Answer to choose", max_chars=100),
    "measure": st.column_config.SelectboxColumn(
        "Read-out", options=[*_MEASURES], format_func=_MEASURES.get
    ),
    "of": st.column_config.SelectboxColumn(
        "When", options=[*_COMPARED], format_func=_COMPARED.get
    ),
    "at_least": st.column_config.NumberColumn("At least"),
    "at_most": st.column_config.NumberColumn("At most"),
    "minus": st.column_config.SelectboxColumn(
        "Less", options=[*_MEASURES], format_func=_MEASURES.get
    ),
}
#: What refusals of files call the form's fields, and what the form calls them.
_AS_LABELS = {
    **{"lesson file": "lesson", "steps: ": "step ", "choices: ": "answer "},
    **{"choices": "answers", "when: ": "line ", "reach: ": "line ", "reach": "lines"},
    **{"measure": "Read-out", "at_least": "At least", "at_most": "At most"},
    **{"reveal": "What is said after the answer", "within": "Right within"},
    **{"Object missing required field": "fill in", "array of length": "a count"},
    "Expected str of length >= 1": "it is empty; fill it in",
}
_NEW = Lesson(FORMAT, "My lesson", 10, "What the class should see.", [])
_ANSWERS = Slot[pd.DataFrame]("lesson_answers")
_REACHED = Slot[pd.DataFrame]("lesson_reached")


def show() -> None:
    """Choose a lesson, arrange its steps, and write one."""
    st.markdown("**Make a lesson**")
    lessons = {
        name: lesson_files.read(data) for name, data in files.of_browser().items()
    }
    visit = session.get()
    name = st.selectbox(
        "Lesson to edit",
        ["", *lessons],
        len(lessons),
        format_func=lambda one: one or "A new lesson",
        key=f"lesson_edited_{visit.editions['lesson_edited']}",
        on_change=_edit,
        persist_state="session",
    )
    lesson = lessons.get(name, _NEW)
    about = _about(lesson, name)
    if name and about != lesson:
        with problems_shown(st.error):
            files.keep(name, _written(about))
    for at in range(len(lesson.steps)):
        _step(about, name, at)
    if name:
        row = st.container(horizontal=True)
        with row:
            download(
                "Download the lesson",
                lambda: _written(about),
                name,
                key="lesson_download",
            )
        row.button(
            "Delete the lesson",
            key="lesson_delete",
            on_click=_keep,
            args=(_NEW, name),
        )
    draft = visit.lesson_draft
    if draft.at not in range(len(lesson.steps)):
        draft.at = None
    _write(draft, about, name)


def _about(lesson: Lesson, name: str) -> Lesson:
    """Title, minutes and aim of the lesson as they are typed."""
    (first, second), key = st.columns([3, 1]), f"about_{name}"
    title = first.text_input(
        "Title of the lesson", lesson.title, max_chars=100, **_persistent(key, "title")
    )
    minutes = second.number_input(
        "Minutes", 1, 240, lesson.minutes, **_persistent(key, "minutes")
    )
    aim = st.text_input("Aim", lesson.aim, max_chars=2000, **_persistent(key, "aim"))
    story = st.text_input(
        "One line for the list",
        lesson.story,
        max_chars=100,
        **_persistent(key, "story"),
    )
    return replace(lesson, title=title, minutes=minutes, aim=aim, story=story)


def _persistent(key: str, name: str) -> dict[str, str]:
    """Arguments of a control whose value stays while another page is open."""
    return {"key": f"{key}_{name}", "persist_state": "session"}


def _step(lesson: Lesson, name: str, at: int) -> None:
    """A step, and what can be done to it."""
    steps, step = lesson.steps, lesson.steps[at]
    row = st.container(horizontal=True, vertical_alignment="center")
    row.markdown(as_markdown(f"{at + 1}. {step.title}"))
    left = steps[:at] + steps[at + 1 :]
    moves = {
        "Up": [*left[: at - 1], step, *left[at - 1 :]] if at else None,
        "Down": [*left[: at + 1], step, *left[at + 1 :]] if at < len(left) else None,
        "Delete": left,
    }
    for label, arranged in moves.items():
        row.button(
            label,
            key=f"step_{label.lower()}_{at}",
            help=f"{label}: step {at + 1}",
            on_click=_keep,
            args=(replace(lesson, steps=arranged), name),
            disabled=arranged is None,
        )
    row.button("Edit", key=f"step_edit_{at}", on_click=_edit, args=(at,))
    help = "The step as a student sees it; then you come back to the editor."
    if row.button("Try it", key=f"step_try_{at}", help=help):
        lesson_run.start(lesson, is_trial=True)
        lesson_run.go(at)
        st.switch_page("pages/explore.py")


def _edit(at: int | None = None) -> None:
    """Begin to write a step, with what is in it already."""
    session.get().lesson_draft = LessonDraft(at)
    session.get().editions["lesson_step"] += 1


def _write(draft: LessonDraft, lesson: Lesson, name: str) -> None:
    """The fields of a step, and the button that keeps it."""
    steps, visit = lesson.steps, session.get()
    choice, at = visit.choice, len(steps) if draft.at is None else draft.at
    before = None if draft.at is None else steps[draft.at]
    old = msgspec.to_builtins(before) or {}
    st.markdown(f"**Step {at + 1}**" if old else "**A new step**")
    st.caption(
        "It begins with what Explore shows now. If an answer is to change the "
        "settings, choose Begin first, change them on Explore, and come back."
    )
    key = f"step_{visit.editions['lesson_step']}"
    is_kept = bool(old) and st.toggle(
        "Keep the settings that this step has", True, **_persistent(key, "kept")
    )
    if not is_kept:
        _beginning(draft, choice)
    entry = _fields(old, key, _controls(before if is_kept else None, choice))
    row = st.container(horizontal=True)
    row.button(
        "Save the step",
        key="lesson_save",
        type="primary",
        on_click=setattr,
        args=(draft, "is_ready", True),
    )
    if old:
        row.button("Cancel", key="lesson_cancel", on_click=_edit)
    if not draft.is_ready:
        return
    draft.is_ready = False
    with problems_shown(st.error):
        if not is_kept:
            _add_state(entry, draft.begin or choice, choice)
        else:
            unseen = ("state", "points", "claims")  # the form has no fields for them
            entry |= {name: old[name] for name in unseen if name in old}
            then = old.get("question", {}).get("then")
            if then and "question" in entry:
                entry["question"]["then"] = then
        _keep(replace(lesson, steps=[*steps[:at], entry, *steps[at + 1 :]]), name)
        st.rerun()


def _keep(lesson: Lesson, name: str) -> None:
    """Keep the lesson, a new one by a name of its own; without steps forget it."""
    data = _written(lesson) if lesson.steps else b""
    if not name:
        names = (f"my-lesson-{i}.json" for i in itertools.count(1))
        name = next(one for one in names if one not in files.of_browser())
        session.get().editions["lesson_edited"] += 1
    files.keep(name, data)
    _edit()


def _beginning(draft: LessonDraft, choice: Choice) -> None:
    """Begin a step, and what it begins with."""
    st.button(
        "Begin a step with this state",
        key="lesson_begin",
        on_click=setattr,
        args=(draft, "begin", choice),
        help="What you change on Explore from now on is what the answer shows.",
    )
    if draft.begin is not None:
        shown = ", ".join(map("=".join, links.write_url(draft.begin).items()))
        message(st.caption, f"The step begins with: {shown}.")


def _controls(step: Step | None, choice: Choice) -> dict[str, str]:
    """Labels of the controls of the method that the step has, by name."""
    shown, drawing = choice, None
    if step:
        (shown, _), drawing = (
            lesson_files.state_of(step, "step"),
            lesson_files.points_of(step),
        )
    labels = {param.name: param.label for param in resolve(shown, drawing).params}
    return {name: name for name in (step and step.free) or ()} | labels


def _fields(old: Mapping[str, Any], key: str, controls: dict[str, str]) -> dict:
    """The controls that describe a step, and the step that they describe."""
    asked = old.get("question", old.get("task", {}))
    now = "task" if "task" in old else next((k for k in _KINDS if k in asked), "")
    entry: dict[str, Any] = {
        "title": st.text_input(
            "Title of the step",
            old.get("title", ""),
            max_chars=100,
            **_persistent(key, "title"),
        ),
        "text": _text("Text; formulas between $ signs", old.get("text"), key),
    }
    if st.toggle(
        "Lock all controls but some", "free" in old, **_persistent(key, "locks")
    ):
        label = "Controls that can be changed"
        entry["free"] = _several(label, controls, old.get("free"), key)
    kind = _one(st.radio, "The step has", _KINDS, now, key, horizontal=True)
    if not kind:
        return entry
    ask = {"text": _text("Question or task", asked.get("text"), key)}
    if kind == "task":
        reach = _conditions(asked.get("reach", []), key, _REACHED)
        return entry | {"task": ask | {"reach": _records(reach)}}
    if kind == "choices":
        choices = asked.get("choices", [])
        rows = [one | when for one in choices for when in one.get("when", [{}])]
        table = _conditions(rows, key, _ANSWERS)
        rows = table.dropna(how="all").fillna({"text": ""})
        ask["choices"] = [
            _filled({"text": text, "when": _records(lines)})
            for text, lines in rows.groupby("text", sort=False)
        ]
    else:
        ask[kind] = _place(asked.get(kind, {}), kind, key)
    ask["reveal"] = _text("What is said after the answer", asked.get("reveal"), key)
    label = "Read-outs that are shown before and after"
    ask["show"] = _several(label, _MEASURES, asked.get("show"), key, max_selections=5)
    ask["expect"] = _text("Answers to expect, for your sheet", asked.get("expect"), key)
    return entry | {"question": _filled(ask)}


def _text(label: str, start: str | None, key: str) -> str:
    """A text of some lines."""
    options = {"max_chars": 2000, "height": 68} | _persistent(key, label[:9])
    return st.text_area(label, start or "", **options)


def _one(
    choose: Any, label: str, options: dict[str, str], now: str, key: str, **more: Any
) -> str:
    """One of the options, shown by its label."""
    more |= {"format_func": options.get} | _persistent(key, label[:9])
    return choose(label, options, [*options].index(now), **more)


def _several(
    label: str, options: dict[str, str], start: Any, key: str, **more: Any
) -> list[str]:
    """Some of the options, shown by their labels."""
    more |= {"format_func": options.get} | _persistent(key, label[:9])
    return st.multiselect(label, options, start, **more)


def _place(asked: Mapping[str, Any], kind: str, key: str) -> dict[str, Any]:
    """Which number or place is right, and how near an answer has to come."""
    columns, moment = st.columns(3), asked.get("of", "after")
    if kind == "point":
        choose = columns[0].selectbox
        answer = {"of": _one(choose, "Which place", _PLACES, moment, key)}
    else:
        measure, choose = asked.get("measure", "n_prototypes"), columns[0].selectbox
        answer = {"measure": _one(choose, "Read-out", _MEASURES, measure, key)}
        choose = columns[1].selectbox
        answer["of"] = _one(choose, "When", _MOMENTS, moment, key)
    answer["within"] = columns[2].number_input(
        "Right within",
        min_value=0.0,
        value=float(asked.get("within", 0.0 if asked else 1.0)),
        help="Distance of a number, or of a place in the units of the axes.",
        **_persistent(key, "within"),
    )
    return answer


def _conditions(rows: list[dict], key: str, slot: Slot[pd.DataFrame]) -> pd.DataFrame:
    """A table of conditions, of answers to choose or of a task."""
    kinds = {name: float if name in _LIMITS else "string" for name in _CONDITION}
    start = pd.DataFrame(rows or [{}, {}], columns=[*kinds]).astype(kinds)
    columns, words = ["measure", *_LIMITS], "The task is done if all lines hold."
    if slot is _ANSWERS:
        columns = [*_CONDITION]
        words = (
            "An answer is right if all of its lines hold; without a read-out, never."
        )
    st.caption(words)
    return persistent_data_editor(
        slot,
        key,
        start,
        column_order=columns,
        column_config=_CONDITION,
        num_rows="dynamic",
        hide_index=True,
    )


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table as conditions of a file; an empty one is none."""
    rows = table.drop(columns="text").dropna(how="all").to_dict("records")
    return [{k: v for k, v in row.items() if pd.notna(v)} for row in rows]


def _filled(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that say something: a file leaves the others out."""
    return {name: value for name, value in entry.items() if value}


def _add_state(entry: dict[str, Any], begin: Choice, choice: Choice) -> None:
    """Begin the step with a state, and have its answer change what differs now."""
    then = _changes(begin, choice)
    if then and "question" not in entry:
        raise SmpcoreError(
            "Only the answer to a question changes settings: choose a question, or "
            "begin the step with the state that is shown now."
        )
    if then:
        entry["question"]["then"] = then
        entry.setdefault("free", [*then])
    entry |= _state(begin)


def _changes(begin: Choice, after: Choice) -> dict[str, str]:
    """What the answer changes: settings of the method, as a link has them."""
    if begin == after:
        return {}
    both = resolve(begin), resolve(after)
    old, new = ((c.data, c.method.key) for c in both)
    if old != new:
        raise SmpcoreError(
            "An answer changes settings of the method, not data or method: begin the "
            "step with the data and the method that are shown now."
        )
    before = both[0].values
    values = both[1].values.items()
    return {n: setting_text(v) for n, v in values if before.get(n) != v}


def _state(choice: Choice) -> dict[str, Any]:
    """The choice as a step begins with it."""
    state = links.write_url(choice)
    for name in ("mine", "opened", "open"):
        state.pop(name, None)
    if choice.data != MINE:
        return {"state": state}
    if not workspace.is_drawn(choice):
        raise SmpcoreError(
            "A lesson holds no rows of an uploaded table; choose bundled data, draw "
            "points, or ask the operator to put the table into the folder SPE_DATA."
        )
    dataset, division = table_store.visit(choice.token)
    del state["data"]
    return {"state": state, "points": state_file.written_points(dataset, division)}


def _written(lesson: Lesson) -> bytes:
    """The lesson as a file that can be opened again."""
    data = msgspec.json.format(msgspec.json.encode(lesson), indent=1)
    try:
        lesson_files.read(data)
    except SmpcoreError as problem:
        terms = "|".join(_AS_LABELS)
        words = re.sub(terms, lambda word: _AS_LABELS[word[0]], str(problem))
        raise SmpcoreError(words) from None
    return data
