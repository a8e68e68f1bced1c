"""What a table must be to become a data set, and the bytes that make it what it is."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from smpcore.datasets.apply_roles import check_roles
from smpcore.datasets.columns import (
    Kind,
    Role,
    Task,
    as_text,
    canonical_columns,
    check_words,
    framed,
    is_numeric,
)
from smpcore.datasets.display_names import listed, shown
from smpcore.errors import DatasetError

# Class labels become a fixed-width array: one long label would be paid for in each row.
MAX_LABEL_CHARACTERS = 20_000_000


class _SharedFrame:
    """Attribute that hands out a copy-on-write copy: nobody can change the original."""

    def __get__(self, instance: Any, owner: type) -> pd.DataFrame:
        if instance is None:
            raise AttributeError("frame")  # so that the field has no default
        return instance.__dict__["frame"].copy(deep=False)

    def __set__(self, instance: Any, frame: pd.DataFrame) -> None:
        instance.__dict__["frame"] = frame.copy(deep=False)


#: The attribute ``frame`` of a data set.
SHARED_FRAME = _SharedFrame()


def stored(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns are stored as numbers or text."""
    names = list(frame)
    if len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
        raise DatasetError(
            "frame.columns should be different texts; make_dataset renames them."
        )
    return canonical_columns(frame.reset_index(drop=True))


def check_content(
    frame: pd.DataFrame, roles: Mapping[str, Role], kinds: Mapping[str, Kind], task: str
) -> None:
    """Refuse roles, kinds and a task that do not fit the columns."""
    for what, values in (("roles", roles), ("kinds", kinds)):
        check_words(what, values, list(frame))
        absent = [name for name in frame if name not in values]
        if absent:
            raise DatasetError(
                f"{what} should name every column, {listed(absent)} are absent; "
                "make_dataset guesses what is not given."
            )
    check_roles(roles)
    for name, dtype in frame.dtypes.items():
        if (kinds[name] == "number") != (dtype.kind in "if"):
            raise DatasetError(
                f"kinds[{shown(name)}]={kinds[name]} should match how the column is "
                "stored; make_dataset and with_roles convert it."
            )
    if task not in get_args(Task):
        raise DatasetError(
            f"task={shown(task)} should be one of {', '.join(get_args(Task))}."
        )
    target = next(name for name, role in roles.items() if role == "target")
    if task == "regression" and kinds[target] == "category":
        raise DatasetError(
            f"target={shown(target)} should be a number for regression, it is a "
            "category; choose classification or another target."
        )
    if frame[target].isna().any():
        raise DatasetError(
            f"target={shown(target)} should have a value in every row; make_dataset "
            "leaves the other rows out."
        )


def coded_labels(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Position of each row's label among the labels in ascending order, and these.

    Labels so long that an array of them would not fit are refused.
    """
    if is_numeric(column) and np.all(column == np.floor(column)):
        column = column.astype(np.int64)
    else:
        column = as_text(column)
    codes, labels = pd.factorize(column, sort=True)
    longest = 0 if is_numeric(column) else max(map(len, labels), default=0)
    if longest * len(column) > MAX_LABEL_CHARACTERS:
        raise DatasetError(
            f"target={shown(column.name)} should hold short class labels, one has "
            f"{longest} characters; choose another target or shorten its labels."
        )
    labels = np.array(labels, np.int64 if is_numeric(column) else np.str_)
    return read_only(codes.astype(np.int64)), read_only(labels)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return the array itself, locked."""
    array.flags.writeable = False
    return array


def bytes_together(*frames: pd.DataFrame) -> int:
    """Memory that tables need; columns that share theirs count once."""
    columns = [column for frame in frames for _, column in frame.items()]
    return sum({_address(column): column.nbytes for column in columns}.values())


def _address(column: pd.Series) -> int:
    if is_numeric(column):
        return column.to_numpy().__array_interface__["data"][0]
    texts = pa.array(column.array)
    texts = texts.chunk(0) if isinstance(texts, pa.ChunkedArray) else texts
    return texts.buffers()[-1].address if len(texts) else id(column)


def pickled(dataset: Any) -> tuple:
    """What a data set's pickle holds: each column once, as in memory."""
    values = {field.name: getattr(dataset, field.name) for field in fields(dataset)}
    values |= {"roles": dict(dataset.roles), "kinds": dict(dataset.kinds)}
    frame, whole = dataset.frame, dataset.whole
    same: set[str] = set()
    if frame.shape == whole.shape:
        both = zip(frame.items(), whole.items(), strict=True)
        same = {name for (name, a), (_, b) in both if _address(a) == _address(b)}
    if dataset.origin is not None:
        others = whole.drop(columns=list(same))
        values["origin"] = replace(dataset.origin, frame=others)
    return _unpickled, (type(dataset), values, same, list(whole))


def _unpickled(kind: type, values: dict, same: set[str], names: list[str]) -> Any:
    frame, origin = values["frame"], values["origin"]
    if origin is not None:
        whole = frame.copy(deep=False)
        if len(same) < len(names):
            columns = [(frame if n in same else origin.frame)[n].array for n in names]
            whole = framed(columns, names)
        values["origin"] = replace(origin, frame=whole)
    return kind(**values)


def bytes_of(column: pd.Series) -> Iterator[bytes | np.ndarray]:
    """All bytes that make a column what it is, the same for equal columns."""
    if is_numeric(column):
        values = column.to_numpy(copy=True)
        if values.dtype.kind == "f":
            values[np.isnan(values)] = np.nan  # one NaN of the many
        yield values.dtype.str.encode()
        yield values
        return
    codes, texts = pd.factorize(column)
    encoded = [text.encode() for text in texts]
    yield np.array([len(text) for text in encoded], np.int64)
    yield b"".join(encoded)
    yield codes.astype(np.int64)
