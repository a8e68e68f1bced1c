"""IMKPL's experiments, and the two baselines that no library has."""

import numpy as np
import pandas as pd
import pytest

from smpcore.datasets import load_dataset
from smpcore.datasets.limits import check_size
from smpcore.methods import METHODS
from smpcore.methods.imkpl import IMKPLClassifier
from smpcore.methods.imkpl.fit import interpretability
from smpcore.papers.experiment import Trial
from smpcore.papers.imkpl import tables
from smpcore.papers.imkpl.tables import (
    AveragedKernel,
    cost_and_gradient,
    cover,
    descend,
    interpretability_of,
)
from smpcore.papers.protocols import halves

RANDOM = np.random.default_rng(0)
SETTINGS, BOTH, TIMES = tables.EXPERIMENTS
#: Four rows on a line; the kernel is that of their places, as unit vectors.
ANGLES = np.radians([0.0, 60.0, 90.0, 150.0])
K4 = np.cos(ANGLES[:, None] - ANGLES)
LABELS = np.array([0, 0, 1, 1])


def test_gradient_of_glvq_is_its_slope():
    X = RANDOM.normal(size=(12, 3))
    K = AveragedKernel.of(X).K
    y = np.arange(12) % 3
    same_class = y[:, None] == np.array([0, 0, 1, 2])
    U = RANDOM.dirichlet(np.ones(12), 4)
    _, gradient = cost_and_gradient(U, K, same_class)
    step = RANDOM.normal(size=U.shape)
    ahead, behind = (
        cost_and_gradient(U + h * step, K, same_class)[0] for h in (1e-6, -1e-6)
    )
    slope = (ahead - behind) / 2e-6
    assert (gradient * step).sum() == pytest.approx(slope, rel=1e-5)
    lower = descend(U, K, same_class, np.ones(U.shape, dtype=bool))
    assert (
        cost_and_gradient(lower, K, same_class)[0]
        < cost_and_gradient(U, K, same_class)[0]
    )
    assert lower.min() >= 0 and lower.sum(axis=1) == pytest.approx(1)


def test_balls_by_hand():
    # Rows at 0, 1, 2 of class 0, at 3 and 4 of class 1; balls reach one place.
    places = np.arange(5.0)
    D = np.abs(places[:, None] - places)
    y = np.array([0, 0, 0, 1, 1])
    # The ball around 1 covers all three of class 0. Of class 1 the ball around 4
    # covers both, the one around 3 also the row at 2.
    assert cover(D, y, 1.5) == [(1, 0), (4, 1)]
    # Smaller balls cover their middle only, and each saves 1 for 1 / 5.
    assert cover(D, y, 0.5) == [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)]


def test_interpretability_by_its_formula_is_that_of_the_model():
    rows = halves(load_dataset("wine"), 0)
    fitted = IMKPLClassifier(kernel_weights="even", n_prototypes=3).fit(rows.X, rows.y)
    kernel = AveragedKernel.of(rows.X)
    U = np.zeros((len(fitted.model_.votes), len(rows.y)))
    U[:, fitted.anchor_rows_] = fitted.model_.mixing.T
    codes = np.searchsorted(fitted.classes_, rows.y)
    np.testing.assert_allclose(
        interpretability_of(U, kernel.K, codes), interpretability(fitted.model_)
    )


def test_a_table_entry_is_the_model_that_explore_opens(monkeypatch):
    for model, fit in tables.MODELS.items():
        monkeypatch.setitem(tables.MODELS, model, fit._replace(grid=fit.grid[-2:]))
    dataset, method = load_dataset("wine"), METHODS["imkpl"]
    rows = tables.drawn_halves(dataset, 0)
    assert np.unique([*rows.y, *rows.y_test], return_counts=True)[1].max() == 60
    for model in (tables.OURS, tables.PRINTED, tables.ISKPL):
        outcome = BOTH.run(Trial("wine", model, 0), dataset)
        values = {**method.defaults(), **outcome.values}
        opened = method.estimator(values).fit(rows.X, rows.y)
        assert tables.quality(opened, rows) == pytest.approx(outcome.measures)
    assert outcome.measures[tables.KERNELS] == 13
    for model in ("AKGLVQ", "PS"):
        outcome = BOTH.run(Trial("wine", model, 0), dataset)
        assert 80 < outcome.measures[tables.ACC] <= 100
        assert tables.DR not in outcome.measures and not outcome.method


def test_the_widest_tables_of_the_paper_may_be_laid_into_the_folder(tmp_path):
    """CLL_SUB_111 by a file of its columns; PEMS by its size, which is 765 MB."""
    check_size(440, 963 * 144)
    values = RANDOM.normal(size=(30, 11_340)).round(2)
    frame = pd.DataFrame(values, columns=[f"g{j}" for j in range(11_340)])
    path = tmp_path / "CLL_SUB_111.csv"
    frame.assign(kind=[*"abc"] * 10).to_csv(path, index=False)
    source = tables.PAPERS[path.stem]
    assert source.is_here(tmp_path) and not source.is_here()
    dataset = source.load(tmp_path)
    assert dataset.classes.tolist() == [*"abc"]
    assert tables.drawn_halves(dataset, 0).X.shape == (15, 11_340)
