"""Studies of a table, each made once: fold scores, a candidate, a sweep, a map."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pages.work import study_pool
from pages.work.cache import memo
from pages.work.tasks import STUDIES, Task
from pages.work.warmup import make_ready
from smpcore import (
    METHODS,
    Dataset,
    PrototypeModel,
    SmpcoreError,
    evaluation,
    figures,
    sweep,
)
from smpcore.datasets import plain_number, text_features
from smpcore.live import Pairs, Parts, flat_window, laid_out_rows
from smpcore.model import Calibration


class TrainingScores:
    """Out-of-fold scores of one method with its values, once `compute` has run."""

    def __init__(self, data: Parts, method: str, values: dict[str, Any]) -> None:
        self._data, self._method, self._values = data, method, dict(values)
        self.scores: np.ndarray | None = None
        self.calibration: Calibration | None = None
        self.problem = ""

    def compute(self, stop: np.ndarray, progress: np.ndarray) -> np.ndarray:
        """Fit on folds of the training rows; the work of a task."""
        if self.scores is None:
            data = self._data
            unfitted = METHODS[self._method].estimator_for(data.dataset, self._values)
            with study_pool.executor_for(data.dataset) as executor:
                options = {"stop": stop, "progress": progress, "executor": executor}
                scores = evaluation.out_of_fold(
                    unfitted, data.dataset, data.split, **options
                )
            try:
                self.calibration = self._calibrated(scores)
            except SmpcoreError as error:
                self.problem = str(error)
            self.scores = scores  # last: whoever sees them finds the rest as well
        return self.scores

    def _calibrated(self, scores: np.ndarray) -> Calibration:
        data, y = self._data, self._data.of("train")[1]
        of_rows = data.clusters("train"), data.weights("train")
        if data.dataset.classes is None:
            return evaluation.calibrate(scores, y, None, *of_rows)
        # A model has the classes of its training rows only.
        classes = np.unique(y)
        columns = evaluation.class_numbers(classes, data.dataset.classes)
        return evaluation.calibrate(scores[:, columns], y, classes, *of_rows)


training_scores = memo(64)(TrainingScores)


#: What it is called not to search for settings.
CURRENT_SETTINGS = "current settings"


@dataclass(frozen=True)
class Entry:
    """Who takes part."""

    key: str
    values: tuple[tuple[str, Any], ...] = ()

    @property
    def title(self) -> str:
        """Its title and the settings that are not the usual ones."""
        return ", ".join(
            [evaluation.title_of(self.key), *settings_in_words(dict(self.values))]
        )


def settings_in_words(values: Mapping[str, Any]) -> list[str]:
    """Each parameter and its value."""
    return [
        f"{name} = {plain_number(value)}"
        if isinstance(value, float)
        else f"{name} = {value!s:.20}"
        for name, value in values.items()
    ]


class CandidateJob(Task):
    """Fit one candidate on the training rows."""

    def __init__(self, data: Parts, entry: Entry, search: bool) -> None:
        self._data, self._entry, self._search = data, entry, search
        self.candidate: evaluation.ComparedModel | None = None
        self._answers: dict[str, np.ndarray] = {}
        super().__init__(self._fit, study=data.dataset)

    def _fit(self, stop: np.ndarray, progress: np.ndarray) -> None:
        entry = self._entry
        make_ready(entry.key)
        dataset, rows = self._data.dataset, self._data.split.with_censored
        drawn = _folds(dataset, rows) if self._search else ()
        with study_pool.executor_for(dataset) as executor:
            fitted = evaluation.fit_compared(
                entry.key, dataset, rows, dict(entry.values), drawn, stop, executor
            )
            part = self._data.scored_part
            shared = fitted, self._data.of(part)[0]
            answers = evaluation.run_one(_answers, shared, stop, executor)
            self._answers, self.candidate = {part: answers}, fitted

    def answers(self, part: str) -> np.ndarray:
        """Its answers to the rows of a part, computed once: those of many take long."""
        if part not in self._answers:
            self._answers[part] = self.candidate.answers(self._data.of(part)[0])
        return self._answers[part]

    @property
    def missing(self) -> str:
        """Why there is no candidate; empty if there is one, or may still be."""
        is_stopped = self.candidate is None and not self.running
        return self.problem or ("Stopped." if is_stopped else "")


def _answers(shared: tuple[evaluation.ComparedModel, np.ndarray], _: tuple) -> Any:
    fitted, X = shared
    return fitted.answers(X)


candidate = memo(128)(CandidateJob)


def _folds(dataset: Dataset, rows: np.ndarray) -> list[evaluation.Fold]:
    try:
        return evaluation.folds(dataset, rows)
    except SmpcoreError as error:  # this page has no control for their number
        raise SmpcoreError(
            "the training rows cannot be divided into folds for cross-validation; "
            f'choose "{CURRENT_SETTINGS}", or give training a larger share on Data.'
        ) from error


def about_differences(n_rows: int, part: str, dataset: Dataset) -> str:
    """What the table of differences holds, and which rows it takes as dependent."""
    words = (
        f"Paired test of every model against A on the same {n_rows} {part} rows; "
        "intervals and p-values are corrected for the number of models (Holm). Use "
        "this table to judge differences: intervals of single models can overlap "
        "even if they differ. The score of a model chosen on these rows is "
        "optimistic; use the test rows for the final estimate."
    )
    if dataset.times is None:
        return words
    return (
        f"{words} The tests use short blocks in time as groups: rows near each "
        "other in time depend on each other, those of different blocks are taken as "
        "independent."
    )


#: In place of a method's key: a group of baselines, all in one sweep.
SWEPT_GROUPS = ("usual", "selected")
#: Points of a first sweep, and of a fine one.
COARSE, FINE = 8, 30


#: A sweep goes through training rows with at most so many numbers, not to take minutes;
#: through so many rows in any case.
MOST_SWEPT_VALUES, LEAST_SWEPT_ROWS = 300_000, 2_000


@memo(32)
def swept_part(data: Parts) -> Parts:
    """The same data with the training rows that are swept: of many a sample."""
    if data.dataset.matrices:  # fewer rows have other columns, too
        return data
    most = max(LEAST_SWEPT_ROWS, MOST_SWEPT_VALUES // max(data.X.shape[1], 1))
    classify = data.dataset.task == "classification"
    return replace(data, split=data.split.thinned(data.y, most, classify))


class SweepJob(Task):
    """One method's sweep over the folds of the training rows."""

    def __init__(
        self, data: Parts, key: str, values: Pairs, n_folds: int, fine: bool
    ) -> None:
        self.key, self.fine = key, fine
        self._dataset, self._rows = data.dataset, data.split.with_censored
        self._values, self._n_folds = dict(values), n_folds
        self._looked: dict[str, tuple[pd.DataFrame, pd.DataFrame]] = {}
        self._fits: list[dict[str, Any]] = []
        self.n_folds_drawn = self.n_fits = 0
        self._began = time.monotonic()
        super().__init__(self._sweep, study=data.dataset)

    def _sweep(self, stop: np.ndarray, progress: np.ndarray) -> None:
        # A list of its own: one that was stopped may still add a fit to the former.
        rows = self._fits = []
        self._looked = {}
        make_ready(self.key)
        drawn = evaluation.folds(self._dataset, self._rows, self._n_folds)
        if not self.fine:
            drawn = [fold for fold in drawn if fold.repeat == 0]
        paths = self._paths()
        self.n_folds_drawn = len(drawn)
        self.n_fits = n_fits = len(drawn) * sum(len(path.grid) for path in paths)
        self._began = time.monotonic()
        mode = "warm" if self.fine else "preview"
        with study_pool.executor_for(self._dataset) as executor:
            options = {"mode": mode, "stop": stop, "executor": executor}
            for path in paths:  # the slowest is last
                for row in sweep(self._dataset, drawn, [path], **options):
                    rows.append(row)
                    progress[0] = len(rows) / n_fits

    def _paths(self) -> list[Any]:
        if self.key in SWEPT_GROUPS:
            return evaluation.baseline_paths(self._dataset.task, (self.key,))
        points = FINE if self.fine else COARSE
        where = self._dataset, self._rows
        return [evaluation.method_path(self.key, *where, self._values, points)]

    @property
    def complete(self) -> bool:
        """Whether every fit is there."""
        return 0 < self.n_fits == len(self._fits)

    @property
    def n_done(self) -> int:
        """Fits so far."""
        return len(self._fits)

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far; None before there is one."""
        done = self.n_done
        if not done:
            return None
        return (time.monotonic() - self._began) / done * (self.n_fits - done)

    def look(self, score: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The fits so far, and the points that all folds have seen.

        Who looks again while nothing has come in gets the same tables.
        """
        rows = list(self._fits)
        fits, points = self._looked.get(score, (None, None))
        if fits is None or len(fits) != len(rows):
            fits = evaluation.sweep_table(rows, self._dataset.task)
            points = evaluation.summary(fits, score, self.n_folds_drawn or 1)
            self._looked[score] = fits, points
        return fits, points


swept = memo(64)(SweepJob)


#: Places of bundled tables, for their default split.
MAPS = Path(__file__).parents[2] / "assets" / "maps"
#: A picture is true enough if it shows this share of the rows as the default model
#: answers. A table opens with its map where the main plane is not; where the map is not
#: either, with the rows on it alone.
TRUE_SHARE = 0.8
_ROWS_ALONE = (
    "Here all regions are, so look at the rows: for the default model the main plane "
    "shows {:.0%} of the training rows as predicted, this map {:.0%} of rows left out."
)


def stored(data: Parts) -> Path:
    """The file of these very rows and parts, if it is there."""
    return MAPS / f"{data.dataset.digest[:16]}_{data.split.key[:8]}.npz"


class MapJob(Task):
    """Lays out a map, and decides whether the table opens with it.

    Parameters
    ----------
    data : Parts

    Attributes
    ----------
    view : figures.MapView or None
        Once it is there.
    places : ndarray of shape (n_laid_out + n_placed, 2)
        Where rows lie, in the order of `laid_out_rows`.
    smoothing : float
        Of the surface through them.
    plane_share, map_share : float
        Of the laid out rows: how many the main plane, and the map without these rows,
        show as the default model answers.
    """

    def __init__(self, data: Parts) -> None:
        self.view: figures.MapView | None = None
        self.plane_share = self.map_share = np.nan
        self._data = data
        super().__init__(self._lay_out, line=STUDIES)

    @property
    def opens(self) -> bool:
        """Whether the table opens with its map: decided once."""
        return self.plane_share < TRUE_SHARE

    def _lay_out(self, stop: np.ndarray, progress: np.ndarray) -> None:
        train, compared = laid_out_rows(self._data)[0], self._data.dataset.matrices
        rows, y = self._data.X[train], self._data.y[train]
        views = self._views(stop, progress)
        model = self._default_model(train)
        answers = model.predict(rows)
        spread = 0.0 if model.classes is not None else float(np.ptp(y))

        def shown(inputs: np.ndarray) -> float:
            return figures.shown_rightly(model, answers, inputs, spread).mean()

        # The first unless it shows fewer of the rows rightly, each left out.
        shares = [shown(view.unseen) for view in views]
        self.map_share, view = max(zip(shares, views, strict=True), key=itemgetter(0))
        self.places, self.smoothing = view.positions.astype(np.float32), view.smoothing
        plane = (figures.similarity_view if compared else figures.pca_view)(rows)
        self.plane_share = shown(plane.lift(plane.project(rows)))
        if self.map_share < TRUE_SHARE:
            note = _ROWS_ALONE.format(self.plane_share, self.map_share)
            view = replace(view, holds=False, note=f"{view.note} {note}")
        view.nodes(view.most_nodes)
        self.view = view

    def _views(self, stop: np.ndarray, progress: np.ndarray) -> list[figures.MapView]:
        """The map as stored, or with rows moved to their answers and as laid out."""
        X, (train, others) = self._data.X, laid_out_rows(self._data)
        dataset, file = self._data.dataset, stored(self._data)
        columns = None if dataset.matrices else self._data.preparation.column_of_feature
        if not dataset.private and file.exists():
            with np.load(file, allow_pickle=False) as saved:
                layouts, smoothing = [saved["places"]], float(saved["smoothing"])
        else:

            def report(share: float) -> bool:
                progress[0] = 0.9 * share
                return bool(stop[0])

            scores = self._scores(train, others, stop)
            known = X[train], X[others], columns, scores
            places, smoothing = figures.lay_out(*known, report)
            layouts = [places]
            if not stop[0] and scores is not None and scores.shape[1] > 1:
                layouts.insert(0, figures.move_to_answers(places, smoothing, *known))
        if stop[0]:
            raise SmpcoreError("Stopped.")
        title = "" if dataset.matrices else self._default_method().title
        more = smoothing, columns, title
        return [figures.map_view(X[train], X[others], at, *more) for at in layouts]

    def _scores(
        self, train: np.ndarray, others: np.ndarray, stop: np.ndarray
    ) -> np.ndarray | None:
        """Scores of the default method, each by fits that do not know the row."""
        X, y = self._data.X, self._data.y
        classes = self._data.dataset.classes
        if self._data.dataset.matrices:  # whose columns are the training rows
            return None
        n_outputs = 1 if classes is None else len(classes)
        scores = np.zeros((len(train) + len(others), n_outputs))
        part = np.empty(len(train), dtype=int)
        in_order = np.argsort(y[train], kind="stable")  # each class in all parts
        part[in_order] = np.arange(len(train)) % figures.FOLDS
        for k in range(figures.FOLDS):
            if stop[0]:
                break
            out = np.flatnonzero(part == k)
            model = self._default_model(train[part != k])
            columns = np.arange(n_outputs)
            if classes is not None:
                columns = evaluation.class_numbers(model.classes, classes)
            scores[np.ix_(out, columns)] = model.scores(X[train[out]])
            scores[len(train) :, columns] += model.scores(X[others]) / figures.FOLDS
        return scores

    def _default_method(self) -> Any:
        dataset = self._data.dataset
        return next(m for m in METHODS.values() if m.learns(dataset, dataset.task))

    def _default_model(self, train: np.ndarray) -> PrototypeModel:
        dataset, method = self._data.dataset, self._default_method()
        values = method.defaults(dataset.task)
        values |= method.data_params(dataset, values)
        unfitted = method.estimator_for(dataset, values)
        X, y = self._data.X[train], self._data.y[train]
        return unfitted.fit(X, y, **dataset.metadata(train)).model_


_map = memo(16)(MapJob)


def map_of(data: Parts) -> MapJob | None:
    """The map of a table, begun when it is first asked for; None: there is none."""
    n_rows, n_features = data.of("train")[0].shape
    # Of texts the plane shows more: a place between two texts stands for no third.
    flat = n_features < 3 or text_features(data.dataset)
    flat = flat or (data.dataset.matrices and n_rows > figures.MOST_LAID_OUT)
    return None if flat or figures.map_problem(n_rows, n_features) else _map(data)


def view(data: Parts, chosen: Mapping[str, Any]) -> figures.View:
    """The window that is painted; the main plane until a map is there."""
    if chosen["kind"] != "map":
        return _flat_view(data, chosen)
    job = map_of(data)
    return (job and job.view) or _flat_view(data, {**chosen, "kind": "pca"})


_flat_view = memo(128)(flat_window)
