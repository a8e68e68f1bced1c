"""Super-sparse's other experiments: their parts by hand, and a trial of each."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from smpcore.papers import EXPERIMENTS, Trial, by_name
from smpcore.papers.protocols import Halves
from smpcore.papers.supersparse import costs, regression, size, start, verification
from smpcore.papers.supersparse.verification import (
    FAR,
    clients,
    equal_error_rate,
    false_rejections,
)


def outcome(name, data, model, repetition=0):
    experiment = by_name(EXPERIMENTS, name)
    dataset = experiment.data[data].load()
    return experiment.run(Trial(data, model, repetition), dataset)


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


def test_impostors_of_the_test_are_strangers():
    dataset = by_name(EXPERIMENTS, "supersparse-figure-4").data["digits"].load()
    found = [*clients(dataset, 0)]
    assert len(found) == 5
    learned = {row.tobytes() for row in found[0].X}
    for client in found:
        assert client.X.shape[0] == 25 and client.y.sum() == 5
        assert not learned & {row.tobytes() for row in client.impostors}
        assert not learned & {row.tobytes() for row in client.genuine}
    n_genuine = sum(len(client.genuine) for client in found)
    assert n_genuine + 25 + len(found[0].impostors) == dataset.n_samples


def test_verification_counts_matchings_and_compares_with_the_svm():
    counts = {
        model: outcome("supersparse-figure-4", "digits", model).measures
        for model in (verification.SVM, verification.SEL_2, verification.PRINTED)
    }
    matchings = [one[verification.MATCHINGS] for one in counts.values()]
    assert matchings[0] > 5 and matchings[1:] == [2.0, 2.0]
    assert all(0 < one[verification.EER] < 50 for one in counts.values())
    claims = outcome("supersparse-figure-4", "digits", "claims").measures
    svm, printed = (
        counts[m][verification.EER] for m in (verification.SVM, verification.PRINTED)
    )
    claim = next(name for name in claims if name.startswith(verification.PRINTED))
    assert claims[claim] == (printed <= svm + verification.COMPARABLE)


def test_the_chosen_size_has_the_least_loss_and_price():
    for model in (size.RISE, size.COEFFICIENT):
        found = outcome("supersparse-figure-3", "moons", model)
        total = dict(found.curves["L(m)"])
        assert set(total) == set(map(float, size.SIZES))
        assert found.measures[size.CHOSEN] == min(total, key=total.get)
        test = dict(found.curves["test error"])
        chosen = found.measures[size.CHOSEN]
        assert found.measures["test error at chosen m"] == test[chosen]


def test_starts_are_the_same_for_the_printed_algorithm_and_ours():
    curves = {
        model: dict(
            outcome("supersparse-start", "moons", model).curves[
                "objective along the way"
            ]
        )
        for model in (start.MEAN, start.ALONE, start.SAME, start.OURS)
    }
    first = [curve[0.0] for curve in curves.values()]
    assert first[0] == pytest.approx(first[1]) == pytest.approx(first[2])
    assert first[3] < first[0]
    assert curves[start.SAME][400.0] < curves[start.MEAN][400.0]


def test_the_printed_table_is_whole():
    printed = by_name(EXPERIMENTS, "supersparse-table-1").reported
    of = {(one.data, one.model, one.measure): one.value for one in printed}
    assert of["Fg-Net/FRGC", "SLASSO", "MAE, years"] == 9.09
    assert of["FRGC/FRGC", "PS-B Ridge", "prototypes"] == 3.2
    assert len([one for one in printed if one.measure == "MAE, years"]) == 48


def test_regression_chooses_a_size_without_test_rows():
    found = outcome("supersparse-table-1", "diabetes", "SRidge", 1)
    m, along = found.measures["prototypes"], found.curves["MAE / sd along m"]
    assert found.measures["MAE / sd"] == along[m] and m in regression.SIZES
    whole = outcome("supersparse-table-1", "diabetes", "Ridge", 1)
    assert whole.measures["prototypes"] == 353
    assert whole.measures["MAE / sd"] == pytest.approx(along[m], rel=0.2)


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


def test_few_prototypes_cost_less_than_the_svm():
    few, svm = (
        outcome("supersparse-costs", "breast_cancer", model).measures
        for model in (costs.OURS, costs.SVM)
    )
    for measure in (costs.MATCHINGS, costs.NUMBERS, costs.FLASH, costs.CYCLES):
        assert 0 < few[measure] < svm[measure]
    assert few[costs.NUMBERS] == few[costs.MATCHINGS] * (30 + 2) + 2
    assert outcome("supersparse-costs", "moons", costs.KERNEL_RIDGE).measures == {}
