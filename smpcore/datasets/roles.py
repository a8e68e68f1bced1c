"""Roles: what each column seems to be, and the rows and values that this asks for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from smpcore.datasets.cleaning import Steps, apply_steps, check_steps
from smpcore.datasets.columns import (
    IDLE,
    MAX_LENGTH,
    MAX_LETTERS,
    Kind,
    Role,
    Task,
    are_codes,
    arrow_texts,
    as_text,
    canonical,
    converted,
    framed,
    in_rows,
    is_numeric,
    parsed_numbers,
    read_times,
    read_weights,
)
from smpcore.datasets.display_names import clean_names, listed, shown
from smpcore.datasets.notation import are_dressed, is_value
from smpcore.datasets.targets import (
    MORE_VALUES,
    N_NAMED,
    Candidate,
    class_like,
    doubt_in_words,
    guess_task,
    is_named_so,
    rank_targets,
)
from smpcore.errors import DatasetError

#: A column, the role or kind that is proposed for it, and the sentence that says why.
Proposal = tuple[str, str, str]

MAX_LEVELS = 100
# A text column is read as numbers when at least this share of its values are numbers.
MOSTLY = 0.8
# No advice loses more of a column's values, and no number is lost unasked.
MOST_LOST = 0.05
# Notices of one kind about columns; of more, the number is said.
_MOST_NOTICES = 12
#: Of more texts no two are compared unasked.
MOST_SEQUENCES = 5_000
# Below this many rows "all different" and "in sequence" happen by chance.
ENOUGH_ROWS = 10

_ID_NAMES = re.compile(
    r"(?i:(.*[ _.-])?(id|uuid|guid|nr)|.*nummer|index|row(names?)?|unnamed.*)"
    r"|.*[a-z]I[dD]"
)
_DATE = (
    r"^((\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ].*)?"
    r"|\d{1,2}[- ][A-Za-z]{3}[- ]\d{2,4}"
    r"|\d{1,3}:\d{2}(:\d{2}(\.\d+)?)?( [AaPp][Mm])?)$"
)


def guess_kinds(
    frame: pd.DataFrame, fixed: Mapping[str, Kind]
) -> tuple[dict[str, Kind], list[Proposal]]:
    """Return "number" or "category" for every column; what is given stays.

    A text column is read as numbers when most of its values are numbers and there
    are too many different ones for names of classes.
    """
    kinds: dict[str, Kind] = {}
    proposals = []
    for name, column in frame.items():
        kinds[name] = "number" if is_numeric(column) else "category"
        kinds[name] = fixed.get(name, kinds[name])
        if is_numeric(column) or name in fixed:
            continue
        parsed = parsed_numbers(column)
        number = ~np.isnan(parsed)
        if not number.any() or are_codes(arrow_texts(column[number])):
            continue
        present = int(column.notna().sum())
        if 2 * number.sum() <= present:
            continue
        different = np.unique(parsed[number]).size
        many = different > min(MORE_VALUES, number.sum() / 2)
        words = np.flatnonzero(column.notna().to_numpy() & ~number)
        lost = sum(map(is_value, column.iloc[words])) > MOST_LOST * present
        if many and number.sum() >= MOSTLY * present and not lost:
            kinds[name] = "number"
        elif words.size:
            reason = (
                f"Column {shown(name)} is read as a category, because of the text in "
                f"{in_rows(words, column)}; "
            )
            reason += (
                "read it as a number to treat text as missing."
                if words.size <= MOST_LOST * present
                else "read as a number it would lose such values."
            )
            proposals.append((name, "category", reason))
    return kinds, proposals


def guess_roles(
    frame: pd.DataFrame, kinds: dict[str, Kind], fixed: Mapping[str, Role]
) -> tuple[dict[str, Role], list[Proposal], tuple[Candidate, ...]]:
    """Propose a role for every column, and targets; what is given stays.

    Where no feature would be left, sequences become text, in `kinds` too.
    """
    reasons = {
        name: _reason_to_ignore(column, kinds[name])
        for name, column in frame.items()
        if name not in fixed
    }
    targets = [] if "target" in fixed.values() else _targets(frame, kinds, reasons)
    fixed = {**fixed, **{one.name: "target" for one in targets[:1]}}
    roles = {
        name: fixed.get(name, "ignore" if reasons.get(name) else "feature")
        for name in frame
    }
    proposals = []
    if "feature" not in roles.values():
        proposals = _read_sequences(frame, kinds, [*filter(reasons.get, reasons)])
        roles |= {name: "feature" for name, *_ in proposals}
    proposals += [
        (name, "ignore", f"Column {shown(name)} is not used: {reason}.")
        for name, reason in reasons.items()
        if reason and roles[name] == "ignore"
    ]
    if targets and (doubt := doubt_in_words(targets)):
        proposals.insert(0, (targets[0].name, "target", doubt))
    return roles, proposals, tuple(targets[:N_NAMED])


def _read_sequences(
    frame: pd.DataFrame, kinds: dict[str, Kind], names: list[str]
) -> list[Proposal]:
    """Read columns of sequences as text, all values of which are different."""
    proposals = []
    for name in names:
        is_text = kinds[name] == "category" and not is_numeric(frame[name])
        letters = is_text and frame[name].is_unique and sequence_letters(frame[name])
        if letters:
            kinds[name] = "text"
            reason = (
                f"Column {shown(name)} is read as text (letters "
                f"{', '.join(letters)}): there is no other feature."
            )
            proposals.append((name, "text", reason))
    return proposals


def _reason_to_ignore(column: pd.Series, kind: Kind) -> str:
    if kind == "number" and not is_numeric(column):
        column = pd.Series(parsed_numbers(column), name=column.name)
    numeric = is_numeric(column)
    if numeric:
        present = column.to_numpy()
        present = present[~np.isnan(present)]
    else:
        coded = arrow_texts(column).drop_null().dictionary_encode()
        present = coded.indices.to_numpy()
    if not present.size:
        return "it is empty"
    text = kind == "category" and not numeric
    whole = kind == "number" and numeric and bool(np.all(present == np.floor(present)))
    if not text and not whole:
        return ""
    different = pd.unique(present).size
    codes = text and are_codes(coded.dictionary)
    if codes or _ID_NAMES.fullmatch(str(column.name)):
        if different == present.size:
            return "it looks like an identifier"
        return (
            "it looks like an identifier that repeats (as a group, its rows stay "
            "together in one part)"
        )
    if text and looks_like_dates(column):
        return (
            "it looks like a date (as time, it orders the rows into blocks; Clean "
            "reads days, weekdays or hours)"
        )
    if column.size < ENOUGH_ROWS:
        return ""
    if text and are_dressed(coded.dictionary[:500].to_pylist()):
        return ""
    if text and different == present.size:
        words = "every value is different, like a name"
        if sequence_letters(column):
            words += "; as a feature read as text, its letters are compared"
        return words
    if text and different > MAX_LEVELS:
        return f"it has {different:,} different texts"
    if whole and present.size == column.size and np.all(np.diff(present) == 1):
        return "it counts the rows"
    return ""


def sequence_letters(column: pd.Series) -> str:
    """Letters of texts that repeat them, as DNA does and names do not; else empty."""
    texts = as_text(column).dropna()
    if not 0 < len(texts) <= MOST_SEQUENCES:
        return ""
    letters = "".join(sorted(set("".join(texts))))
    lengths = texts.str.len()
    few = len(letters) <= min(MAX_LETTERS, lengths.median())
    return letters if few and letters.isalpha() and lengths.max() <= MAX_LENGTH else ""


def looks_like_dates(column: pd.Series) -> bool:
    """Whether nine of ten texts of a column are dates."""
    if is_numeric(column):
        return False
    column = column.iloc[:: 1 + len(column) // 10_000]
    is_date = pc.match_substring_regex(arrow_texts(column).drop_null(), _DATE)
    return (pc.mean(is_date.cast(pa.int8())).as_py() or 0.0) > 0.9


def names_groups(column: pd.Series) -> bool:
    """Whether a column looks like an identifier that several rows share."""
    present = column.dropna()
    named = _ID_NAMES.fullmatch(str(column.name)) is not None
    return named and 1 < present.nunique() < present.size


def _targets(
    frame: pd.DataFrame, kinds: Mapping[str, Kind], reasons: Mapping[str, str]
) -> list[Candidate]:
    """Columns that may be the target, likeliest first."""
    called = [name for name, why in reasons.items() if why and kinds[name] == "number"]
    called = [n for n in called if is_named_so(n) and frame[n].notna().any()]
    usable = [name for name, why in reasons.items() if not why or name in called]
    if not usable:
        # A table of nothing but names is still shown with a target, to be chosen anew.
        filled = [name for name in reasons if frame[name].notna().any()][-1:]
        return [Candidate(name, reasons[name], 0.0, True) for name in filled]
    return rank_targets(frame[usable], kinds)


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
    targets : tuple of Candidate
        Columns that may be the target, likeliest first; empty: it was named.
    """

    frame: pd.DataFrame
    n_test: int = 0
    notices: tuple[str, ...] = ()
    proposals: tuple[tuple[str, str, str], ...] = ()
    numbers: np.ndarray | None = None
    targets: tuple[Candidate, ...] = ()


def check_roles(roles: Mapping[str, Role]) -> None:
    """Refuse roles without exactly one target, or with two groups, times or weights."""
    for role in ("target", "group", "time", "weight"):
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
    labelled = frame[target].notna().to_numpy()
    for name in (name for name, role in roles.items() if role == "weight"):
        read_weights(frame[name][labelled])  # here text is not yet a missing value
    changed, notices, losses = {}, list(origin.notices), []
    for name, column in frame.items():
        as_read, lost = converted(column, kinds[name])
        if as_read is not column:
            changed[name] = as_read
        losses += lost if roles[name] != "ignore" else []
    notices += _some(losses, "hold text instead of numbers, or numbers too large")
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
    reasons = [
        why
        for name, word, why in origin.proposals
        if word in (roles[name], kinds[name])
    ]
    notices += _some(reasons, "are not used, or read as a category")
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


def _some(notices: list[str], what: str) -> list[str]:
    """The first notices about columns, and how many more there are."""
    rest = [f"{len(notices) - _MOST_NOTICES:,} more columns {what}."]
    return notices[:_MOST_NOTICES] + rest * (len(notices) > _MOST_NOTICES)


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
        name for name in origin.frame if roles[name] not in IDLE and name not in frame
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
    known = {"proposals": origin.proposals, "targets": origin.targets}
    return Origin(whole, len(frame), tuple(notices), **known)


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
