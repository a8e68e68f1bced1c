"""Dataset: a table with roles, what it must be, and tables that are made of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.lib.array_utils import byte_bounds

from smpcore.datasets.cleaning import (
    CleaningStep,
    Steps,
    added_columns,
    steps_from_json,
)
from smpcore.datasets.columns import (
    Kind,
    Role,
    Task,
    as_text,
    canonical_columns,
    cells,
    check_words,
    framed,
    is_numeric,
    read_times,
    read_weights,
)
from smpcore.datasets.display_names import listed, plain_number, shown
from smpcore.datasets.follow_up import FollowUp
from smpcore.datasets.reading import Reading, TimeAxis
from smpcore.datasets.roles import Origin, apply_roles, check_roles, stack
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


def check_content(
    frame: pd.DataFrame, roles: Mapping[str, Role], kinds: Mapping[str, Kind], task: str
) -> None:
    """Refuse roles, kinds and a task that do not fit the columns."""
    check_words(roles, kinds, list(frame))
    for what, values in (("roles", roles), ("kinds", kinds)):
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


def read_only(array: np.ndarray) -> np.ndarray:
    """Return the array itself, locked."""
    array.flags.writeable = False
    return array


def _spans(values: Any) -> set[tuple[int, int]]:
    """Where the buffers of columns of one type begin and end in memory."""
    if getattr(values, "ndim", 1) > 1 or isinstance(values, np.ndarray):
        return {byte_bounds(np.asarray(values))}
    texts = pa.array(values)
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    buffers = [buffer for chunk in chunks for buffer in chunk.buffers() if buffer]
    return {(buffer.address, buffer.address + buffer.size) for buffer in buffers}


def memory_of(*frames: pd.DataFrame) -> int:
    """Memory that tables need; what they share counts once.

    Parameters
    ----------
    *frames : DataFrame
        Tables, some of whose columns may be the same.

    Returns
    -------
    int
        Bytes.
    """
    # By pandas' blocks: one column after the other took seconds for 10,000.
    parts = [part.values for frame in frames for part in frame._mgr.blocks]
    spans = {span for part in parts for span in _spans(part)}
    size = end_before = 0
    for begin, end in sorted(spans):
        size += max(0, end - max(begin, end_before))
        end_before = max(end, end_before)
    return size


def join_columns(values: dict, same: set[str], names: list[str]) -> Dataset:
    """Make a data set of what a pickle holds, with each column once in memory.

    Parameters
    ----------
    values : dict
        Values of the fields of `Dataset`; the table before rows were left out has only
        the columns that differ from those of ``frame``.
    same : set of str
        Names of the columns that do not differ.
    names : list of str
        Names of all columns of the table before rows were left out, in their order.

    Returns
    -------
    Dataset
    """
    frame, origin = values["frame"], values["origin"]
    if origin is not None:
        whole = frame.copy(deep=False)
        if len(same) < len(names):
            columns = [(frame if n in same else origin.frame)[n].array for n in names]
            whole = framed(columns, names)
        values["origin"] = replace(origin, frame=whole)
    return Dataset(**values)


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


class Matrix(NamedTuple):
    """One of the matrices that a data set is made of, with what a method must know.

    Attributes
    ----------
    name : str
        As in the file.
    least : float
        Its smallest eigenvalue; 0 of a matrix without negative ones.
    even : bool
        The same positive number stands everywhere on its diagonal.
    spectral_map : ndarray of shape (n_samples, n_samples), optional
        What similarities of new rows are multiplied by, where its eigenvalues were
        changed.
    """

    name: str
    least: float = 0.0
    even: bool = True
    spectral_map: np.ndarray | None = None


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
    roles : mapping of str to Role
        Of every column of ``frame`` "feature", "target", "group", "time", "weight",
        "known afterwards" (to be looked at, but no input) or "ignore"; exactly one
        target, at most one group, one time and one weight.
    task : {"classification", "regression"}
        What the target is.
    source, description : str
        Where the data came from, and what they are, in words.
    kinds : mapping of str to {"number", "category"}, optional
        How each column is read; by default as it is stored.
    sample_shape : tuple of int
        Shape of one sample, (8, 8) for an 8x8 image; ``(n_features,)`` by default.
    time_axis : TimeAxis, optional
        Of series, when their values were taken; by default steps are counted.
    cleaning : tuple of CleaningStep
        What was done to the cells; `with_roles` sets it, and applies it.
    forbidden : tuple of str
        Ignored columns that have their place in a sample nevertheless: see `forbid`.
    test_rows : ndarray of int, optional
        Positions of the rows that came from a test file.
    numbers : ndarray of int, optional
        Number of each row in the file, from 1, where rows were left out.
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
    follow_up : FollowUp, optional
        What the target asks about time to event: see `event_within`.
    matrices : tuple of Matrix
        Features are similarities to each row, matrix beside matrix: `make_matrices`.
    outcome : str
        Of two classes the one that is the event, as text; empty: nobody has said.
    """

    name: str
    frame: pd.DataFrame = SHARED_FRAME
    roles: Mapping[str, Role]
    task: Task
    source: str = ""
    description: str = ""
    kinds: Mapping[str, Kind] | None = None
    sample_shape: tuple[int, ...] = ()
    cleaning: Steps = ()
    forbidden: tuple[str, ...] = ()
    test_rows: np.ndarray | None = None
    numbers: np.ndarray | None = None
    open_test: bool = False
    private: bool = False
    notices: tuple[str, ...] = ()
    reading: Reading | None = None
    origin: Origin | None = None
    follow_up: FollowUp | None = None
    matrices: tuple[Matrix, ...] = ()
    outcome: str = ""
    time_axis: TimeAxis | None = None

    def __post_init__(self):
        names = list(self.frame)
        if len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
            raise DatasetError(
                "frame.columns should be different texts; make_dataset renames them."
            )
        frame = canonical_columns(self.frame.reset_index(drop=True))
        kinds = {n: "number" if is_numeric(frame[n]) else "category" for n in names}
        kinds = self.kinds or kinds
        check_content(frame, self.roles, kinds, self.task)
        put = self.__dict__.update  # as every frozen dataclass sets its own fields
        put(frame=frame, notices=tuple(self.notices))
        put(roles=MappingProxyType({name: self.roles[name] for name in frame}))
        put(kinds=MappingProxyType({name: kinds[name] for name in frame}))
        _ = self.times, self.weights  # what is neither is refused now
        for name in ("test_rows", "numbers"):
            if (rows := getattr(self, name)) is not None:
                put(**{name: read_only(np.array(rows, np.int64))})
        put(forbidden=tuple(n for n in self.forbidden if self.roles.get(n) == "ignore"))
        if np.prod(self.sample_shape or (0,)) != len(self.sample_columns):
            put(sample_shape=(len(self.sample_columns),))
        if self.outcome and self.outcome_code is None:
            raise DatasetError(
                f"outcome={shown(self.outcome)} should be one of two classes of "
                f"{shown(self.target)}, as text."
            )

    def __repr__(self) -> str:
        return (
            f"<Dataset {shown(self.name)}: {self.n_samples} rows, "
            f"{len(self.feature_columns)} features, {self.task}>"
        )

    def __reduce__(self):
        """What a pickle holds: each column once, as in memory."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values |= {"roles": dict(self.roles), "kinds": dict(self.kinds)}
        frame, whole = self.frame, self.whole
        same: set[str] = set()
        if frame.shape == whole.shape:
            both = zip(frame.items(), whole.items(), strict=True)
            same = {
                name
                for (name, a), (_, b) in both
                if _spans(a.values) == _spans(b.values)
            }
        if self.origin is not None:
            others = whole.drop(columns=list(same))
            values["origin"] = replace(self.origin, frame=others)
        return join_columns, (values, same, list(whole))

    @cached_property
    def digest(self) -> str:
        """Hexadecimal blake2b of every value, name, role, kind, step, and the task."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr(self.cleaning).encode() if self.cleaning else b"")
        digest.update(repr((self.task, self.sample_shape, self.n_samples)).encode())
        for name, column in self.frame.items():
            digest.update(repr((name, self.roles[name], self.kinds[name])).encode())
            for part in bytes_of(column):
                digest.update(part)
        if self.test_rows is not None:
            digest.update(self.test_rows)
        for more in (self.follow_up, self.matrices, self.time_axis):
            digest.update(repr(more).encode() if more else b"")
        return digest.hexdigest()

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.__dict__["frame"])

    def row_numbers(self, places: np.ndarray) -> np.ndarray:
        """Numbers of rows as every page and file shows them: from 1, as in the file.

        Parameters
        ----------
        places : ndarray of int
            Positions of rows in ``frame``; those of a test file are counted on.

        Returns
        -------
        ndarray of int
            Of the shape of `places`.
        """
        places = np.asarray(places, np.int64)
        return places + 1 if self.numbers is None else self.numbers[places]

    @property
    def n_bytes(self) -> int:
        """Memory that the tables need, rows left out included."""
        return memory_of(self.frame, self.whole)

    @property
    def feature_columns(self) -> list[str]:
        """Names of the columns that a model may use."""
        return [name for name, role in self.roles.items() if role == "feature"]

    @property
    def sample_columns(self) -> list[str]:
        """Names of the columns of a whole sample: features, and forbidden ones."""
        gone = set(self.forbidden)
        return [n for n, role in self.roles.items() if role == "feature" or n in gone]

    @property
    def channels(self) -> list[str]:
        """Names of the channels of series; empty if the samples are no series."""
        if len(self.sample_shape) != 2:
            return []
        columns, n_times = self.sample_columns, self.sample_shape[1]
        names = [name.rpartition("_t")[0] for name in columns[::n_times]]
        return names if cells(names, n_times) == columns else []

    @property
    def is_image(self) -> bool:
        """Whether the samples are pictures."""
        return len(self.sample_shape) > 1 and not self.channels

    @property
    def feature_steps(self) -> list[CleaningStep]:
        """Steps that make features of series, one for each channel."""
        return [step for step in self.cleaning if step.features]

    @cached_property
    def target(self) -> str:
        """Name of the column to predict."""
        return next(name for name, role in self.roles.items() if role == "target")

    @cached_property
    def y(self) -> np.ndarray:
        """Target, (n_samples,): int or text labels, or float64 for regression."""
        column = self.frame[self.target]
        if self.task == "regression":
            return read_only(column.to_numpy(np.float64, copy=True))
        return read_only(self.classes[self.y_encoded])

    @cached_property
    def y_encoded(self) -> np.ndarray | None:
        """Position of each row's label in ``classes``, (n_samples,); None if none."""
        return None if self.task == "regression" else self._coded[0]

    @cached_property
    def classes(self) -> np.ndarray | None:
        """Labels in ascending order, (n_classes,); None for regression."""
        return None if self.task == "regression" else self._coded[1]

    @property
    def outcome_code(self) -> int | None:
        """Number of the class that is the event, of two; None: nobody has said."""
        labels = [] if self.classes is None else [str(label) for label in self.classes]
        is_one = len(labels) == 2 and self.outcome in labels
        return labels.index(self.outcome) if is_one else None

    @cached_property
    def _coded(self) -> tuple[np.ndarray, np.ndarray]:
        """Both; labels so long that an array of them would not fit are refused."""
        column = self.frame[self.target]
        whole = is_numeric(column) and np.all(column == np.floor(column))
        column = column.astype(np.int64) if whole else as_text(column)
        codes, labels = pd.factorize(column, sort=True)
        longest = 0 if whole else max(map(len, labels), default=0)
        if longest * len(column) > MAX_LABEL_CHARACTERS:
            raise DatasetError(
                f"target={shown(self.target)} should hold short class labels, one has "
                f"{longest} characters; choose another target or shorten its labels."
            )
        labels = np.array(labels, np.int64 if whole else np.str_)
        return read_only(codes.astype(np.int64)), read_only(labels)

    @cached_property
    def groups(self) -> np.ndarray | None:
        """Number of each row's group, (n_samples,); None without a group column.

        Rows without a group are one group of their own.
        """
        name = self._column("group")
        if name is None:
            return None
        codes, _ = pd.factorize(self.frame[name], use_na_sentinel=False)
        return read_only(codes.astype(np.int64))

    def metadata(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Groups and times of some rows, as `fit` takes them; empty without any.

        Parameters
        ----------
        rows : ndarray of int
            Numbers of the rows.

        Returns
        -------
        dict of str to ndarray of shape (n_rows,)
        """
        both = {"groups": self.groups, "times": self.times}
        return {name: of[rows] for name, of in both.items() if of is not None}

    @property
    def time(self) -> str | None:
        """Name of the column that orders the rows in time; None without one."""
        return self._column("time")

    @cached_property
    def times(self) -> np.ndarray | None:
        """Number that rises with each row's time, (n_samples,); None without one."""
        name = self.time
        return None if name is None else read_only(read_times(self.frame[name]))

    @property
    def weight(self) -> str | None:
        """Name of the column that says how many rows each stands for; None: none."""
        return self._column("weight")

    @cached_property
    def weights(self) -> np.ndarray | None:
        """How many rows each row stands for, (n_samples,); None without such a column.

        They are sampling weights: a whole one counts as that many equal rows.
        """
        name = self.weight
        return None if name is None else read_only(read_weights(self.frame[name]))

    def _column(self, wanted: Role) -> str | None:
        return next((n for n, role in self.roles.items() if role == wanted), None)

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
        cleaning: Iterable[CleaningStep | Mapping[str, Any]] | None = None,
    ) -> Dataset:
        """Return the same table with other roles, task, kinds or cleaning.

        Parameters
        ----------
        roles : mapping of str to str, optional
            New roles; columns not named keep theirs, but a former target becomes a
            feature when another column is named target.
        task : {"classification", "regression"}, optional
            By default kept while the target is the same, else guessed from it.
        kinds : mapping of str to {"number", "category"}, optional
            New kinds; columns not named keep theirs.
        cleaning : iterable of CleaningStep, or of what `steps_to_json` writes, optional
            In place of all steps there are.

        Returns
        -------
        Dataset
            Made anew from every row as read.
        """
        roles, kinds = dict(roles or {}), dict(kinds or {})
        origin = self._origin
        steps = self.cleaning if cleaning is None else steps_from_json(cleaning)
        columns = [*origin.frame, *added_columns(steps)]
        check_words(roles, kinds, columns)
        old_roles = dict(self.roles)
        if "target" in roles.values() and self.target not in roles:
            old_roles[self.target] = "feature"
        new_roles, new_kinds = {**old_roles, **roles}, {**self.kinds, **kinds}
        same = new_roles[self.target] == "target" and self.target not in kinds
        task = task or (self.task if same else None)
        applied = apply_roles(origin, new_roles, new_kinds, task, steps)
        follow_up = self.follow_up if same else None
        changed = replace(self, **applied, follow_up=follow_up, outcome="")
        if not self.outcome:
            return changed
        with suppress(DatasetError):  # it may be none of the classes any more
            return replace(changed, outcome=self.outcome)
        return changed

    @property
    def _origin(self) -> Origin:
        frame = self.frame.drop(columns=list(added_columns(self.cleaning)))
        n_test = 0 if self.test_rows is None else self.test_rows.size
        return self.origin or Origin(frame, n_test, self.notices)

    def two_classes(self) -> Dataset:
        """Return the same table with two classes in place of a number to predict.

        Rows below the mean of the target are 'P', the others 'N', as in the papers'
        binary versions of such tables. The mean is that of all rows, test rows
        included: it is part of the question that is asked, not of an answer to it.

        Returns
        -------
        Dataset
            A classification; ``notices`` say the mean.

        Raises
        ------
        DatasetError
            If the target is a category: it has no mean.
        """
        target = shown(self.target)
        if self.kinds[self.target] != "number":
            raise DatasetError(
                f"target={target} should be a number to be cut at its mean, it is a "
                "category; choose another target."
            )
        values = self.frame[self.target].to_numpy(np.float64)
        mean = float(values.mean())
        labels = pd.Series(np.where(values < mean, "P", "N"), dtype="str")
        notice = (
            f"Two classes: 'P' where {target} is below {plain_number(mean, 6)}, the "
            f"mean of all {len(labels):,} rows, test rows included, else 'N'."
        )
        return replace(
            self,
            frame=self.frame.assign(**{self.target: labels}),
            kinds={**self.kinds, self.target: "category"},
            task="classification",
            notices=(*self.notices, notice),
            origin=None,
            outcome="P",
        )

    def with_test(self, frame: pd.DataFrame, notices: tuple[str, ...] = ()) -> Dataset:
        """Return these rows with a second table as the test part.

        Parameters
        ----------
        frame : DataFrame of shape (n_test, n_columns)
            Has every feature, the target and the group under the same names;
            further columns are left out.
        notices : tuple of str
            What reading it has found.

        Returns
        -------
        Dataset
            The rows of ``frame`` stand last; ``notices`` say what differs.
        """
        origin = self._origin
        both = stack(origin, frame, self.roles, self.kinds, notices)
        applied = apply_roles(both, self.roles, self.kinds, self.task, self.cleaning)
        return replace(self, private=True, open_test=False, **applied)

    def with_points(self, X: np.ndarray, y: np.ndarray) -> Dataset:
        """Return a data set of drawn points in place of these rows.

        Parameters
        ----------
        X : ndarray of shape (n_points, n_features)
            Values of the two numeric features; for regression one is enough.
        y : ndarray of shape (n_points,)
            Class or number of each point, one for each row of X.

        Returns
        -------
        Dataset
            Same names, the new rows, ``private``.

        Raises
        ------
        DatasetError
            If there are not two features that are numbers, or there is a follow-up or
            a weight.
        """
        if self.follow_up is not None:
            raise DatasetError(
                f"{shown(self.target)} takes a follow-up time, which a drawn point has "
                "not; choose another target on Data to draw points."
            )
        if self.weights is not None:
            raise DatasetError(
                "A drawn point has no weight, which these rows have; give that column "
                "the role ignore on Data to draw points."
            )
        names = self.feature_columns
        wanted = (2,) if self.task == "classification" else (1, 2)
        numbers = all(self.kinds[name] == "number" for name in names)
        if len(names) not in wanted or not numbers:
            raise DatasetError(
                f"{self.name} should have two features that are numbers to be drawn "
                f"on, it has {len(names)} features; choose two as features."
            )
        X = np.asarray(X, np.float64).reshape(-1, len(names))
        frame = pd.DataFrame(X, columns=names).assign(**{self.target: y})
        return _drawn(self, frame)


#: More than that is another question: then the roles of the columns say it better.
MOST_FORBIDDEN = 100


def forbiddable(dataset: Dataset) -> dict[str, list[str]]:
    """What an expert may forbid, and the columns that go with it.

    Of a table each column, a category with all its levels; of an image each pixel; of
    series of several channels a whole channel, since a single moment of one means
    little; of series of one channel each moment; of matrices each matrix.

    Parameters
    ----------
    dataset : Dataset
        Table, images or series whose features are listed.

    Returns
    -------
    dict of str to list of str
        In the order of the columns; what is forbidden already is among them.
    """
    columns = dataset.sample_columns
    parts = dataset.channels if len(dataset.channels) > 1 else []
    parts = [matrix.name for matrix in dataset.matrices] or parts
    if not parts:
        return {name: [name] for name in columns}
    width = len(columns) // len(parts)
    starts = range(0, len(columns), width)
    return {
        name: columns[first : first + width]
        for name, first in zip(parts, starts, strict=True)
    }


def forbid(dataset: Dataset, names: Iterable[str]) -> Dataset:
    """Return the same table with features that no model may use.

    Their columns are ignored, so that every method learns exactly what it would learn
    from a table without them. Rows, targets and the shape of a sample stay.

    Parameters
    ----------
    dataset : Dataset
        Table whose columns are to be ignored.
    names : iterable of str
        Some of `forbiddable`; what was forbidden before and is not among them is
        allowed again.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If a name is not known, or nothing would be left to learn from.
    """
    known, names = forbiddable(dataset), list(names)
    if unknown := [name for name in names if name not in known]:
        raise DatasetError(
            f"{shown(dataset.name)} has no feature {listed(unknown)} to forbid; it has "
            f"{listed(list(known))}."
        )
    if len(set(names)) > MOST_FORBIDDEN:
        raise DatasetError(
            f"{len(set(names))} features are forbidden, at most {MOST_FORBIDDEN} can "
            "be; give columns the role ignore instead."
        )
    if len(set(names)) == len(known):
        raise DatasetError("All features are forbidden; allow at least one of them.")
    gone = {column for name in names for column in known[name]}
    roles = dict(dataset.roles)
    for column in dataset.sample_columns:
        roles[column] = "ignore" if column in gone else "feature"
    return replace(dataset, roles=roles, forbidden=tuple(sorted(gone)))


def in_place(
    dataset: Dataset, rows: np.ndarray, blank: float = float("nan")
) -> np.ndarray:
    """Return what belongs to features at the features' places in a whole sample.

    Parameters
    ----------
    dataset : Dataset
        All features are numbers.
    rows : ndarray of shape (n_rows, n_features)
        Values, or weights, of the features that may be used.
    blank : float
        What stands at the forbidden places.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        As many as ``dataset.sample_shape`` says.
    """
    if not dataset.forbidden:
        return rows
    allowed = [dataset.roles[name] == "feature" for name in dataset.sample_columns]
    whole = np.full((len(rows), len(allowed)), blank, dtype=rows.dtype)
    whole[:, allowed] = rows
    return whole


def with_series(dataset: Dataset, x: np.ndarray, label: Any, most: int) -> Dataset:
    """Return a data set of series with one more.

    Parameters
    ----------
    dataset : Dataset
        Series, without groups, times or weights of rows.
    x : ndarray of shape (n_features,)
        Values of the new series, channel beside channel.
    label : object
        Its class, one of those there are, or its number.
    most : int
        Rows that there may be.

    Returns
    -------
    Dataset
        ``private``; the new row is the last one.

    Raises
    ------
    DatasetError
        If there would be too many rows, or rows have a group, a time or a weight.
    """
    if any(role in ("group", "time", "weight") for role in dataset.roles.values()):
        raise DatasetError(
            "A drawn series has no group, time or weight, which these rows have; give "
            "those columns the role ignore on Data."
        )
    if dataset.n_samples >= most:
        raise DatasetError(f"At most {most:,} rows can be drawn on; use fewer rows.")
    names = [*dataset.feature_columns, dataset.target]
    row = pd.DataFrame([[*np.asarray(x, np.float64), label]], columns=names)
    return _drawn(dataset, pd.concat([dataset.frame[names], row], ignore_index=True))


def _drawn(dataset: Dataset, frame: pd.DataFrame) -> Dataset:
    """The data set with rows some of which were drawn, and none as it was read."""
    return replace(
        dataset,
        frame=frame,
        roles={name: dataset.roles[name] for name in frame},
        private=True,
        **dict.fromkeys(("kinds", "test_rows", "numbers", "origin")),
        **dict.fromkeys(("notices", "cleaning"), ()),
    )
