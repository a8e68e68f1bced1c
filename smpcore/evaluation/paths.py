"""Paths: the values of one parameter at which a method or baseline is fitted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from smpcore.baselines import BASELINES
from smpcore.datasets import Dataset, prepare, training_rows
from smpcore.methods import METHODS, Method


@dataclass(frozen=True)
class ParameterPath:
    """One model family along one parameter.

    Parameters
    ----------
    key : str
        Of `METHODS`, or of `BASELINES`.
    values : mapping
        The other parameters' values.
    parameter : str
        The one that varies; empty for a baseline at one setting.
    grid : tuple
        Its values, in the order of the chain.
    """

    key: str
    values: Mapping[str, Any]
    parameter: str = ""
    grid: tuple[Any, ...] = (None,)


def method_path(
    key: str,
    dataset: Dataset,
    rows: np.ndarray,
    values: Mapping[str, Any] | None = None,
    n_points: int = 10,
) -> ParameterPath:
    """Values of a method's sparsity parameter, spread over its range.

    Only one where it means nothing at the other parameters' values.

    Parameters
    ----------
    key : str
        Key of the method in `METHODS`.
    dataset : Dataset
        Table to learn from; its preparation is learned on `rows`.
    rows : ndarray of int
        The training rows, ``with_censored`` of a split: they say between which ends
        the parameter matters.
    values : mapping, optional
        The other parameters' values, where they are not the method's defaults.
    n_points : int
        At most so many values.

    Returns
    -------
    ParameterPath
    """
    method = METHODS[key]
    values = {**method.defaults(dataset.task), **(values or {})}
    rows, weights = training_rows(dataset, rows)
    preparation = prepare(dataset, rows)
    X = preparation.transform(dataset.frame.iloc[rows])
    estimator = method.estimator_for(dataset, values)
    problem = estimator.problem(X, dataset.y[rows], weights)
    slider_ranges = method.bounds(problem, values)
    grid = _spread(method, slider_ranges[method.sparsity], n_points)
    meaningful = method.param(method.sparsity).shown_if
    if meaningful is not None and not meaningful(values):
        grid = grid[:1]  # all of them would be the same model
    return ParameterPath(key, values, method.sparsity, grid)


def _spread(method: Method, limits: tuple[float, float], n_points: int) -> tuple:
    """Values of the sparsity parameter, in the order of the chain."""
    param, (low, high) = method.param(method.sparsity), limits
    if param.scale == "int":
        low, high = round(low), round(high)
        n_points = min(n_points, high - low + 1)
        # Evenly by ratio, and one apart at least.
        grid = np.geomspace(low, high, n_points).round()
        grid = np.maximum(grid, low + np.arange(n_points))
        grid_values = [int(value) for value in grid]
    else:
        # At its end a parameter with an exact 0 has switched everything off.
        inner = np.geomspace(low, high, n_points)[: -1 if param.zero else None]
        grid_values = [0.0] * param.zero + [float(f"{value:.3g}") for value in inner]
    grid_values = list(
        dict.fromkeys(grid_values)
    )  # many values are the same once rounded
    return tuple(grid_values[::-1] if method.from_right else grid_values)


def baseline_paths(
    task: str, groups: Collection[str] = ("usual",)
) -> list[ParameterPath]:
    """Paths of the baselines: several values where these make sparse models.

    Parameters
    ----------
    task : str
        "classification" or "regression".
    groups : collection of str
        Those of `Baseline.group` that are wanted.

    Returns
    -------
    list of ParameterPath
    """
    paths = []
    for key, row in BASELINES.items():
        if task in row.tasks and row.group in groups:
            grid = row.grid[row.path] if row.path else (None,)
            paths.append(ParameterPath(key, {}, row.path, grid))
    return paths
