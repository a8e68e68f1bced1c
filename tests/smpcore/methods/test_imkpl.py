"""IMKPLClassifier: scikit-learn's contract, and what the specification promises."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score

from smpcore import SmpcoreError, load_dataset, prepare, split
from smpcore.methods.imkpl import IMKPLClassifier
from smpcore.methods.imkpl.estimator import COUNTS, KAPPAS
from smpcore.methods.imkpl.fit import Alternation
from smpcore.methods.imkpl.problem import IMKPLParameters
from smpcore.model.prototype_measures import discrimination, interpretability
from tests.smpcore.methods.tables import CANCER, DIGITS, IRIS, WINE

SMALL = CANCER[0][::3], CANCER[1][::3]


def alternate(data=WINE, n_steps=0, n_prototypes=None, **params):
    """An alternation after so many rounds, and its problem."""
    usual = {"lam": 0.2, "mu": 0.2, "tau": 0.2, "kappa": 2.0, "code_size": 10}
    parameters = IMKPLParameters(**{**usual, "path": True, **params})
    estimator = IMKPLClassifier(parameters.code_size, n_prototypes=n_prototypes)
    problem = estimator.problem(*data)
    alternation = Alternation(problem, parameters, np.zeros(1, dtype=np.int64))
    for _ in range(n_steps):
        alternation.update_prototypes()
        alternation.update_kernels()
        alternation.update_codes()
    return alternation, problem


def test_errors_of_the_kernels_add_up_to_the_objective():
    alternation, problem = alternate(n_steps=2)
    errors, terms = alternation.kernel_errors(), alternation.terms()
    at = alternation.parameters
    H = alternation.U.T @ alternation.codes
    across = H[problem.y_encoded[:, None] != problem.y_encoded].sum()
    expected = terms["rec"] + at.lam * (terms["dis"] - across) + at.mu * terms["ls"]
    assert errors @ alternation.beta == pytest.approx(expected, rel=1e-11)
    assert errors.min() >= -1e-9


def spread(n_classes, n_features, seed):
    """Clouds that overlap, with features of noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(120) % n_classes
    X = rng.normal(size=(120, n_features))
    X[:, :3] += 1.5 * rng.normal(size=(n_classes, 3))[y]
    return X, y


SETS = {
    "iris": IRIS,
    "wine": WINE,
    "cancer": SMALL,
    "digits": tuple(part[:250] for part in DIGITS),
    "clouds": spread(4, 9, 0),
    "noise": (spread(2, 12, 1)[0], np.arange(120) // 7 % 2),
}


@pytest.mark.parametrize("data", SETS.values(), ids=SETS)
@pytest.mark.parametrize(
    "params", [{"kappa": 1.0}, {"tau": 2.0, "lam": 0.0}, {"path": False}, {"mu": 1.0}]
)
def test_no_step_raises_the_objective(data, params):
    alternation, problem = alternate(data, **params)
    alternation.update_prototypes()
    alternation.update_kernels()
    values = [alternation.objective()]
    for _ in range(5):
        for step in ("codes", "prototypes", "kernels"):
            getattr(alternation, f"update_{step}")()
            values.append(alternation.objective())
        beta, U, codes = alternation.beta, alternation.U, alternation.codes
        assert beta.sum() == pytest.approx(1) and (beta >= 0).all()
        assert not beta[~problem.active].any()
        lengths = np.einsum("ij,jk,ik->i", U, alternation.K, U)
        np.testing.assert_allclose(lengths, 1.0, atol=1e-11)
        np.testing.assert_allclose(alternation.K.diagonal(), 1.0, atol=1e-12)
        assert (U >= 0).all() and (codes >= 0).all()
        assert np.count_nonzero(U, axis=1).max() <= 10
        assert np.count_nonzero(codes, axis=0).max() <= 10
    assert (np.diff(values) <= 1e-12 * np.abs(values[:-1])).all()
    assert values[-1] < values[0]


def test_model_is_made_of_real_cases():
    X, y = WINE
    fitted = IMKPLClassifier().fit(X, y)
    model = fitted.model_
    assert model.kind_of_prototype == "mix of real cases"
    np.testing.assert_allclose(model.prototypes, X[fitted.anchor_rows_])
    np.testing.assert_array_equal(model.support, fitted.kernel_weights_ > 0)
    own = np.eye(3)[y[fitted.anchor_rows_]]
    np.testing.assert_allclose(model.votes, model.mixing.T @ own, atol=1e-12)
    assert fitted.n_asked_ == model.n_prototypes == 3 * fitted.n_prototypes_
    codes = model.activations(X)
    np.testing.assert_array_equal(fitted.assignment_, codes.argmax(axis=1))
    assert np.isnan(fitted.gap_) and np.isnan(fitted.history_.gap).all()


def test_codes_may_have_fewer_entries_than_prototypes_have_cases():
    X, y = WINE
    usual = IMKPLClassifier(n_prototypes=4, kappa=2.0).fit(X, y)
    assert usual.automatic_["row_code_size"] == 10
    assert (usual.model_.activations(X) > 0).sum(axis=1).max() > 1
    single = IMKPLClassifier(n_prototypes=4, kappa=2.0, row_code_size=1).fit(X, y)
    assert single.model_.code_size == 1 and "row_code_size" not in single.automatic_
    assert ((single.model_.activations(X) > 0).sum(axis=1) == 1).all()
    assert (single.model_.mixing > 0).sum(axis=0).max() > 1
    # Codes of training are as short: a row is of one prototype, so of one class.
    assert single.dr_ > usual.dr_


def test_measures_by_their_definitions():
    X, y = WINE
    fitted = IMKPLClassifier(lam=0.0, tau=0.0).fit(X, y)
    model = fitted.model_
    values = model.similarity.values(model.anchors, model.anchors)
    distance = 2.0 - 2.0 * values
    labels = y[fitted.anchor_rows_]
    expected = []
    for u in model.mixing.T:
        purity = max(u[labels == c].sum() for c in range(3)) / u.sum()
        expected.append(100 * purity * np.exp(-(u @ distance @ u)))
    np.testing.assert_allclose(interpretability(model), expected, rtol=1e-9)
    assert fitted.ip_ == pytest.approx(np.mean(expected))
    codes = np.array([[1.0, 0.0, 0.0], [3.0, 2.0, 0.0]])
    rates = discrimination(codes, np.array([0, 1, 1]), np.array([0, 1]))
    np.testing.assert_array_equal(rates, [25.0, 100.0, np.nan])
    rates = discrimination(model.activations(X), model.prototype_labels, y)
    assert fitted.dr_ == pytest.approx(np.nanmean(rates))


def test_tau_makes_prototypes_compact_and_lam_makes_them_pure():
    usual = IMKPLClassifier(n_prototypes=10, kappa=2.0)
    measured = [clone(usual).set_params(tau=t).fit(*WINE) for t in (0.0, 0.5, 10.0)]
    ips = [fitted.ip_ for fitted in measured]
    sizes = [np.count_nonzero(fitted.model_.mixing) for fitted in measured]
    assert ips[0] < ips[1] < ips[2] and sizes[0] > sizes[1] > sizes[2]

    def purity(lam):
        votes = IMKPLClassifier(lam=lam).fit(*SMALL).model_.votes
        return np.mean(votes.max(axis=1) / votes.sum(axis=1))

    assert purity(0.0) < purity(0.2) == pytest.approx(1.0)


def test_a_prototype_of_one_case_is_a_case():
    X, y = IRIS
    single = IMKPLClassifier(code_size=1).fit(X, y)
    assert (np.count_nonzero(single.model_.mixing, axis=0) == 1).all()
    assert np.count_nonzero(single.model_.activations(X), axis=1).max() == 1
    assert single.score(X, y) > 0.8


@pytest.mark.parametrize("fallback", [0, 1])
def test_an_input_far_from_all_gets_the_most_frequent_class(fallback):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) < 40, fallback, 1 - fallback)
    X[:40] += 3
    fitted = IMKPLClassifier().fit(X, y)
    far = np.array([[1e6, -1e6], X[50]])
    assert fitted.model_.activations(far).any(axis=1).tolist() == [False, True]
    assert fitted.predict(far).tolist() == [fallback, 1 - fallback]
    assert fitted.model_.predict(far).tolist() == [fallback, 1 - fallback]


def test_a_warm_start_walks_along_kappa():
    problem = IMKPLClassifier().problem(*CANCER)
    state = IMKPLClassifier(kappa=3.0).solve(problem).state_
    for kappa in (2.8, 2.5, 1.0, np.inf, 2.0):
        cold = IMKPLClassifier(kappa=kappa).solve(problem)
        warm = IMKPLClassifier(kappa=kappa).solve(problem, state)
        assert warm.n_iter_ <= cold.n_iter_
        assert warm.objective_ == pytest.approx(cold.objective_, rel=0.02)
        kept = np.count_nonzero(cold.kernel_weights_)
        assert abs(np.count_nonzero(warm.kernel_weights_) - kept) <= 4
        state = warm.state_
    again = IMKPLClassifier(kappa=2.0).solve(problem, state)
    assert again.n_iter_ == 2
    assert again.objective_ == pytest.approx(warm.objective_, rel=2e-4)


def test_a_state_of_larger_prototypes_is_ignored():
    problem = IMKPLClassifier().problem(*WINE)
    larger = IMKPLClassifier(n_prototypes=10).solve(problem).state_
    tight = IMKPLClassifier(code_size=1, n_prototypes=10)
    fitted = tight.solve(tight.problem(*WINE), larger)
    assert (np.count_nonzero(fitted.model_.mixing, axis=0) == 1).all()


def test_rows_that_cannot_be_are_refused():
    X, y = IRIS
    many = np.arange(9000.0)[:, None], np.arange(9000) % 2
    with pytest.raises(SmpcoreError, match=r"4 .* 9000 x 9000 .* 2.41 GiB .*fewer"):
        IMKPLClassifier(kernels="rbf").fit(*many)
    # Kernels of features are factored: tables are of the rows of a class.
    many = np.arange(18000.0)[:, None], np.arange(18000) % 2
    with pytest.raises(SmpcoreError, match=r"2 .* 9000 x 9000 .* 1.21 GiB .*fewer"):
        IMKPLClassifier(landmarks=0).fit(*many)
    with pytest.raises(SmpcoreError, match="X holds values so large"):
        IMKPLClassifier(standardize=False).fit(X * 1e300, y)


def test_numbers_that_are_none_are_refused():
    problem = IMKPLClassifier().problem(*IRIS)
    broken = replace(problem, neighbours=np.full(4, np.nan))
    with pytest.raises(SmpcoreError, match="not finite"):
        IMKPLClassifier().solve(broken)


#: Rows of one iris each, some of them equal; kernels, of them and of their series.
WEIGHED = {
    "features": {},
    "few": {"kappa": 0.5, "n_prototypes": 3, "code_size": 3},
    "paper": {"solver": "paper", "kernel_weights": "lp", "n_prototypes": 2},
    "rbf": {"kernels": "rbf", "n_prototypes": 4},
    "linear": {"kernels": "linear", "standardize": False},
    "gak": {"kernels": "gak", "n_channels": 2, "standardize": False},
}


@pytest.mark.parametrize("params", WEIGHED.values(), ids=WEIGHED)
def test_a_whole_weight_is_the_row_so_many_times(params):
    X, y = IRIS[0][::2], IRIS[1][::2]
    weights = np.random.default_rng(0).integers(0, 5, len(y))
    weighed = IMKPLClassifier(**params).fit(X, y, weights)
    rows = np.repeat(np.arange(len(y)), weights)
    np.random.default_rng(1).shuffle(rows)
    repeated = IMKPLClassifier(**params).fit(X[rows], y[rows])
    assert weighed.objective_ == pytest.approx(repeated.objective_, rel=1e-8)
    assert weighed.kappa_ == repeated.kappa_ and weighed.ip_ == repeated.ip_
    assert weighed.dr_ == pytest.approx(repeated.dr_, rel=1e-12)
    scores = weighed.decision_function(IRIS[0])
    np.testing.assert_array_equal(scores, repeated.decision_function(IRIS[0]))
    np.testing.assert_array_equal(weighed.assignment_[rows], repeated.assignment_)
    left = weights == 0  # these have a prototype, too
    codes = weighed.model_.activations(X[left])
    np.testing.assert_array_equal(weighed.assignment_[left], codes.argmax(axis=1))


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_weights_may_have_any_unit(unit):
    IMKPLClassifier().fit(*IRIS, np.full(150, unit))


def test_the_objective_of_weighed_rows_is_that_of_all_rows():
    """Written out over repeated rows, of what a fit of weighed ones found."""
    X, y = IRIS[0][::2], IRIS[1][::2]
    counts = np.random.default_rng(2).integers(1, 4, len(y)).astype(float)
    alternation, problem = alternate(
        (X, y, counts), 2, 2, lam=0.3, mu=0.25, code_size=4
    )
    rows = np.repeat(np.arange(len(problem.counts)), problem.counts.astype(int))
    K, codes = alternation.K[np.ix_(rows, rows)], alternation.codes[:, rows]
    labels = problem.y_encoded[rows]
    same, first = labels[:, None] == labels, np.unique(rows, return_index=True)[1]
    U = np.zeros((len(rows), len(alternation.U)))
    U[first] = alternation.U.T
    H, terms = U @ codes, alternation.terms()
    rest = np.eye(len(rows)) - H
    assert terms["rec"] == pytest.approx(np.trace(K @ rest @ rest.T), rel=1e-10)
    assert terms["dis"] == pytest.approx(np.vdot(1.0 - same * K, H), rel=1e-10)
    assert terms["ip"] == pytest.approx(U.sum(), rel=1e-12)
    start, local = problem.K[np.ix_(rows, rows)], 0.0
    for i in range(len(rows)):
        near = np.argsort(-start[i], kind="stable")
        own = [s for s in near if same[i, s] and s != i][:4]
        others = [s for s in near if not same[i, s]][:4]
        local += (2.0 - 2.0 * K[i, own]).sum() + K[i, others].sum()
    assert terms["ls"] == pytest.approx(local, rel=1e-10)
    # The width of a kernel is the mean squared difference of two of all rows.
    Z = problem.X[rows]
    np.testing.assert_allclose(problem.kernels.widths, 2.0 * Z.var(axis=0, ddof=1))


def test_the_order_and_the_units_of_rows_do_not_matter():
    X, y = WINE
    fitted = IMKPLClassifier().fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    other = IMKPLClassifier().fit((X * np.geomspace(0.25, 1024.0, 13))[order], y[order])
    assert other.objective_ == pytest.approx(fitted.objective_, rel=1e-9)
    np.testing.assert_array_equal(order[other.anchor_rows_], fitted.anchor_rows_)
    np.testing.assert_array_equal(other.assignment_, fitted.assignment_[order])


def balance():
    """Every setting of a scale: weights and distances of 1 to 5 on either side."""
    X = np.array(np.meshgrid(*4 * [np.arange(1.0, 6.0)], indexing="ij")).reshape(4, -1)
    tilt = X[0] * X[1] - X[2] * X[3]
    return X.T, np.array(["B", "L", "R"])[np.sign(tilt).astype(int)]


@pytest.mark.parametrize("key", ["moons", "xor", "circles"])
def test_features_that_tell_only_together_are_kept(key):
    data = load_dataset(key)
    division = split(data)
    X = prepare(data, division.train).transform(data.frame)
    fitted = IMKPLClassifier().fit(X[division.train], data.y[division.train])
    assert (fitted.kernel_weights_ > 0).all()
    held_out = division.validation
    assert fitted.score(X[held_out], data.y[held_out]) >= 0.93


def test_a_balance_needs_all_four_numbers():
    X, y = balance()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert cross_val_score(IMKPLClassifier(), X, y, cv=folds).mean() >= 0.75


def _limit(fitted):
    return {"row_code_size": float(fitted.code_size)}


def test_the_choice_and_its_reason_are_said_and_depend_on_the_rows_only():
    X, y = WINE
    chosen = IMKPLClassifier().fit(X, y)
    value, reason = chosen.measures_["kappa"]
    assert value == f"{chosen.kappa_:.3g}" in [f"{kappa:.3g}" for kappa in KAPPAS]
    counted, why = chosen.measures_["prototypes_per_class"]
    assert counted == str(chosen.n_prototypes_) and chosen.n_prototypes_ in COUNTS
    assert why.startswith("chosen on 5 folds of 178 training rows: ")
    assert len(chosen.model_.votes) == 3 * chosen.n_prototypes_
    both = {"kappa": chosen.kappa_, "n_prototypes": chosen.n_prototypes_}
    assert chosen.automatic_ == both | _limit(chosen)
    assert reason.startswith("chosen on 5 folds of 178 training rows: ")
    other = IMKPLClassifier(tau=1.0, n_prototypes=3, code_size=5).fit(X, y)
    assert other.kappa_ == chosen.kappa_ and other.n_prototypes_ == 3
    assert other.automatic_ == {"kappa": chosen.kappa_} | _limit(other)
    given = IMKPLClassifier(kappa=chosen.kappa_).fit(X, y)
    assert given.automatic_ == {"n_prototypes": chosen.n_prototypes_} | _limit(given)
    given = IMKPLClassifier(**both).fit(X, y)
    np.testing.assert_array_equal(given.kernel_weights_, chosen.kernel_weights_)
    assert given.automatic_ == _limit(given) and "kappa" not in given.measures_


def test_rows_too_few_for_folds_and_a_stopped_fit_weigh_nearly_alike():
    rows = np.array([[0.0, 1.0], [0.3, 2.0], [1.0, 2.5], [1.2, 0.0]])
    few = IMKPLClassifier().fit(rows, [0, 1, 1, 1])
    assert few.kappa_ == 100 and few.n_prototypes_ == 10
    assert few.n_asked_ == 4 and "too few training rows" in few.measures_["kappa"][1]
    X, y = WINE[0][1::2], WINE[1][1::2]
    problem = IMKPLClassifier().problem(X, y)
    stopped = IMKPLClassifier().solve(problem, stop=np.ones(1, dtype=np.int64))
    assert stopped.kappa_ == 100
    assert "folds of 89" in IMKPLClassifier().solve(problem).measures_["kappa"][1]


def test_a_warm_start_keeps_the_choices_of_its_start():
    problem = IMKPLClassifier().problem(*WINE)
    with pytest.warns(UserWarning, match="n_prototypes=60"):
        state = IMKPLClassifier(kappa=1.7, n_prototypes=60).fit(*WINE).state_
    fitted = IMKPLClassifier().solve(problem, state)
    assert fitted.kappa_ == 1.7 and fitted.n_prototypes_ == 60
    assert fitted.n_asked_ == 59 + 60 + 48, "the classes have 59, 71 and 48 rows"
    assert fitted.n_iter_ < 5
    for name in ("kappa", "prototypes_per_class"):
        assert fitted.measures_[name][1] == "as in the fit that this one started from"


def test_one_kernel_has_no_evenness():
    fitted = IMKPLClassifier(kernels="rbf").fit(*WINE)
    assert fitted.kappa_ == np.inf and "kappa" not in fitted.measures_
    assert fitted.automatic_ == {"n_prototypes": fitted.n_prototypes_} | _limit(fitted)
    reason = fitted.measures_["prototypes_per_class"][1]
    assert reason.startswith("chosen on 5 folds of 178 training rows: ")


def test_of_path_and_cold_start_the_lower_objective_is_kept():
    X, y = WINE
    problem = IMKPLClassifier().problem(X, y)
    even = IMKPLClassifier(kappa=np.inf).solve(problem)
    names = set()
    for kappa in (0.1, 0.5, 2.0, 5.0, 20.0):
        fitted = IMKPLClassifier(kappa=kappa).solve(problem)
        name, words = fitted.measures_["start"]
        names.add(name)
        assert words.startswith(f"objective {fitted.objective_:.6g}; from the other")
        assert fitted.objective_ <= float(words.split()[-1]) * (1 + 1e-5)
    assert len(names) == 2, "neither start is always the better one"
    assert "start" not in even.measures_
