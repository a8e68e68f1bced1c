"""What an answer is made of, and what prototypes are beside real rows."""

import re

import numpy as np
import pandas as pd
import pytest

from smpcore import (
    METHODS,
    Dataset,
    SmpcoreError,
    contributions,
    load_dataset,
    prepare,
    split,
)
from smpcore.explain import (
    Section,
    column_effects,
    contrasts,
    facts_of_prototypes,
    nearest_examples,
    rule_in_words,
    rule_section,
    wins,
)
from smpcore.explain.points import usual_step

DATA = ("moons", "iris", "digits", "series")


@pytest.fixture(scope="module", params=DATA)
def rows(request):
    dataset = load_dataset(request.param)
    train = split(dataset).train[:250]
    X = prepare(dataset, train).transform(dataset.frame.iloc[train])
    return X, dataset.y[train], dataset.y_encoded[train]


@pytest.fixture(scope="module", params=METHODS)
def model(request, rows):
    method = METHODS[request.param]
    return method.estimator(method.defaults()).fit(*rows[:2]).model_


def lead_of(model, x):
    first, second = np.sort(model.scores(x[None])[0])[::-1][:2]
    return first - second


def test_exact_parts_add_up_to_the_lead(model, rows):
    for x in rows[0][:40]:
        for by in (None, "prototype"):
            found = contributions(model, x, by)
            assert found.exact
            assert found.lead == pytest.approx(lead_of(model, x), abs=1e-10)
            assert found.parts.sum() + found.rest == pytest.approx(
                found.lead, abs=1e-10
            )
            assert found.winner == model.scores(x[None])[0].argmax()


def test_parts_of_features_add_up_or_say_that_they_do_not(model, rows):
    for x in rows[0][:10]:
        found = contributions(model, x, "feature")
        assert len(found.parts) in (model.n_features, len(model.similarity.weights))
        if found.exact:
            assert found.parts.sum() + found.rest == pytest.approx(found.lead, abs=1e-6)
        else:
            assert found.rule.startswith("An approximation")


def test_the_nearest_examples_are_the_likest(model, rows):
    X = rows[0]
    near = nearest_examples(model, X, 4)
    assert near.shape == (model.n_prototypes, 4)
    if not model.code_size:
        said = model.activations(X)
        for j, places in enumerate(near):
            assert said[places[0], j] == said[:, j].max()
            assert said[places[3], j] >= np.sort(said[:, j])[-4]


def test_every_represented_row_is_won_once(model, rows):
    X, _, codes = rows
    counts = wins(model, X, codes)
    assert counts.shape == (model.n_prototypes, model.n_outputs)
    spoken = model.activations(X).any(axis=1)
    np.testing.assert_array_equal(
        counts.sum(axis=0), np.bincount(codes[spoken], minlength=model.n_outputs)
    )


def test_facts_are_of_the_training_rows(model, rows):
    X, _, codes = rows
    facts = facts_of_prototypes(model, X, codes)
    assert len(facts) == model.n_prototypes
    for j, fact in enumerate(facts):
        if model.kind_of_prototype != "invented case":
            assert np.isnan(fact.distance)
            assert fact.outside == ()
            continue
        case = model.anchors[model.mixing[:, j].argmax()]
        apart = np.linalg.norm((X - model.center) / model.scale - case, axis=1)
        assert fact.distance == pytest.approx(apart.min(), abs=1e-9)
        out = (model.prototypes[j] < X.min(axis=0)) | (
            model.prototypes[j] > X.max(axis=0)
        )
        assert set(fact.outside) <= set(np.flatnonzero(out))


def test_an_opposing_weight_is_against_the_class_difference(model, rows):
    X, _, codes = rows
    if not model.is_linear:
        return
    weights = contrasts(model)
    for j, fact in enumerate(facts_of_prototypes(model, X, codes)):
        own = codes == model.prototype_labels[j]
        apart = X[own].mean(axis=0) - X[~own].mean(axis=0)
        for f in fact.opposing:
            assert weights[j, f] * apart[f] < 0


def test_the_rule_names_features_and_classes(model):
    words = " ".join(rule_in_words(model))
    assert all(str(label) in words for label in model.classes[:2])
    if model.is_linear:
        used = np.flatnonzero(model.support)
        assert any(model.feature_names[f] in words for f in used)


def test_the_rule_of_two_classes_decides_like_the_model():
    """A short sentence is the whole truth: its numbers are read back and tried."""
    dataset = load_dataset("moons")
    X = prepare(dataset, np.arange(dataset.n_samples)).transform(dataset.frame)
    method = METHODS["smallk"]
    values = {**method.defaults(), "n_prototypes": 2, "k": 1}
    model = method.estimator(values).fit(X, dataset.y).model_
    head, *tests, last = rule_in_words(model)
    positive, negative = head.split(",")[0], last.split(" ")[0]
    if not head.endswith("holds:"):
        tests = [head.partition("if ")[2].rstrip(".")]
    answers = np.full(len(X), negative, dtype=object)
    for test in tests:
        left, _, right = test.replace("−", "-").rpartition(
            " > " if " > " in test else " ≥ "
        )
        number, name = left.split(" · ")
        above = float(number) * X[:, model.feature_names.index(name)] > float(right)
        answers[above] = positive
    same = answers == model.predict(X).astype(str)
    assert same.mean() > 0.99  # four digits of the threshold


def test_a_wrong_call_is_a_sentence(model):
    with pytest.raises(SmpcoreError, match="x should have shape"):
        contributions(model, np.zeros(3000))
    with pytest.raises(SmpcoreError, match="by='row' should be"):
        contributions(model, np.zeros(model.n_features), "row")


@pytest.fixture(scope="module")
def clinic():
    """Three classes, and an amount, that depend on categories and numbers."""
    rng, n = np.random.default_rng(0), 240
    frame = pd.DataFrame(
        {
            "age": rng.integers(30, 77, n),
            "sex": rng.choice(["male", "female"], n, p=[0.7, 0.3]),
            "cp": rng.choice(["typical", "asympt", "none"], n),
            "chol (mg/dl)": rng.normal(246, 50, n).round(),
            "oldpeak": rng.exponential(1, n).round(1),
        }
    )
    risk = (frame["cp"] == "asympt") * 1.5 + (frame["sex"] == "male") + frame["oldpeak"]
    risk += (frame["chol (mg/dl)"] - 246) / 100
    targets = {
        "two": np.where(risk > risk.median(), "present", "absent"),
        "three": np.digitize(risk, np.quantile(risk, [0.3, 0.7])),
        "amount": 10 * risk + 50,
    }
    made = {}
    for name, target in targets.items():
        task = "regression" if name == "amount" else "classification"
        roles = {**dict.fromkeys(frame, "feature"), name: "target"}
        dataset = Dataset("clinic", frame.assign(**{name: target}), roles, task)
        preparation = prepare(dataset, np.arange(n))
        made[name] = preparation, preparation.transform(frame), dataset.y, task
    return made


def fitted(method, clinic, name):
    preparation, X, y, task = clinic[name]
    if task not in METHODS[method].estimators:
        pytest.skip("a classifier only")
    values = METHODS[method].defaults(task)
    return preparation, X, METHODS[method].estimator(values, task).fit(X, y).model_


@pytest.mark.parametrize("method", METHODS)
def test_parts_are_of_table_columns_with_their_levels_summed(method, clinic):
    preparation, X, model = fitted(method, clinic, "two")
    for x in X[:10]:
        column = contributions(model, x, "column", preparation)
        feature = contributions(model, x, "feature")
        assert column.of == "column" and column.exact == feature.exact
        assert len(column.parts) == 5
        if column.exact:
            sums = [feature.parts[i.features].sum() for i in preparation.inputs]
            np.testing.assert_allclose(column.parts, sums, rtol=0, atol=1e-12)
        else:
            one = np.array([0, 1, 5, 6])  # columns of one feature
            np.testing.assert_allclose(column.parts[[0, 1, 3, 4]], feature.parts[one])
            middle = np.where(
                model.scale == 1.0, (model.low + model.high) / 2, model.center
            )
            part = preparation.inputs[2].features
            row = x.copy()
            row[part] = middle[part]
            lead = np.diff(
                model.scores(row[None])[0, [column.runner_up, column.winner]]
            )
            assert column.parts[2] == pytest.approx(column.lead - lead[0])
    default = contributions(model, X[0], None, preparation)
    assert default.of == ("column" if model.is_linear else default.of) != "feature"


def tables_of(rule):
    """Tables of a rule by their titles, each with what is said of it."""
    parts = [block for block in rule.blocks if isinstance(block, Section)]
    return [(part.title, *part.blocks) for part in parts if not part.folded]


def sentences_of(rule):
    return [block for block in rule.blocks if isinstance(block, str)]


def constant(words):
    return float(re.match(r"Constant: (\S+);", words)[1])


@pytest.mark.parametrize("name", ["two", "three"])
@pytest.mark.parametrize("method", METHODS)
def test_points_that_are_added_by_hand_give_the_answer(method, name, clinic):
    """From what is printed alone: start, steps and points of three digits."""
    preparation, X, model = fitted(method, clinic, name)
    if not model.is_linear or model.code_size:
        pytest.skip("its rule is made of cases")
    rule = rule_section(model, preparation, X)
    assert len(sentences_of(rule)) == len(model.classes)
    sums = np.zeros((len(X), len(model.classes)))
    for c, label in enumerate(model.classes):
        (sentence,) = [s for s in sentences_of(rule) if s.startswith(str(label))]
        totals = []
        for title, lines, words in tables_of(rule):
            assert "omitted" not in words
            if title.partition(": ")[2] == str(label):
                totals.append(constant(words) + _added(lines, preparation, X))
        assert bool(totals) == (not sentence.endswith("otherwise."))
        sums[:, c] = np.max(totals, axis=0) if totals else 0.0
    lead = np.abs(np.diff(np.sort(sums, axis=1)[:, -2:], axis=1))[:, 0]
    clear = lead > 0.02 * np.abs(sums).max()
    assert clear.mean() > 0.8
    answers = model.classes[sums.argmax(axis=1)]
    np.testing.assert_array_equal(answers[clear], model.predict(X)[clear])


def _added(lines, preparation, X):
    inputs, total = {given.name: given for given in preparation.inputs}, 0.0
    for line in lines:
        given, what = inputs[line["column"]], line["level or step"]
        points = float(line["points for"] or "-" + line["points against"])
        values = X[:, given.features]
        if given.kind == "number":
            unit = " mg/dl" if "chol" in given.name else ""
            step, _, origin = what.removeprefix("per ").partition(" above ")
            step = float(step.removesuffix(unit))
            total = total + points * (values[:, 0] - float(origin or 0)) / step
        else:
            at = [given.levels[i] for i in given.feature_levels].index(what)
            total = total + points * values[:, at]
    return total


def test_lines_are_in_order_of_effect_and_levels_stay_together(clinic):
    preparation, X, model = fitted("smp", clinic, "two")
    for j, table in enumerate(tables_of(rule_section(model, preparation, X))):
        columns = list(dict.fromkeys(line["column"] for line in table[1]))
        effects = column_effects(model.weights[j] / model.scale, preparation, X)
        order = [preparation.inputs[i].name for i in np.argsort(-effects)]
        assert columns == order[: len(columns)]
        places = [columns.index(line["column"]) for line in table[1]]
        assert places == sorted(places)


@pytest.mark.parametrize("name", ["two", "amount"])
@pytest.mark.parametrize("method", METHODS)
def test_the_rule_of_cases_names_their_values(method, name, clinic):
    preparation, X, model = fitted(method, clinic, name)
    if model.is_linear and not model.code_size:
        pytest.skip("its rule is made of points")
    rule = rule_section(model, preparation, X)
    assert len(tables_of(rule)) == min(model.n_prototypes, 20)
    inputs = {given.name: given for given in preparation.inputs}
    for j, (_, lines, words) in enumerate(tables_of(rule)):
        pattern = r"Weight: (\S+)\. Sorted by distance from the training mean\."
        weight = float(re.match(pattern, words)[1])
        assert weight == pytest.approx(model.votes[j].max(), rel=6e-3)
        for line in lines:
            given = inputs[line["column"]]
            if given.kind == "category":
                assert line["value"].startswith(given.levels)
            else:
                assert len(line["value"].partition(".")[2]) == given.decimals
    if name == "amount":
        assert "class" not in " ".join(sentences_of(rule))


@pytest.mark.parametrize(
    ("spread", "integer", "step"),
    [(64, True, 50), (1.2, False, 1), (0.031, False, 0.02), (0.4, True, 1)],
)
def test_a_step_is_a_round_number_near_the_interquartile_range(spread, integer, step):
    values = np.linspace(0, 2 * spread, 101)
    assert usual_step(values, integer) == step
    assert usual_step(np.full(9, 3.0)) == 1


def test_the_points_of_a_regression_sum_to_its_answer(clinic):
    """Also of a regression whose cases are compared by their linear products."""
    preparation, X, y, task = clinic["amount"]
    method = METHODS["supersparse"]
    values = {**method.defaults(task), "similarity": "linear"}
    model = method.estimator(values, task).fit(X, y).model_
    rule = rule_section(model, preparation, X)
    (sentence,), ((_, table, words),) = sentences_of(rule), tables_of(rule)
    assert sentence.startswith("The prediction is") and "class" not in sentence
    lines = [
        {**line, "points for": line["adds"], "points against": line["subtracts"]}
        for line in table
    ]
    sums = constant(words) + _added(lines, preparation, X)
    assert np.abs(sums - model.predict(X)).max() < 0.02 * np.ptp(y)
