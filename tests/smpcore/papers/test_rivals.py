"""Parts of experiments that no library has: by hand, as slopes, by other solvers."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC, SVR

from smpcore import load_dataset
from smpcore.datasets import make_dataset
from smpcore.datasets.limits import check_size
from smpcore.methods import METHODS
from smpcore.methods.imkpl import IMKPLClassifier
from smpcore.model.prototype_measures import interpretability
from smpcore.papers import EXPERIMENTS, by_name
from smpcore.papers.experiment import Trial
from smpcore.papers.imkpl import tables as imkpl
from smpcore.papers.mprotsvm import tables as mprotsvm
from smpcore.papers.mprotsvm.tables import lvq21_step, olvq1_step
from smpcore.papers.protocols import Halves, halves, standardised_halves, with_codes
from smpcore.papers.small.sparsity import forward, loss_and_gradients, squared_error
from smpcore.papers.smp import convergence, sparsity
from smpcore.papers.supersparse import regression as costs
from smpcore.papers.supersparse.figures import FAR, equal_error_rate, false_rejections

RANDOM = np.random.default_rng(0)


K = imkpl.OnAveragedKernel().fit(RANDOM.normal(size=(12, 3)), np.arange(12)).K_
SAME_CLASS = (np.arange(12) % 3)[:, None] == np.array([0, 0, 1, 2])


def glvq(arrays):
    """Cost and slopes of prototypes that are mixes of rows."""
    cost, slope = imkpl.cost_and_gradient(arrays["U"], K, SAME_CLASS)
    return cost, {"U": slope}


def test_glvq_descends_and_its_mixes_stay_shares():
    U = RANDOM.dirichlet(np.ones(12), 4)
    lower = imkpl.descend(U, K, SAME_CLASS, np.ones(U.shape, dtype=bool))
    assert glvq({"U": lower})[0] < glvq({"U": U})[0]
    assert lower.min() >= 0 and lower.sum(axis=1) == pytest.approx(1)


def test_balls_by_hand():
    # Rows at 0, 1, 2 of class 0, at 3 and 4 of class 1; balls reach one place.
    places = np.arange(5.0)
    D = np.abs(places[:, None] - places)
    y = np.array([0, 0, 0, 1, 1])
    # The ball around 1 covers all three of class 0. Of class 1 the ball around 4
    # covers both, the one around 3 also the row at 2.
    assert imkpl.cover(D, y, 1.5) == [(1, 0), (4, 1)]
    # Smaller balls cover their middle only, and each saves 1 for 1 / 5.
    assert imkpl.cover(D, y, 0.5) == [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)]


def test_interpretability_by_its_formula_is_that_of_the_model():
    rows = halves(load_dataset("wine"), 0)
    fitted = IMKPLClassifier(kernel_weights="even", n_prototypes=3).fit(rows.X, rows.y)
    K = imkpl.OnAveragedKernel().fit(rows.X, rows.y).K_
    U = np.zeros((len(fitted.model_.votes), len(rows.y)))
    U[:, fitted.anchor_rows_] = fitted.model_.mixing.T
    codes = np.searchsorted(fitted.classes_, rows.y)
    np.testing.assert_allclose(
        imkpl.interpretability_of(U, K, codes), interpretability(fitted.model_)
    )


def test_a_table_entry_of_imkpl_is_the_model_that_explore_opens(monkeypatch):
    for model, fit in imkpl.MODELS.items():
        monkeypatch.setitem(imkpl.MODELS, model, fit._replace(grid=fit.grid[-2:]))
    dataset, method = load_dataset("wine"), METHODS["imkpl"]
    rows = imkpl.drawn_halves(dataset, 0)
    assert np.unique([*rows.y, *rows.y_test], return_counts=True)[1].max() == 60
    run = by_name(EXPERIMENTS, "imkpl-tables-2-3").run
    for model in (imkpl.OURS, imkpl.PRINTED, imkpl.ISKPL):
        outcome = run(Trial("wine", model, 0), dataset)
        values = {**method.defaults(), **outcome.values}
        opened = method.estimator(values).fit(rows.X, rows.y)
        assert imkpl.quality(opened, rows) == pytest.approx(outcome.measures)
    assert outcome.measures[imkpl.KERNELS] == 13
    for model in ("AKGLVQ", "PS"):
        outcome = run(Trial("wine", model, 0), dataset)
        assert 80 < outcome.measures[imkpl.ACC] <= 100
        assert imkpl.DR not in outcome.measures and not outcome.method


def test_the_widest_tables_of_the_paper_may_be_laid_into_the_folder(tmp_path):
    """CLL_SUB_111 by a file of its columns; PEMS by its size, which is 765 MB."""
    check_size(440, 963 * 144)
    values = RANDOM.normal(size=(12, 11_340)).round(2)
    frame = pd.DataFrame(values, columns=[f"g{j}" for j in range(11_340)])
    path = tmp_path / "CLL_SUB_111.csv"
    frame.assign(kind=[*"abc"] * 4).to_csv(path, index=False)
    source = imkpl.PAPERS[path.stem]
    assert source.is_here(tmp_path) and not source.is_here()
    dataset = source.load(tmp_path)
    assert dataset.classes.tolist() == [*"abc"]
    assert imkpl.drawn_halves(dataset, 0).X.shape == (6, 11_340)


POINTS = RANDOM.normal(size=(40, 4))


CODES = RANDOM.integers(3, size=40)


def drawn(**shapes):
    return {name: RANDOM.normal(size=shape) for name, shape in shapes.items()}


BASELINES = {
    "GLVQ": ({"U": RANDOM.dirichlet(np.ones(12), 4)}, glvq),
    "ProtoNN": (
        drawn(W=(2, 4), B=(5, 2), Z=(5, 3)),
        lambda arrays: squared_error(arrays, POINTS, np.eye(3)[CODES], 0.7),
    ),
    "Bonsai": (
        drawn(Z=(2, 4), W=(7, 3, 2), V=(7, 3, 2), theta=(3, 2)),
        lambda arrays: loss_and_gradients(arrays, POINTS, CODES, 1.5, 0.1),
    ),
    "Bonsai, two classes": (
        drawn(Z=(2, 4), W=(3, 1, 2), V=(3, 1, 2), theta=(1, 2)),
        lambda arrays: loss_and_gradients(arrays, POINTS, CODES % 2, 1.5, 0.0),
    ),
}


@pytest.mark.parametrize("name", BASELINES)
def test_gradients_are_slopes(name):
    arrays, function = BASELINES[name]
    gradients = function(arrays)[1]
    for which, slope in gradients.items():
        step = RANDOM.normal(size=slope.shape)
        ahead, behind = (
            function({**arrays, which: arrays[which] + h * step})[0]
            for h in (1e-6, -1e-6)
        )
        seen = (ahead - behind) / 2e-6
        assert (slope * step).sum() == pytest.approx(seen, rel=1e-5, abs=1e-8)


def test_a_row_takes_one_path_of_the_tree():
    arrays = BASELINES["Bonsai"][0]
    at = forward(arrays, POINTS, np.inf)
    assert set(np.unique(at["reach"])) == {0.0, 1.0}
    assert (at["reach"].sum(axis=1) == 3).all()
    row = POINTS[0] @ arrays["Z"].T
    node, score = 0, np.zeros(3)
    for _ in range(3):
        W, V = arrays["W"][node], arrays["V"][node]
        score += (W @ row) * np.tanh(V @ row)
        if node < 3:
            node = 2 * node + (2 if arrays["theta"][node] @ row > 0 else 1)
    np.testing.assert_allclose(at["scores"][0], score)


SAME = np.array([True, False])


def test_a_step_of_olvq1_by_hand():
    Z, lengths = np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([0.2, 0.2])
    olvq1_step(Z, lengths, 0.3, np.array([1.0, 1.0]), SAME)
    np.testing.assert_allclose(Z, [[0.2, 0.2], [4.0, 0.0]])
    np.testing.assert_allclose(lengths, [0.2 / 1.2, 0.2])
    # The other one is nearer and of another class: it goes away, with longer steps.
    olvq1_step(Z, lengths, 0.3, np.array([3.0, 0.0]), SAME)
    np.testing.assert_allclose(Z, [[0.2, 0.2], [4.2, 0.0]])
    np.testing.assert_allclose(lengths, [0.2 / 1.2, 0.25])
    olvq1_step(Z, lengths, 0.3, np.array([4.2, 0.0]), SAME)
    np.testing.assert_allclose(lengths, [0.2 / 1.2, 0.3])  # 1/3, but no longer than .3


def test_a_step_of_lvq21_by_hand():
    Z = np.array([[0.0], [4.0]])
    lvq21_step(Z, 0.1, np.array([1.0]), SAME)  # 1 to 3, below .7 / 1.3: no step
    np.testing.assert_array_equal(Z, [[0.0], [4.0]])
    lvq21_step(Z, 0.1, np.array([1.8]), SAME)
    np.testing.assert_allclose(Z, [[0.18], [4.22]])
    lvq21_step(Z, 0.1, np.array([2.0]), np.array([True, True]))
    np.testing.assert_allclose(Z, [[0.18], [4.22]])
    Z = np.array([[0.0], [4.0], [100.0]])
    lvq21_step(Z, 0.1, np.array([2.2]), np.array([True, False, True]))
    np.testing.assert_allclose(Z, [[0.22], [4.18], [100.0]])


def test_rows_are_divided_as_the_paper_says():
    dataset = load_dataset("digits")
    drawn = mprotsvm.divided(dataset, mprotsvm.Division(1000, 300, largest=True), 0)
    assert len(drawn.X) == 1000 and len(drawn.X_test) == 300
    assert drawn.X.max() == 1.0
    other = mprotsvm.divided(dataset, mprotsvm.Division(1000, 300, largest=True), 1)
    assert (drawn.y != other.y).any()
    first = mprotsvm.divided(dataset, mprotsvm.Division(1000, 797, drawn=False), 0)
    np.testing.assert_array_equal(first.y, dataset.y[:1000])
    np.testing.assert_array_equal(first.y_test, dataset.y[1000:])
    spread = first.X.std(axis=0)
    assert np.isclose(spread, 1.0).sum() > 40 and np.isin(spread.round(9), [0, 1]).all()


def test_rates_by_hand():
    impostors = np.arange(1000.0)
    genuine = np.array([-1.0, 500.0, 994.5, 999.5])
    rates = dict(zip(FAR, false_rejections(genuine, impostors), strict=True))
    # One impostor of a thousand may pass: the threshold is the second highest, 998.
    assert rates[0.1] == 75.0
    assert rates[0.5] == 50.0  # five may: 994
    assert rates[50.0] == 25.0
    assert false_rejections(np.ones(3), np.ones(3)).tolist() == [100.0] * len(FAR)
    assert equal_error_rate(np.array([3.0, 4.0]), np.array([1.0, 2.0])) == 0.0
    assert equal_error_rate(np.array([1.0, 4.0]), np.array([0.0, 2.0])) == 50.0
    assert equal_error_rate(np.arange(10.0) + 8, np.arange(10.0)) == 10.0


def test_the_sums_of_the_cost_analysis_are_the_models_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.sin(X[:, 0]) + X[:, 1]
    rows = Halves(X, y, X, y)
    model = costs._as_model(rows, costs._sum(rows, costs.SVM, 10.0, 60))
    svr = SVR(gamma=1 / 3, C=10.0).fit(X, y)
    np.testing.assert_allclose(model.scores(X)[:, 0], svr.predict(X), atol=1e-6)
    assert model.n_prototypes == len(svr.support_)
    labels = np.where(y > 0, "yes", "no")
    rows = Halves(X, labels, X, labels)
    model = costs._as_model(rows, costs._sum(rows, costs.SVM, 1.0, 60))
    svc = SVC(gamma=1 / 3).fit(X, labels)
    assert (model.predict(X) == svc.predict(X)).all()
    assert model.n_prototypes == len(svc.support_)


@pytest.mark.parametrize("loss", ["hinge", "smooth", "huber"])
def test_penalties_of_the_baselines_are_those_of_one_vector(loss):
    """SMP's two antisymmetric prototypes stand for w: l1 |w| + l2 |w|^2 / 2."""
    rows = standardised_halves(load_dataset("breast_cancer"), 0)
    l1, l2 = 0.03, 0.06
    fitted = sparsity.linear(loss, l1, l2).fit(rows.X, rows.y)
    w = fitted.coef_ if loss == "huber" else np.diff(fitted.model_.anchors, axis=0)[0]
    classes = np.unique(rows.y)
    v, b = cp.Variable(rows.X.shape[1]), cp.Variable()
    z = cp.multiply(np.where(rows.y == classes[1], 1.0, -1.0), rows.X @ v + b)
    each = {
        "hinge": cp.pos(1 - z),
        "smooth": cp.logistic(-z),
        "huber": cp.huber(cp.pos(1 - z), 2),
    }[loss]
    objective = cp.sum(each) / len(rows.X) + l1 * cp.norm1(v)
    ridge = cp.sum_squares(v) + (cp.square(b) if loss != "huber" else 0.0)
    cp.Problem(cp.Minimize(objective + l2 / 2 * ridge)).solve(solver=cp.CLARABEL)
    # SMP's fits end within a thousandth of the optimum
    np.testing.assert_allclose(w, v.value, atol=0.03)
    assert 0 < len(sparsity.used_features(fitted)) < rows.X.shape[1]


def test_nominal_columns_become_the_numbers_of_their_levels():
    frame = pd.DataFrame(
        {"month": ["May", "April", None, "June"], "x": [1.0, 2, 3, 4], "c": [*"aabb"]}
    )
    coded = with_codes(make_dataset(frame, "toy"))
    np.testing.assert_array_equal(coded.frame["month"], [2, 0, np.nan, 1])
    assert coded.kinds["month"] == "number" and coded.kinds["c"] == "category"


def test_the_rate_is_that_of_chambolle_and_pock(monkeypatch):
    monkeypatch.setattr(convergence, "STEPS", (10, 50, 200))
    trial = Trial("iris", "Algorithm 2, longer safe steps", 0)
    run, iris = by_name(EXPERIMENTS, "smp-convergence").run, load_dataset("iris")
    outcome = run(trial, iris)
    assert outcome.measures[convergence._RATE] == 1.0
    curve = dict(outcome.curves["objective above the optimum"])
    assert curve[10] > curve[50] > curve[200] > -1e-9
    # a bound a thousand times as small would not hold: it is no empty claim
    real = convergence.rate_constant
    monkeypatch.setattr(convergence, "rate_constant", lambda *a: real(*a) / 1000)
    assert run(trial, iris).measures[convergence._RATE] == 0.0
    ours = run(trial._replace(model=convergence.OURS), iris)
    assert ours.measures["objective after 200 steps, above the optimum"] < 1e-5
