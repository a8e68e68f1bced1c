"""From a table as read to the rows and values that its roles ask for."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from smpcore.datasets.cleaning import Steps, apply_steps, check_steps
from smpcore.datasets.columns import (
    Kind,
    Role,
    Task,
    arrow_texts,
    as_text,
    canonical,
    converted,
    framed,
    is_numeric,
)
from smpcore.datasets.display_names import listed, shown
from smpcore.datasets.guessing import class_like, guess_task
from smpcore.datasets.names import clean_names
from smpcore.datasets.times import read_times
from smpcore.errors import DatasetError


@dataclass(frozen=True, eq=False)
class Origin:
    """A table as it was read: every row and word, before roles leave any of them out.

    Attributes
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Columns of numbers or text.
    n_test : int
        How many of the last rows came from a second (test) file.
    notices : tuple of str
        What reading found, whatever the roles.
    proposals : tuple of (str, str, str)
        Column, role or kind that was proposed for it, and why: said while it has it.
    numbers : ndarray of int, optional
        Number of each row in its file, from 1, where only some of them were read.
    """

    frame: pd.DataFrame
    n_test: int = 0
    notices: tuple[str, ...] = ()
    proposals: tuple[tuple[str, str, str], ...] = ()
    numbers: np.ndarray | None = None


def check_roles(roles: Mapping[str, Role]) -> None:
    """Refuse roles without exactly one target, or with two groups or times."""
    for role in ("target", "group", "time"):
        names = [name for name, value in roles.items() if value == role]
        if len(names) > 1:
            raise DatasetError(
                f"The role {role} should be given once, {len(names)} columns have it "
                f"({listed(names)}); keep one of them."
            )
        if role == "target" and not names:
            raise DatasetError(
                "No column has the role target; choose the column to predict."
            )


def apply_roles(
    origin: Origin,
    roles: Mapping[str, Role],
    kinds: Mapping[str, Kind],
    task: Task | None,
    cleaning: Steps = (),
) -> dict[str, object]:
    """Clean a table, convert its columns, and leave out the rows without a target."""
    check_steps(cleaning, origin.frame, kinds)
    frame = apply_steps(origin.frame, cleaning)
    roles = {name: roles.get(name, "feature") for name in frame}
    kinds = {
        name: kinds.get(name) or ("number" if is_numeric(column) else "category")
        for name, column in frame.items()
    }
    check_roles(roles)
    target = next(name for name, role in roles.items() if role == "target")
    changed, notices = {}, list(origin.notices)
    for name, column in frame.items():
        as_read, lost = converted(column, kinds[name])
        if as_read is not column:
            changed[name] = as_read
        notices += lost if roles[name] != "ignore" else []
    if changed:
        columns = [changed.get(name, column).array for name, column in frame.items()]
        frame = framed(columns, list(frame))
    labelled = frame[target].notna().to_numpy()
    frame = frame if labelled.all() else frame[labelled]
    for name in frame:
        if roles[name] == "time":
            read_times(frame[name])  # here the index still counts the file's rows
    frame = frame.reset_index(drop=True)
    if not labelled.any():
        raise DatasetError(
            f"Column {shown(target)} has no values, so it cannot be the target; "
            "choose another target."
        )
    if not labelled.all():
        notices.append(
            f"{labelled.size - len(frame):,} of {labelled.size:,} rows have no value "
            f"of the target {shown(target)} and are left out."
        )
    notices += _constant(frame, roles)
    notices += [
        why
        for name, word, why in origin.proposals
        if word in (roles[name], kinds[name])
    ]
    n_test = int(np.count_nonzero(labelled[labelled.size - origin.n_test :]))
    return {
        "frame": frame,
        "roles": roles,
        "kinds": kinds,
        "cleaning": cleaning,
        "task": task or guess_task(frame[target], kinds[target]),
        "numbers": _numbers(origin, labelled),
        "test_rows": np.arange(len(frame) - n_test, len(frame)) if n_test else None,
        "notices": tuple(notices),
        "origin": origin,
    }


def _numbers(origin: Origin, labelled: np.ndarray) -> np.ndarray | None:
    """Number of each labelled row in its file; None: they count from 1."""
    if origin.numbers is not None:
        return origin.numbers[labelled]
    return None if labelled.all() else np.flatnonzero(labelled) + 1


def _constant(frame: pd.DataFrame, roles: Mapping[str, Role]) -> list[str]:
    features = [name for name, role in roles.items() if role == "feature"]
    constant = [n for n, column in frame[features].items() if _all_equal(column)]
    if len(frame) < 2 or not constant:
        return []
    return [
        f"The same value in every row, so nothing to learn from: {listed(constant)}."
    ]


def _all_equal(column: pd.Series) -> bool:
    if not is_numeric(column):
        return pc.count_distinct(arrow_texts(column), mode="all").as_py() == 1
    values = column.to_numpy()
    same = np.isnan(values) if np.isnan(values[0]) else values == values[0]
    return bool(same.all())


def stack(
    origin: Origin,
    frame: pd.DataFrame,
    roles: Mapping[str, Role],
    kinds: Mapping[str, Kind],
    test_notices: tuple[str, ...] = (),
) -> Origin:
    """Put a second table under the first as its test rows."""
    names, _ = clean_names(frame.columns)
    frame = frame.set_axis(names, axis=1).reset_index(drop=True)
    absent = [
        name for name in origin.frame if roles[name] != "ignore" and name not in frame
    ]
    if absent:
        raise DatasetError(
            f"The test file has no column {listed(absent)}; it should have the same "
            f"columns as the data, it has {listed(names)}."
        )
    if frame.empty:
        raise DatasetError("The test file has no rows; choose a file with rows.")
    rows = origin.frame.iloc[: len(origin.frame) - origin.n_test]
    notices = [text for text in origin.notices if not text.startswith("Test file: ")]
    notices += [f"Test file: {text}" for text in test_notices]
    extra = [name for name in names if name not in roles]
    if extra:
        notices.append(
            f"Test file: not used, because not in the data: {listed(extra)}."
        )
    columns = {}
    blank = pd.Series(np.nan, frame.index)
    for name in rows:
        test, lost = converted(canonical(frame.get(name, blank)), kinds[name])
        notices += [f"Test file: {text}" for text in lost if roles[name] != "ignore"]
        if roles[name] in ("feature", "target") and class_like(rows[name], kinds[name]):
            notices += _new_levels(
                name, roles[name], as_text(rows[name]), as_text(test)
            )
        if is_numeric(rows[name]) != is_numeric(test):
            columns[name] = pd.concat([as_text(rows[name]), as_text(test)])
        else:
            columns[name] = pd.concat([rows[name], test])
    whole = pd.DataFrame(columns).reset_index(drop=True)
    return Origin(whole, len(frame), tuple(notices), origin.proposals)


def _new_levels(name: str, role: Role, rows: pd.Series, test: pd.Series) -> list[str]:
    new = sorted(set(test.dropna()) - set(rows.dropna()))
    if not new:
        return []
    effect = {
        "feature": "treated like no category at all",
        "target": "no model can predict them, so these rows count as wrong",
    }[role]
    return [
        f"Test file: column {shown(name)} has values that the data do not have: "
        f"{listed(new)}; {effect}."
    ]
