"""What an answer is made of, and what prototypes are beside real rows."""

import re

import numpy as np
import pandas as pd
import pytest

from smpcore import (
    METHODS,
    SMaLLClassifier,
    SmpcoreError,
    contributions,
    explain,
    load_dataset,
    prepare,
    split,
)
from smpcore.datasets import make_dataset
from smpcore.explain.points import column_effects, score_sums, usual_step
from smpcore.readouts import Section
from tests.shown.oracle import fit

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


def test_parts_add_up_to_the_lead_or_say_that_they_do_not(model, rows):
    for x in rows[0][:20]:
        for by in (None, "prototype", "feature"):
            split_lead = contributions(model, x, by)
            assert split_lead.lead == pytest.approx(lead_of(model, x), abs=1e-10)
            assert split_lead.winner == model.scores(x[None])[0].argmax()
            assert split_lead.exact or by == "feature"
            if split_lead.exact:
                total = split_lead.parts.sum() + split_lead.rest
                room = 1e-6 if by == "feature" else 1e-10
                assert total == pytest.approx(split_lead.lead, abs=room)
            else:
                assert split_lead.rule.startswith("An approximation")
            if by == "feature":
                sizes = model.n_features, len(model.similarity.weights)
                assert len(split_lead.parts) in sizes


def test_an_opposing_weight_is_against_the_class_difference(model, rows):
    X, _, codes = rows
    if not model.is_linear:
        return
    weights = explain.contrasts(model)
    for j, fact in enumerate(explain.facts_of_prototypes(model, X, codes)):
        own = codes == model.prototype_labels[j]
        apart = X[own].mean(axis=0) - X[~own].mean(axis=0)
        for f in fact.opposing:
            assert weights[j, f] * apart[f] < 0


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
        table, roles = frame.assign(**{name: target}), {name: "target"}
        dataset = make_dataset(table, "clinic", roles=roles, task=task)
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
        assert column.of == "column" and len(column.parts) == 5
        if not column.exact:
            middle = np.where(
                model.scale == 1.0, (model.low + model.high) / 2, model.center
            )
            for part, spec in zip(column.parts, preparation.inputs, strict=True):
                row = x.copy()
                row[spec.features] = middle[spec.features]
                scores = model.scores(row[None])[0, [column.runner_up, column.winner]]
                lead = scores[1] - scores[0]
                assert part == pytest.approx(column.lead - lead)
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
    rule = explain.rule_section(model, preparation, X)
    assert len(sentences_of(rule)) == len(model.classes)
    sums = np.zeros((len(X), len(model.classes)))
    for j, (_, lines, words) in enumerate(tables_of(rule)):
        assert "omitted" not in words
        columns = [*dict.fromkeys(line["column"] for line in lines)]
        effects = column_effects(model.weights[j] / model.scale, preparation, X)
        if (method, name) == ("smp", "two"):  # in order of effect; levels stay together
            order = [preparation.inputs[i].name for i in np.argsort(-effects)]
            assert columns == order[: len(columns)]
        places = [columns.index(line["column"]) for line in lines]
        assert places == sorted(places)
    for c, label in enumerate(model.classes):
        (sentence,) = [s for s in sentences_of(rule) if s.startswith(str(label))]
        totals = [
            constant(words) + _added(lines, preparation, X)
            for title, lines, words in tables_of(rule)
            if title.partition(": ")[2] == str(label)
        ]
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


@pytest.mark.parametrize("name", ["two", "amount"])
@pytest.mark.parametrize("method", METHODS)
def test_the_rule_of_cases_names_their_values(method, name, clinic):
    preparation, X, model = fitted(method, clinic, name)
    if model.is_linear and not model.code_size:
        pytest.skip("its rule is made of points")
    rule = explain.rule_section(model, preparation, X)
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
    rule = explain.rule_section(model, preparation, X)
    (sentence,), ((_, table, words),) = sentences_of(rule), tables_of(rule)
    assert sentence.startswith("The prediction is") and "class" not in sentence
    lines = [
        {**line, "points for": line["adds"], "points against": line["subtracts"]}
        for line in table
    ]
    sums = constant(words) + _added(lines, preparation, X)
    assert np.abs(sums - model.predict(X)).max() < 0.02 * np.ptp(y)


def test_what_a_formula_leaves_out_is_within_its_remainder():
    of = fit("smallk", "breast_cancer")
    X, y = of.X[of.parts["train"]], of.truth("train")
    model = SMaLLClassifier(1, k=20).fit(X, y).model_
    weights, _, labels, alone = score_sums(model)
    (sentence, _) = explain.rule_in_words(model)
    text, sign, limit = sentence.partition(", if ")[2].rpartition(" ≥ ")
    text, sign, limit = (text, sign, limit) if sign else sentence[:-1].rpartition(" > ")
    terms = re.findall(r"([+−]?) ?([\d.e-]+) · (.+?)(?= [+−±] )", text)
    used = {name: float(n) * (-1 if s == "−" else 1) for s, n, name in terms}
    assert len(used) == 8
    rest = text[text.index(terms[-1][2]) + len(terms[-1][2]) :]
    constant, most, left = re.fullmatch(
        r" ([+−] [\d.e-]+) ± at most ([\d.e-]+) \((\d+) smaller terms\)", rest
    ).groups()
    (j,) = np.flatnonzero(labels != alone)
    assert int(left) == np.count_nonzero(weights[j]) - 8
    places = [model.feature_names.index(name) for name in used]
    shown = X[:, places] @ [*used.values()]
    shown += float(constant.replace("− ", "-").replace("+ ", ""))
    apart = np.abs(X @ weights[j] - shown)
    rounding = 1e-3 * np.abs(X[:, places] * [*used.values()]).sum(axis=1).max()
    assert float(most) * 0.1 < apart.max() <= float(most) * 1.05 + rounding
