"""The map of a table: laid out once for its split, in the background."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pages.work.parts import Parts
from pages.work.tasks import STUDIES, Task
from smpcore import METHODS, PrototypeModel, SmpcoreError, figures

#: Places of bundled tables, for their default split.
FOLDER = Path(__file__).parents[2] / "assets" / "maps"
#: A table opens with its map where the main plane shows less than this share of the
#: rows as the default model answers, and the map at least that.
PLANE_SHARE, MAP_SHARE = 0.8, 0.95


def stored(data: Parts) -> Path:
    """The file of these very rows and parts, if it is there."""
    return FOLDER / f"{data.dataset.digest[:16]}_{data.split.key[:8]}.npz"


def laid_out_rows(data: Parts) -> tuple[np.ndarray, np.ndarray]:
    """Training rows that are laid out, and other rows that are placed among them."""
    classify = data.dataset.task == "classification"
    division = data.split
    if len(division.train) > figures.MOST_LAID_OUT:
        division = division.thinned(data.y, figures.MOST_LAID_OUT, classify)
    others = np.concatenate([data.split.validation, data.split.test])
    others = np.concatenate([others, np.setdiff1d(data.split.train, division.train)])
    return division.train, others[: figures.MOST_PLACED]


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
        return self.plane_share < PLANE_SHARE and self.map_share >= MAP_SHARE

    @property
    def both_miss(self) -> bool:
        """Whether the table opens with the main plane for want of a better picture."""
        return self.plane_share < PLANE_SHARE and not self.opens

    def _lay_out(self, stop: np.ndarray, progress: np.ndarray) -> None:
        X, (train, others) = self._data.X, laid_out_rows(self._data)
        rows, file = X[train], stored(self._data)
        if not self._data.dataset.private and file.exists():
            with np.load(file, allow_pickle=False) as saved:
                places, smoothing = saved["places"], float(saved["smoothing"])
        else:

            def report(share: float) -> bool:
                progress[0] = 0.9 * share
                return bool(stop[0])

            places, smoothing = figures.lay_out(rows, X[others], report)
        if stop[0]:
            raise SmpcoreError("Stopped.")
        self.places, self.smoothing = places, smoothing
        view = figures.map_view(rows, X[others], places, smoothing)
        model, y = self._default_model(train), self._data.y[train]
        spread = 0.0 if model.classes is not None else float(np.ptp(y))
        compared = self._data.dataset.matrices
        plane = (figures.similarity_view if compared else figures.pca_view)(rows)
        flat = plane.lift(plane.project(rows))
        self.plane_share = figures.agreement(model, rows, flat, spread)
        self.map_share = figures.agreement(model, rows, view.unseen, spread)
        view.nodes(view.most_nodes)
        self.view = view

    def _default_model(self, train: np.ndarray) -> PrototypeModel:
        dataset = self._data.dataset
        able = (m for m in METHODS.values() if m.learns(dataset, dataset.task))
        method = next(able)
        values = method.defaults(dataset.task)
        values |= method.data_params(dataset, values)
        unfitted = method.estimator_for(dataset, values)
        return unfitted.fit(self._data.X[train], self._data.y[train]).model_
