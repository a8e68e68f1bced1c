"""Dataset: a table with roles, and what was found while they were applied."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from smpcore.datasets.apply_roles import Origin, apply_roles, stack
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
    check_words,
    is_numeric,
)
from smpcore.datasets.display_names import plain_number, shown
from smpcore.datasets.follow_up import FollowUp
from smpcore.datasets.kernels import Matrix
from smpcore.datasets.reading import Reading
from smpcore.datasets.synthetic import cells
from smpcore.datasets.times import read_times
from smpcore.datasets.validation import (
    SHARED_FRAME,
    bytes_of,
    bytes_together,
    check_content,
    coded_labels,
    pickled,
    read_only,
    stored,
)
from smpcore.errors import DatasetError


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
    roles : mapping of str to {"feature", "target", "group", "time", "ignore"}
        Role of every column of ``frame``; exactly one target, at most one group and
        one time.
    task : {"classification", "regression"}
        What the target is.
    source, description : str
        Where the data came from, and what they are, in words.
    kinds : mapping of str to {"number", "category"}, optional
        How each column is read; by default as it is stored.
    sample_shape : tuple of int
        Shape of one sample, (8, 8) for an 8x8 image; ``(n_features,)`` by default.
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

    def __post_init__(self):
        frame = stored(self.frame)
        kinds = self.kinds or {
            name: "number" if is_numeric(frame[name]) else "category" for name in frame
        }
        check_content(frame, self.roles, kinds, self.task)
        put = self.__dict__.update  # as every frozen dataclass sets its own fields
        put(frame=frame, notices=tuple(self.notices))
        put(roles=MappingProxyType({name: self.roles[name] for name in frame}))
        put(kinds=MappingProxyType({name: kinds[name] for name in frame}))
        _ = self.times  # what is no time is refused now
        for name in ("test_rows", "numbers"):
            if (rows := getattr(self, name)) is not None:
                put(**{name: read_only(np.array(rows, np.int64))})
        put(forbidden=tuple(n for n in self.forbidden if self.roles.get(n) == "ignore"))
        if np.prod(self.sample_shape or (0,)) != len(self.sample_columns):
            put(sample_shape=(len(self.sample_columns),))

    def __repr__(self) -> str:
        return (
            f"<Dataset {shown(self.name)}: {self.n_samples} rows, "
            f"{len(self.feature_columns)} features, {self.task}>"
        )

    def __reduce__(self):
        return pickled(self)

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
        for more in (self.follow_up, self.matrices):
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
        return bytes_together(self.frame, self.whole)

    @property
    def _n_test(self) -> int:
        return 0 if self.test_rows is None else self.test_rows.size

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

    @cached_property
    def _coded(self) -> tuple[np.ndarray, np.ndarray]:
        return coded_labels(self.frame[self.target])

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

    @property
    def time(self) -> str | None:
        """Name of the column that orders the rows in time; None without one."""
        return self._column("time")

    @cached_property
    def times(self) -> np.ndarray | None:
        """Number that rises with each row's time, (n_samples,); None without one."""
        name = self.time
        return None if name is None else read_only(read_times(self.frame[name]))

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
    ) -> "Dataset":
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
        check_words("roles", roles, columns)
        check_words("kinds", kinds, columns)
        old_roles = dict(self.roles)
        if "target" in roles.values() and self.target not in roles:
            old_roles[self.target] = "feature"
        new_roles, new_kinds = {**old_roles, **roles}, {**self.kinds, **kinds}
        same = new_roles[self.target] == "target" and self.target not in kinds
        task = task or (self.task if same else None)
        applied = apply_roles(origin, new_roles, new_kinds, task, steps)
        return replace(self, **applied, follow_up=self.follow_up if same else None)

    @property
    def _origin(self) -> Origin:
        frame = self.frame.drop(columns=list(added_columns(self.cleaning)))
        return self.origin or Origin(frame, self._n_test, self.notices)

    def two_classes(self) -> "Dataset":
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
        )

    def with_test(
        self, frame: pd.DataFrame, notices: tuple[str, ...] = ()
    ) -> "Dataset":
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

    def with_points(self, X: np.ndarray, y: np.ndarray) -> "Dataset":
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
            If there are not two features that are numbers, or there is a follow-up.
        """
        if self.follow_up is not None:
            raise DatasetError(
                f"{shown(self.target)} takes a follow-up time, which a drawn point has "
                "not; choose another target on Data to draw points."
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
        roles = {name: self.roles[name] for name in frame}
        return replace(
            self,
            **{"frame": frame, "roles": roles, "kinds": None, "test_rows": None},
            **{"private": True, "notices": (), "origin": None, "numbers": None},
            cleaning=(),
        )
