"""Optimism, instability and sizes of studies, against loops that are written out."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from sklearn import metrics
from sklearn.base import clone

from smpcore import METHODS, SmpcoreError, load_dataset, prepare, split
from smpcore.datasets import make_dataset
from smpcore.evaluation import (
    Recipe,
    bootstrap_optimism,
    calibrate,
    cox_snell_r2,
    expected_shrinkage,
    folds,
    largest_r2,
    rows_for_classes,
    rows_for_numbers,
    tune,
    tuning_paths,
)
from smpcore.report import instability_section, optimism_section, sample_size_section
from tests.smpcore.datasets.test_time_to_event import asked, followed, slow_weight

N, SEED = 160, 3


def _table(task="classification", n_classes=2, **roles):
    """Numbers with gaps, a category, patients of several rows, weights, a day."""
    draw = np.random.default_rng(8)
    frame = pd.DataFrame(draw.normal(size=(N, 2)), columns=["a", "b"])
    frame["kind"] = draw.choice(["x", "y", "z"], N)
    frame["patient"] = [f"p{i}" for i in draw.integers(0, 90, N)]
    frame["mass"] = draw.integers(1, 4, N) / 2
    frame["day"] = pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d")
    lead = frame["a"] - frame["b"] + (frame["kind"] == "x") + draw.normal(size=N)
    frame.loc[draw.random(N) < 0.1, "a"] = None
    names = np.array(["no", "yes", "more"])[:n_classes]
    limits = np.quantile(lead, np.arange(1, n_classes) / n_classes)
    classes = names[np.searchsorted(limits, lead)]
    frame["y"] = lead if task == "regression" else classes
    others = {n: "ignore" for n in ("patient", "mass", "day") if n not in roles}
    return make_dataset(frame, "made").with_roles(
        {"y": "target"} | others | roles, task=task
    )


def _recipe(dataset, method="smp"):
    row = METHODS[method]
    estimator = row.estimator_for(dataset, row.defaults(dataset.task))
    return Recipe(estimator, dataset, split(dataset))


def _drawn(dataset, rows, number):
    """As many groups, or rows, as there are, with replacement."""
    groups = rows if dataset.groups is None else dataset.groups[rows]
    units, draw = np.unique(groups), np.random.default_rng([SEED, number])
    while True:
        chosen = units[draw.integers(0, len(units), len(units))]
        drawn = np.concatenate([rows[groups == unit] for unit in chosen])
        y = dataset.y[drawn]
        if dataset.classes is None or len(np.unique(y)) == len(dataset.classes):
            return drawn


def _fit(recipe, train):
    dataset, weights = recipe.dataset, recipe.dataset.weights
    X = prepare(dataset, train).transform(dataset.frame)
    estimator = clone(recipe.estimator)
    of_rows = {} if weights is None else {"sample_weight": weights[train]}
    if dataset.groups is not None:
        of_rows["groups"] = dataset.groups[train]
    return estimator.fit(X[train], dataset.y[train], **of_rows), X


def _followed(recipe, drawn):
    """Answers, scores and probabilities of all rows by a model of drawn ones."""
    dataset = recipe.dataset
    fitted, X = _fit(recipe, drawn)
    scores = fitted.model_.scores(X)
    if dataset.classes is None:
        return fitted.predict(X), None, None
    out, often = np.full(scores.shape, np.nan), np.bincount(drawn, minlength=N)
    for fold in folds(dataset, np.unique(drawn), 5):
        if fold.repeat == 0:
            part, X_part = _fit(recipe, np.repeat(fold.train, often[fold.train]))
            out[fold.held_out] = part.model_.scores(X_part)[fold.held_out]
    units = drawn if dataset.groups is None else dataset.groups[drawn]
    weights = None if dataset.weights is None else dataset.weights[drawn]
    learned = out[drawn], dataset.y[drawn], dataset.classes, units, weights
    return fitted.predict(X), scores, calibrate(*learned).probabilities(scores)


def test_settings_are_chosen_anew_in_each_refit():
    dataset = _table(patient="group", mass="weight")
    fixed, n_refits = _recipe(dataset), 6
    rows = fixed.split.train
    paths = tuning_paths("smp", dataset, rows, grid={}, n_points=3)
    recipe = replace(fixed, paths=tuple(paths))
    result = bootstrap_optimism(recipe, n_refits=n_refits, seed=SEED)
    assert result.settings == 3
    gaps = []
    for number in (None, *range(n_refits)):
        drawn = rows if number is None else np.sort(_drawn(dataset, rows, number))
        often = np.bincount(drawn, minlength=N)
        parts = [
            replace(fold, train=np.repeat(fold.train, often[fold.train]))
            for fold in folds(dataset, np.unique(drawn), 5)
            if fold.repeat == 0
        ]
        tuned = tune(dataset, parts, paths)
        estimator = clone(fixed.estimator).set_params(**tuned.values)
        if number is not None:
            estimator.set_params(random_state=number)
        chosen = replace(fixed, estimator=estimator)
        scores = [
            _scores(chosen, _followed(chosen, drawn), places)["Accuracy"]
            for places in (drawn, rows)
        ]
        if number is None:
            assert result.of("Accuracy", "apparent") == pytest.approx(scores[0])
        else:
            gaps.append(scores[0] - scores[1])
    assert result.of("Accuracy", "optimism") == pytest.approx(np.mean(gaps))
    assert "Each also chooses among 3 settings" in optimism_section(result).blocks[0]


def _slope(risk, event, mass):
    lead = np.log(risk / (1 - risk))
    family = {"family": sm.families.Binomial(), "freq_weights": mass}
    slope = sm.GLM(event, sm.add_constant(lead), **family).fit().params[1]
    constant = np.ones(len(event))
    return sm.GLM(event, constant, offset=lead, **family).fit().params[0], slope


def _scores(recipe, run, rows):
    """By scikit-learn and statsmodels, of rows that may be there several times."""
    dataset, (answers, scores, shares) = recipe.dataset, run
    y = dataset.y[rows]
    mass = np.ones(len(rows)) if dataset.weights is None else dataset.weights[rows]
    weighted = {"sample_weight": mass}
    if dataset.classes is None:
        return {
            "R²": metrics.r2_score(y, answers[rows], **weighted),
            "Mean absolute error": metrics.mean_absolute_error(
                y, answers[rows], **weighted
            ),
        }
    values = {"Accuracy": metrics.accuracy_score(y, answers[rows], **weighted)}
    losses = np.sum((shares[rows] - (y[:, None] == dataset.classes)) ** 2, axis=1)
    values["Log-loss"] = metrics.log_loss(
        y, shares[rows], labels=dataset.classes, **weighted
    )
    values["Brier score"] = np.average(losses, weights=mass)
    if len(dataset.classes) == 2:
        event, risk = y == dataset.classes[1], shares[rows, 1]
        values["Brier score"] = metrics.brier_score_loss(event, risk, **weighted)
        lead = scores[rows, 1] - scores[rows, 0]
        values["AUC"] = metrics.roc_auc_score(event, lead, **weighted)
        both = _slope(risk, event, mass)
        values |= dict(
            zip(("Calibration intercept", "Calibration slope"), both, strict=True)
        )
    return values


@pytest.mark.parametrize(
    ("task", "n_classes", "roles"),
    [
        ("classification", 2, {}),
        ("classification", 2, {"patient": "group", "mass": "weight"}),
        ("classification", 3, {"mass": "weight"}),
        ("regression", 2, {"patient": "group", "mass": "weight"}),
    ],
)
def test_optimism_is_that_of_refits_written_out(task, n_classes, roles):
    dataset = _table(task, n_classes, **roles)
    recipe, n_refits = (
        _recipe(dataset, "supersparse" if task != "classification" else "smp"),
        12,
    )
    result = bootstrap_optimism(recipe, n_refits=n_refits, seed=SEED)
    train = recipe.split.train
    model = _followed(recipe, train)
    apparent, gains, on_sample, runs, left_out = (
        _scores(recipe, model, train),
        [],
        [],
        [],
        [],
    )
    for number in range(n_refits):
        drawn = _drawn(dataset, train, number)
        other = Recipe(clone(recipe.estimator), dataset, recipe.split)
        if "random_state" in other.estimator.get_params():
            other.estimator.set_params(random_state=number)
        runs.append(_followed(other, drawn))
        on_sample.append(_scores(recipe, runs[-1], drawn))
        here = _scores(recipe, runs[-1], train)
        gains.append({n: on_sample[-1][n] - here[n] for n in here})
        left_out.append(~np.isin(train, drawn))
    assert (result.n_refits, result.failed) == (n_refits, 0)
    assert set(result.lines["measure"]) == set(apparent)
    close = {"rel": 1e-5, "abs": 1e-6}
    for line in result.lines.to_dict("records"):
        name = line["measure"]
        by_refit = np.array([one[name] for one in gains])
        assert line["apparent"] == pytest.approx(apparent[name], **close)
        assert line["optimism"] == pytest.approx(by_refit.mean(), **close)
        error = by_refit.std(ddof=1) / math.sqrt(n_refits)
        assert line["error"] == pytest.approx(error, **close)
        corrected = apparent[name] - by_refit.mean()
        assert line["corrected"] == pytest.approx(corrected, **close)
        spread = np.array([one[name] for one in on_sample])
        low, high = np.percentile(spread, [2.5, 97.5]) - spread.mean() + corrected
        assert (line["low"], line["high"]) == pytest.approx((low, high), **close)
    _check_rows(recipe, result, model, runs)
    if task == "classification" and np.any(left_out, axis=0).all():
        plus = _plus(recipe, model, runs, np.array(left_out))
        assert result.of("Accuracy", ".632+") == pytest.approx(1 - plus[0], **close)
        assert result.of("Brier score", ".632+") == pytest.approx(plus[1], **close)
    else:
        assert result.lines[".632+"].isna().all()


def _check_rows(recipe, result, model, runs):
    """Ranges over the refits, row by row."""
    dataset, train = recipe.dataset, recipe.split.train
    for place, row in enumerate(train):
        line = result.rows.iloc[place]
        if dataset.classes is None:
            predicted, refits = model[0][row], [run[0][row] for run in runs]
            assert np.isnan(line["changes"])
        else:
            k = 1 if len(dataset.classes) == 2 else model[2][row].argmax()
            if len(dataset.classes) > 2:
                k = list(dataset.classes).index(model[0][row])
            predicted, refits = model[2][row, k], [run[2][row, k] for run in runs]
            changes = np.mean([run[0][row] != model[0][row] for run in runs])
            assert line["changes"] == pytest.approx(changes)
        assert line["row"] == row + 1
        assert line["predicted"] == pytest.approx(predicted, rel=1e-6)
        limits = np.percentile(refits, [2.5, 97.5])
        assert (line["low"], line["high"]) == pytest.approx(tuple(limits), rel=1e-6)
        error = np.mean([abs(one - predicted) for one in refits])
        assert line["error"] == pytest.approx(error, rel=1e-5)


def _plus(recipe, model, runs, left_out):
    """Formulas 29 to 32 of Efron and Tibshirani, pair by pair."""
    dataset, train = recipe.dataset, recipe.split.train
    y = dataset.y[train]
    mass = np.ones(len(y)) if dataset.weights is None else dataset.weights[train]
    unit = 2 if len(dataset.classes) == 2 else 1

    def wrong(run, places, truth):
        return (run[0][train[places]] != truth) * 1.0

    def squares(run, places, truth):
        occurred = truth[:, None] == dataset.classes
        return np.sum((run[2][train[places]] - occurred) ** 2, axis=1) / unit

    estimates, every = [], np.arange(len(train))
    for loss in (wrong, squares):
        error = np.average(loss(model, every, y), weights=mass)
        outside = []
        for i in every:
            here = [run for run, out in zip(runs, left_out, strict=True) if out[i]]
            outside.append(np.mean([loss(run, [i], y[[i]])[0] for run in here]))
        outside = np.average(outside, weights=mass)
        pairs = [
            np.average(loss(model, every, np.repeat(t, len(y))), weights=mass)
            for t in y
        ]
        guessed = np.average(pairs, weights=mass)
        least = min(outside, guessed)
        rate = (least - error) / (guessed - error) if least > error else 0.0
        usual = 0.368 * error + 0.632 * least
        more = (least - error) * 0.368 * 0.632 * rate / (1 - 0.368 * rate)
        estimates.append(usual + more)
    return estimates


def test_equal_seeds_give_equal_results_and_others_do_not():
    recipe = _recipe(_table())
    first, again, other = (
        bootstrap_optimism(recipe, n_refits=3, seed=seed).lines for seed in (0, 0, 1)
    )
    pd.testing.assert_frame_equal(first, again)
    assert not first["optimism"].equals(other["optimism"])


def test_pure_noise_is_as_bad_as_it_is_by_632_plus():
    """Of a model that learns chance by heart Harrell's estimate is still too good."""
    draw = np.random.default_rng(2)
    frame = pd.DataFrame(draw.normal(size=(200, 12)).round(3)).add_prefix("x")
    frame["y"] = draw.permutation(["no", "yes"] * 100)
    recipe = _recipe(make_dataset(frame, "noise").with_roles({"y": "target"}))
    result = bootstrap_optimism(recipe, n_refits=25)
    apparent, corrected, plus = (
        result.of("Accuracy", column) for column in ("apparent", "corrected", ".632+")
    )
    assert apparent - 0.1 > corrected > plus
    assert plus == pytest.approx(0.5, abs=0.06)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(SmpcoreError, match="order of time are not drawn at random"):
        _recipe(_table(day="time"))
    with pytest.raises(SmpcoreError, match="two columns of similarities"):
        _recipe(load_dataset("similarities"), "smallk")
    stop = np.ones(1, dtype=np.int64)
    with pytest.raises(SmpcoreError, match="stopped"):
        bootstrap_optimism(_recipe(_table()), stop=stop)


def test_too_few_rows_for_a_calibration_leave_accuracy_and_area():
    frame = pd.DataFrame({"a": np.r_[np.zeros(20), np.ones(4)] + np.arange(24) / 9})
    frame["y"] = ["no"] * 20 + ["yes"] * 4
    recipe = _recipe(make_dataset(frame, "few").with_roles({"y": "target"}))
    result = bootstrap_optimism(recipe, n_refits=5)
    assert list(result.lines["measure"]) == ["Accuracy", "AUC"]
    assert result.rows["predicted"].isna().all()
    lines = [
        line["mean over the training rows"]
        for line in instability_section(result).blocks[1]
    ]
    assert len(lines) == 2
    assert "15.0 % of the largest" in sample_size_section(result).blocks[-1]


def test_sections_say_what_came():
    two = bootstrap_optimism(_recipe(_table()), n_refits=10)
    first, lines, words = optimism_section(two).blocks
    assert first.startswith("10 refits. Each refit repeats preparation, fit and")
    assert [line["measure"] for line in lines][:2] == ["Accuracy", "AUC"]
    assert lines[0]["corrected"] == f"{100 * two.of('Accuracy'):.1f} %"
    many = bootstrap_optimism(_recipe(_table(n_classes=3)), n_refits=3)
    assert sample_size_section(many) is None
    words, lines, end = sample_size_section(two).blocks
    n, events = len(two.rows), two.events
    assert words.startswith(
        f"{n} training rows, 4 candidates of predictors, {events} events"
    )
    assert len(lines) == 3 and "planned study" in end


def test_sizes_of_published_examples():
    """Of pmsampsize 1.1 (Ensor, Martin and Riley), type b and type c.

    For an event: R2 0.288, 24 parameters, prevalence 0.174; for a number: R2 0.2, 25
    parameters. The rows of the fourth criterion for numbers are not computed here.
    """
    classes = rows_for_classes(24, 0.174, 0.288)
    assert classes["rows"].tolist() == [623, 662, 221]
    assert round(expected_shrinkage(662, 24, 0.288), 3) == 0.905
    assert rows_for_numbers(25, 0.2)["rows"].tolist() == [918, 401, 259]
    # Riley et al., BMJ 2020, figure 1: prevalences and their largest R2.
    largest = [
        round(largest_r2(one), 2) for one in (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.01)
    ]
    assert largest == [0.75, 0.74, 0.71, 0.63, 0.48, 0.33, 0.11]


def test_sizes_are_the_least_that_meet_their_criteria():
    (first, second, third) = rows_for_classes(30, 0.3, 0.1)["rows"]
    assert (
        expected_shrinkage(first, 30, 0.1)
        >= 0.9
        > expected_shrinkage(first - 1, 30, 0.1)
    )
    shrinkage = 0.1 / (0.1 + 0.05 * largest_r2(0.3))
    assert expected_shrinkage(second, 30, 0.1) >= shrinkage
    assert expected_shrinkage(second - 1, 30, 0.1) < shrinkage
    assert 1.96 * math.sqrt(0.21 / third) <= 0.05 < 1.96 * math.sqrt(0.21 / (third - 1))
    with pytest.raises(SmpcoreError, match="prevalence=0 should be between"):
        rows_for_classes(3, 0.0)
    with pytest.raises(SmpcoreError, match=r"r2=0\.9 should be between 0 and 0\.7"):
        rows_for_classes(3, 0.3, 0.9)
    with pytest.raises(SmpcoreError, match="parameters=0 should be at least 1"):
        rows_for_numbers(0, 0.3)


def test_r2_of_cox_and_snell_is_that_of_the_likelihood_ratio():
    draw = np.random.default_rng(1)
    x = draw.normal(size=400)
    y = (draw.random(400) < 1 / (1 + np.exp(-x))) * 1.0
    fitted = sm.Logit(y, sm.add_constant(x)).fit(disp=0)
    r2 = 1 - math.exp((2 / 400) * (fitted.llnull - fitted.llf))
    assert cox_snell_r2(-fitted.llf / 400, y.mean()) == pytest.approx(r2)


def test_censored_rows_are_drawn_too_and_count_for_weights_alone():
    """The time to censoring is learned on each sample anew."""
    dataset = asked(followed(n=200, rate=30.0))
    recipe = _recipe(dataset)
    assert len(recipe.split.censored)
    result = bootstrap_optimism(recipe, n_refits=4, seed=SEED)
    rows, train = recipe.split.with_censored, recipe.split.train
    known = np.isin(np.arange(dataset.n_samples), train)
    gains = []
    for number in range(4):
        drawn = _drawn(dataset, rows, number)
        learned = drawn[known[drawn]]
        weights = [
            [slow_weight(dataset, sample, row, 12.0) for row in scored]
            for sample, scored in ((drawn, learned), (rows, train))
        ]
        X = prepare(dataset, learned).transform(dataset.frame)
        other = clone(recipe.estimator)
        if "random_state" in other.get_params():
            other.set_params(random_state=number)
        other.fit(X[learned], dataset.y[learned], sample_weight=weights[0])
        right = other.predict(X) == dataset.y
        both = (right[learned], weights[0]), (right[train], weights[1])
        on_sample, on_rows = (np.average(hit, weights=mass) for hit, mass in both)
        gains.append(on_sample - on_rows)
    assert result.of("Accuracy", "optimism") == pytest.approx(np.mean(gains))
