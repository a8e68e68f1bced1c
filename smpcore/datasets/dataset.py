"""Dataset: a table with roles, and what was found while it was arranged."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import get_args

import numpy as np
import pandas as pd

from smpcore.datasets.arrange import Origin, arrange, check_roles, stack
from smpcore.datasets.columns import (
    Kind,
    Role,
    Task,
    as_text,
    canonical,
    check_words,
    is_numeric,
    listed,
    shown,
)
from smpcore.errors import DatasetError

# Class labels become a fixed-width array: one long label would be paid for in each row.
MAX_LABEL_CHARACTERS = 20_000_000


@dataclass(frozen=True)
class Reading:
    """How a file was read: what was detected, or what was asked for instead.

    Attributes
    ----------
    format : {"CSV", "ARFF", "Parquet"}
        File format; "CSV" stands for every text table.
    delimiter, decimal, encoding : str
        Empty where the format leaves no choice.
    header : bool
        Whether the first row holds the column names.
    """

    format: str
    delimiter: str = ""
    decimal: str = ""
    encoding: str = ""
    header: bool = True


class _SharedFrame:
    """Attribute that hands out a copy-on-write copy: nobody can change the original."""

    def __get__(self, instance: "Dataset | None", owner: type) -> pd.DataFrame:
        if instance is None:
            raise AttributeError("frame")  # so that the field has no default
        return instance.__dict__["frame"].copy(deep=False)

    def __set__(self, instance: "Dataset", frame: pd.DataFrame) -> None:
        instance.__dict__["frame"] = frame.copy(deep=False)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table of samples whose columns have roles. Nothing in it changes.

    Missing values stay as they came; a `Preparation` says what becomes of them.

    Parameters
    ----------
    name : str
        Short name for titles.
    frame : DataFrame of shape (n_samples, n_columns)
        Numbers or text; no missing value in the target column.
    roles : mapping of str to {"feature", "target", "group", "ignore"}
        Role of every column of ``frame``; exactly one target, at most one group.
    task : {"classification", "regression"}
        What the target is.
    source, description : str
        Where the data came from, and what they are, in words.
    kinds : mapping of str to {"number", "category"}, optional
        How each column is read; by default as it is stored.
    sample_shape : tuple of int
        Shape of one sample, (8, 8) for an 8x8 image; ``(n_features,)`` by default.
    test_rows : ndarray of int, optional
        Numbers of the rows that came from a test file.
    open_test : bool
        The test part may be looked at from the start (generated data).
    private : bool
        A visitor's own data: in memory only, never shared, never written out unsaid.
    notices : tuple of str
        What reading found and changed, a sentence each.
    reading : Reading, optional
        How the file was read.
    origin : Origin, optional
        The table before rows were left out; ``with_roles`` starts from it.
    """

    name: str
    frame: pd.DataFrame = _SharedFrame()
    roles: Mapping[str, Role]
    task: Task
    source: str = ""
    description: str = ""
    kinds: Mapping[str, Kind] | None = None
    sample_shape: tuple[int, ...] = ()
    test_rows: np.ndarray | None = None
    open_test: bool = False
    private: bool = False
    notices: tuple[str, ...] = ()
    reading: Reading | None = None
    origin: Origin | None = None

    def __post_init__(self):
        frame = _stored(self.frame)
        kinds = self.kinds or {
            name: "number" if is_numeric(frame[name]) else "category" for name in frame
        }
        _check(frame, self.roles, kinds, self.task)
        put = self.__dict__.update  # as every frozen dataclass sets its own fields
        put(frame=frame, notices=tuple(self.notices))
        put(roles=MappingProxyType({name: self.roles[name] for name in frame}))
        put(kinds=MappingProxyType({name: kinds[name] for name in frame}))
        if self.test_rows is not None:
            put(test_rows=read_only(np.array(self.test_rows, np.int64)))
        if np.prod(self.sample_shape or (0,)) != len(self.feature_columns):
            put(sample_shape=(len(self.feature_columns),))

    def __repr__(self) -> str:
        return (
            f"<Dataset {shown(self.name)}: {self.n_samples} rows, "
            f"{len(self.feature_columns)} features, {self.task}>"
        )

    def __reduce__(self):
        # A mapping proxy cannot be pickled; everything else is derived again.
        values = [getattr(self, field.name) for field in fields(self)]
        plain = [dict(v) if isinstance(v, MappingProxyType) else v for v in values]
        return Dataset, tuple(plain)

    @cached_property
    def digest(self) -> str:
        """Hexadecimal blake2b of every value, name, role and kind, and the task."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr((self.task, self.sample_shape, self.n_samples)).encode())
        for name, column in self.frame.items():
            digest.update(repr((name, self.roles[name], self.kinds[name])).encode())
            for part in _bytes_of(column):
                digest.update(part)
        if self.test_rows is not None:
            digest.update(self.test_rows)
        return digest.hexdigest()

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.__dict__["frame"])

    @property
    def n_bytes(self) -> int:
        """Memory that the tables need, rows left out included."""
        frames = [self.frame, self.whole] if self.origin else [self.frame]
        return int(sum(frame.memory_usage(deep=True).sum() for frame in frames))

    @property
    def _n_test(self) -> int:
        return 0 if self.test_rows is None else self.test_rows.size

    @property
    def feature_columns(self) -> list[str]:
        """Names of the columns that a model may use."""
        return [name for name, role in self.roles.items() if role == "feature"]

    @property
    def target(self) -> str:
        """Name of the column to predict."""
        return next(name for name, role in self.roles.items() if role == "target")

    @cached_property
    def y(self) -> np.ndarray:
        """Target, (n_samples,): int or text labels, or float64 for regression."""
        column = self.frame[self.target]
        if self.task == "regression":
            return read_only(column.to_numpy(np.float64, copy=True))
        return read_only(self.classes[self.codes])

    @cached_property
    def codes(self) -> np.ndarray | None:
        """Position of each row's label in ``classes``, (n_samples,); None if none."""
        return None if self.task == "regression" else self._coded[0]

    @cached_property
    def classes(self) -> np.ndarray | None:
        """Labels in ascending order, (n_classes,); None for regression."""
        return None if self.task == "regression" else self._coded[1]

    @cached_property
    def _coded(self) -> tuple[np.ndarray, np.ndarray]:
        column = self.frame[self.target]
        if is_numeric(column) and np.all(column == np.floor(column)):
            column = column.astype(np.int64)
        else:
            column = as_text(column)
        codes, labels = pd.factorize(column, sort=True)
        if not is_numeric(column) and labels.size:
            _check_labels(self.target, labels, len(column))
        labels = np.array(labels, np.int64 if is_numeric(column) else np.str_)
        return read_only(codes.astype(np.int64)), read_only(labels)

    @cached_property
    def groups(self) -> np.ndarray | None:
        """Number of each row's group, (n_samples,); None without a group column.

        Rows without a group are one group of their own.
        """
        name = next(
            (name for name, role in self.roles.items() if role == "group"), None
        )
        if name is None:
            return None
        codes, _ = pd.factorize(self.frame[name], use_na_sentinel=False)
        return read_only(codes.astype(np.int64))

    @property
    def whole(self) -> pd.DataFrame:
        """Every row and word as read, rows without a target included."""
        frame = self.frame if self.origin is None else self.origin.frame
        return frame.copy(deep=False)

    def with_roles(
        self,
        roles: Mapping[str, Role] | None = None,
        task: Task | None = None,
        kinds: Mapping[str, Kind] | None = None,
    ) -> "Dataset":
        """Return the same table with other roles, another task or other kinds.

        Parameters
        ----------
        roles : mapping of str to str, optional
            New roles; columns not named keep theirs, but a former target becomes a
            feature when another column is named target.
        task : {"classification", "regression"}, optional
            By default kept while the target is the same, else guessed from it.
        kinds : mapping of str to {"number", "category"}, optional
            New kinds; columns not named keep theirs.

        Returns
        -------
        Dataset
            Arranged anew from every row as read.
        """
        roles, kinds = dict(roles or {}), dict(kinds or {})
        origin = self.origin or Origin(self.frame, self._n_test, self.notices)
        columns = list(origin.frame)
        check_words("roles", roles, columns)
        check_words("kinds", kinds, columns)
        kept = dict(self.roles)
        if "target" in roles.values() and self.target not in roles:
            kept[self.target] = "feature"
        new_roles, new_kinds = {**kept, **roles}, {**self.kinds, **kinds}
        same = new_roles[self.target] == "target" and self.target not in kinds
        task = task or (self.task if same else None)
        return replace(self, **arrange(origin, new_roles, new_kinds, task))

    def with_test(self, frame: pd.DataFrame) -> "Dataset":
        """Return these rows with a second table as the test part.

        Parameters
        ----------
        frame : DataFrame of shape (n_test, n_columns)
            Has every feature, the target and the group under the same names;
            further columns are left out.

        Returns
        -------
        Dataset
            The rows of ``frame`` stand last; ``notices`` say what differs.
        """
        origin = self.origin or Origin(self.frame, self._n_test, self.notices)
        both = stack(origin, frame, self.roles, self.kinds)
        arranged = arrange(both, self.roles, self.kinds, self.task)
        return replace(self, private=True, open_test=False, **arranged)

    def with_points(self, X: np.ndarray, y: np.ndarray) -> "Dataset":
        """Return a data set of drawn points in place of these rows.

        Parameters
        ----------
        X : ndarray of shape (n_points, 2)
            Values of the two numeric features.
        y : ndarray of shape (n_points,)
            Targets.

        Returns
        -------
        Dataset
            Same names, the new rows, ``private``.
        """
        names = self.feature_columns
        if len(names) != 2 or any(self.kinds[name] != "number" for name in names):
            raise DatasetError(
                f"{self.name} should have two features that are numbers to be drawn "
                f"on, it has {len(names)} features; choose two as features."
            )
        X = np.asarray(X, np.float64).reshape(-1, 2)
        frame = pd.DataFrame({names[0]: X[:, 0], names[1]: X[:, 1], self.target: y})
        roles = {name: self.roles[name] for name in frame}
        return replace(
            self,
            **{"frame": frame, "roles": roles, "kinds": None, "test_rows": None},
            **{"private": True, "notices": (), "origin": None},
        )


def _stored(frame: pd.DataFrame) -> pd.DataFrame:
    names = list(frame)
    if len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
        raise DatasetError(
            "frame.columns should be different texts; make_dataset renames them."
        )
    frame = frame.reset_index(drop=True)
    return pd.DataFrame({name: canonical(frame[name]) for name in names})


def _check_labels(target: str, labels: pd.Index, n_samples: int) -> None:
    longest = max(len(label) for label in labels)
    if longest * n_samples > MAX_LABEL_CHARACTERS:
        raise DatasetError(
            f"target={shown(target)} should hold short class labels, one has {longest} "
            "characters; choose another target or shorten its labels."
        )


def _check(
    frame: pd.DataFrame, roles: Mapping[str, Role], kinds: Mapping[str, Kind], task: str
) -> None:
    for what, given in (("roles", roles), ("kinds", kinds)):
        check_words(what, given, list(frame))
        absent = [name for name in frame if name not in given]
        if absent:
            raise DatasetError(
                f"{what} should name every column, {listed(absent)} are absent; "
                "make_dataset guesses what is not given."
            )
    check_roles(roles)
    for name, kind in kinds.items():
        if (kind == "number") != is_numeric(frame[name]):
            raise DatasetError(
                f"kinds[{shown(name)}]={kind} should match how the column is stored; "
                "make_dataset and with_roles convert it."
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


def read_only(array: np.ndarray) -> np.ndarray:
    """Return the array itself, locked."""
    array.flags.writeable = False
    return array


def _bytes_of(column: pd.Series) -> Iterator[bytes | np.ndarray]:
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
