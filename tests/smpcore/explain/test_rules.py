"""Printed rules, followed by a program that knows nothing but what is printed."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from smpcore import METHODS, load_dataset, prepare, split
from smpcore.datasets import event_within, make_dataset
from smpcore.explain import rule_section
from smpcore.explain.points import rule_in_words
from smpcore.readouts import Section
from smpcore.report import numbers_section, text_rule
from tests.walks.tables import clinic_table

#: What a formula in words computes, of scaled rows, cases and the parameters.
FORMULAS = {
    "exp(-gamma d), d the sum of (x - z)^2": lambda X, Z, gamma: np.exp(
        -gamma * cdist(X, Z, "sqeuclidean")
    ),
    "exp(-gamma d), d the sum of |x - z|": lambda X, Z, gamma: np.exp(
        -gamma * cdist(X, Z, "cityblock")
    ),
    "(gamma s + coef0)^degree, s the sum of x times z": (
        lambda X, Z, gamma, degree, coef0: (gamma * X @ Z.T + coef0) ** degree
    ),
    "sum of x times z, divided by both lengths": lambda X, Z: 1 - cdist(X, Z, "cosine"),
    "sum of x times z, each less its own mean, divided by both lengths": (
        lambda X, Z: 1 - cdist(X, Z, "correlation")
    ),
}


def clinic(target):
    """A visitor's table with levels and gaps."""
    frame = clinic_table()
    roles = {"Patient": "group", target: "target"}
    return make_dataset(frame, "clinic", roles=roles)


def followed():
    """A question of time to event."""
    draw = np.random.default_rng(5)
    frame = pd.DataFrame(draw.normal(size=(240, 3)).round(3), columns=list("abc"))
    event = draw.exponential(30 * np.exp(-frame["a"]))
    lost = draw.exponential(60, 240)
    frame["months"] = np.minimum(event, lost)
    frame["death"] = (event <= lost) * 1
    return event_within(
        make_dataset(frame, "t", roles={"death": "target"}), "months", "death", 20.0
    )


def wide_houses():
    """Prices far from 0, which the intercept has, of more columns than lines."""
    draw = np.random.default_rng(2)
    frame = pd.DataFrame(
        draw.normal(size=(160, 24)), columns=[f"c{i}" for i in range(24)]
    )
    frame["price"] = (4e5 + 3e4 * frame @ draw.normal(size=24)).round()
    return make_dataset(frame, "houses", roles={"price": "target"})


TABLES = {
    "two": lambda: load_dataset("breast_cancer"),
    "many": lambda: load_dataset("wine"),
    "levels": lambda: clinic([*clinic_table()][-1]),
    "number": lambda: load_dataset("diabetes"),
    "houses": wide_houses,
    "event": followed,
    "series": lambda: load_dataset("series"),
    "matrix": lambda: load_dataset("similarities"),
    "text": lambda: load_dataset("words"),
}


def fitted(table, method, **values):
    """Training rows of a table, how they were prepared, and a model of theirs."""
    dataset, row = TABLES[table](), METHODS[method]
    if not row.learns(dataset, dataset.task):
        return None
    rows = split(dataset).train
    preparation = prepare(dataset, rows)
    X = preparation.transform(dataset.frame)
    values = {**row.defaults(dataset.task), **values}
    values = {**values, **row.data_params(dataset, values)}
    estimator = row.estimator_for(dataset, values)
    model = estimator.fit(X[rows], dataset.y[rows]).model_
    return preparation, X, X[rows], model


def blocks_of(section):
    """Sentences, tables and parts of a section."""
    of = {str: [], Section: []}
    tables = [b for b in section.blocks if not isinstance(b, (str, Section))]
    for block in section.blocks:
        if type(block) in of:
            of[type(block)].append(block)
    return of[str], tables, of[Section]


def column(table, name):
    return np.array([float(line[name]) for line in table])


def with_column(tables, *names):
    return next((t for t in tables if {*names} <= {*t[0]}), None)


def similarities(words, features, X):
    """Of scaled rows to the cases of a table, by the formula that is said."""
    names = [n for n in features[0] if re.fullmatch(r"z\d+", n)]
    Z = np.stack([column(features, name) for name in names])
    said = re.search(r"Similarity to a case z: (.+?)\.(?= Activation)", words)[1]
    formula, _, values = said.partition("; ")
    if formula.startswith("sum over features of weight"):
        weight, width = column(features, "weight"), column(features, "width")
        squares = (X[:, None] - Z) ** 2
        return (weight * np.exp(-squares / width)).sum(axis=2)
    pairs = (pair.split(" = ") for pair in filter(None, values.split(", ")))
    return FORMULAS[formula](X, Z, **{name: float(v) for name, v in pairs})


def coded(words, G, activations):
    """Coefficients that reconstruct an input, one more at a time."""
    size = int(re.search(r"at most (\d+) coefficients", words)[1])
    codes = np.zeros_like(activations)
    for code, a in zip(codes, activations, strict=True):
        chosen = []
        while len(chosen) < min(size, len(a)):
            slope = a - G @ code
            slope[chosen] = -np.inf
            if slope.max() <= 1e-9 * np.abs(a).max():
                break
            chosen.append(int(slope.argmax()))
            code[chosen] = np.linalg.solve(G[np.ix_(chosen, chosen)], a[chosen])
            while (code[chosen] < 0).any():
                chosen = [j for j in chosen if code[j] > 0]
                code[:] = 0
                code[chosen] = np.linalg.solve(G[np.ix_(chosen, chosen)], a[chosen])
    return codes


def follow_numbers(words, tables, X):
    """Scores by the sentences of a rule and the numbers that it names."""
    features = with_column(tables, "feature", "mean")
    X = (X - column(features, "mean")) / column(features, "standard deviation")
    prototypes = with_column(tables, "prototype", "bias")
    numbers, bias = [p["prototype"] for p in prototypes], column(prototypes, "bias")
    if "sum of x times its weight" in words:
        W = np.stack([column(features, f"weight {n}") for n in numbers])
        activations = X @ W.T + bias
    else:
        activations = similarities(words, features, X)
        if shares := with_column(tables, "case", "share"):
            mixing = np.zeros((activations.shape[1], len(numbers)))
            for line in shares:
                place = int(line["case"][1:]) - 1, numbers.index(line["prototype"])
                mixing[place] = float(line["share"])
            activations = activations @ mixing
        activations = activations + bias
    if "Code: " in words:
        products = with_column(tables, "prototype", "1")
        G = np.stack([column(products, n) for n in numbers])
        activations = coded(words, G, activations)
    return pooled(words, prototypes, with_column(tables, "output"), activations)


def pooled(words, prototypes, outputs, activations):
    """Scores of the outputs by their names."""
    names, intercept = [o["output"] for o in outputs], column(outputs, "intercept")
    if "class" in prototypes[0]:
        assert "the largest activation among its prototypes" in words
        owners = np.array([p["class"] for p in prototypes])
        tops = [activations[:, owners == name].max(axis=1) for name in names]
        return names, np.stack(tops, axis=1) + intercept
    weights = [n for n in prototypes[0] if n.startswith("weight")]
    votes = np.stack([column(prototypes, name) for name in weights], axis=1)
    return names, activations @ votes + intercept


def check(names, scores, model, X, rounding):
    """The model's answers where the lead is more than what is rounded off."""
    if model.classes is None:
        assert (np.abs(scores[:, 0] - model.predict(X)) <= rounding).all()
        return
    two = np.sort(scores, axis=1)[:, -2:]
    clear = two[:, 1] - two[:, 0] > 2 * np.asarray(rounding) + model.tie
    assert clear.mean() > 0.5
    answers = np.array(names)[scores.argmax(axis=1)]
    assert answers[clear].tolist() == [*map(str, model.predict(X)[clear])]


CASES = [(table, method, {}) for table in TABLES for method in METHODS] + [
    (table, "supersparse", {"similarity": kind})
    for table in ("two", "many", "number")
    for kind in ("laplacian", "linear", "poly", "cosine", "ncc")
]


@pytest.mark.parametrize(("table", "method", "values"), CASES)
def test_a_rule_and_the_numbers_that_it_names_give_every_answer(table, method, values):
    of = fitted(table, method, **values)
    if of is None or table == "text":
        return
    preparation, X, training, model = of
    rule, numbers = rule_section(model, preparation, training), numbers_section(model)
    sentences = blocks_of(rule)[0]
    said, tables, _ = blocks_of(numbers)
    if not tables:
        assert "has no formula" in " ".join(sentences) or "Left out" in said[0]
        return
    words = " ".join(sentences)
    if model.is_linear and not model.code_size:
        words = said[0]
    else:
        assert numbers.title in words
        outputs = with_column(tables, "output")
        for line in outputs:
            name = "" if model.classes is None else f"{line['output']} "
            assert f"{name}{line['intercept']}" in words
    names, scores = follow_numbers(words, tables, X)
    size = np.abs(scores).max() + np.abs(model.votes).sum()
    check(names, scores, model, X, 1e-7 * size)


def test_a_rule_of_texts_gives_every_answer():
    for method in METHODS:
        if (of := fitted("text", method)) is None:
            continue
        _, X, _, model = of
        codes = model.anchors.astype(int)
        texts = ["".join("ACGT"[c] for c in row if c >= 0) for row in codes]
        (words,), (prototypes, outputs), _ = blocks_of(text_rule(model, texts))
        gamma = float(re.search(r"gamma = (.+?)\. ", words)[1])
        assert [line["text"] for line in prototypes] == texts
        rows = [[int(c) for c in row if c >= 0] for row in X]
        cases = [[int(c) for c in row if c >= 0] for row in codes]
        edits = np.array([[distance(a, b) for b in cases] for a in rows])
        activations = np.exp(-gamma * edits) + column(prototypes, "bias")
        names, scores = pooled(words, prototypes, outputs, activations)
        check(names, scores, model, X, 1e-7 * np.abs(model.votes).sum())


def distance(a, b):
    """Letters that are added, left out or replaced between two texts."""
    row = [*range(len(b) + 1)]
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def half_digit(text):
    """What is rounded off a number at most."""
    mantissa, _, exponent = text.partition("e")
    places = len(mantissa.partition(".")[2]) - int(exponent or 0)
    return 0.5 * 10.0**-places * (1 + 1e-9)


def added(lines, words, preparation, X):
    """Sum of a table of points, and how far what is rounded may move it."""
    inputs = {one.name: one for one in preparation.inputs}
    start = re.match(r"Constant: (\S+);", words)[1]
    total = np.full(len(X), float(start))
    apart = np.full(len(X), half_digit(start))
    for line in lines:
        given, what = inputs[line["column"]], line["level or step"]
        (sign, text), *rest = [
            (1 - 2 * i, line[h]) for i, h in enumerate([*line][2:]) if line[h]
        ]
        assert not rest
        values = X[:, given.features]
        if given.kind == "number":
            step, _, origin = what.removeprefix("per ").partition(" above ")
            step = float(re.match(r"\S+", step)[0])
            times = (values[:, 0] - float(origin or 0)) / step
        else:
            times = values[
                :, [given.levels[i] for i in given.feature_levels].index(what)
            ]
        total += sign * float(text) * times
        apart += half_digit(text) * np.abs(times)
    if more := re.search(r"(\d+) lines? with smaller effects omitted", words):
        change = re.search(r"change the sum by at most (\S+), up or down", words)[1]
        assert int(more[1]) > 0
        apart += float(change)
    return total, apart


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize(("table", "method", "values"), CASES)
def test_points_give_every_answer_beyond_what_is_left_out(
    table, method, values, positive
):
    of = fitted(table, method, **values)
    if of is None or not of[3].is_linear or of[3].code_size:
        return
    preparation, _, X, model = of
    rule = rule_section(replace(model, outcome=positive), preparation, X)
    sentences, _, parts = blocks_of(rule)
    if any("are left out, which may decide" in s for s in sentences):
        return
    outputs = [""] if model.classes is None else [*map(str, model.classes)]
    sums = {name: np.zeros((1, len(X))) for name in outputs}
    apart = np.zeros(len(X))
    tables = [part for part in parts if not part.folded]
    totals = {name: [] for name in outputs}
    for part in tables:
        lines, words = part.blocks
        total, off = added(lines, words, preparation, X)
        apart = np.maximum(apart, off)
        title = part.title.partition(": ")[2] or part.title
        totals[title if title in totals else outputs[0]].append(total)
    sums = [
        np.max(totals[n], axis=0) if totals[n] else np.zeros(len(X)) for n in outputs
    ]
    if model.classes is None:
        check(outputs, np.stack(sums, axis=1), model, X, apart)
        return
    scores = np.stack(sums, axis=1)
    two = np.sort(scores, axis=1)[:, -2:]
    clear = two[:, 1] - two[:, 0] > 2 * apart + model.tie
    answers = np.array(outputs)[scores.argmax(axis=1)]
    assert answers[clear].tolist() == [*map(str, model.predict(X)[clear])]
    if "omitted" not in "".join(part.blocks[1] for part in tables):
        assert clear.mean() > 0.5


@pytest.mark.parametrize(
    ("table", "method"), [("levels", "smallk"), ("two", "smp"), ("many", "smp")]
)
def test_a_formula_has_the_numbers_of_the_prototypes(table, method):
    """Those of its table: the first test of SMaLL is that of prototype 2."""
    preparation, _, X, model = fitted(table, method)
    section = rule_section(model, preparation, X)
    *tables, formula = (part for part in section.blocks if isinstance(part, Section))
    number = r"Prototype (\d+)"
    titles = [re.match(number, part.title)[1] for part in tables]
    lines = [re.match(number, line) for line in formula.blocks if line[:5] == "Proto"]
    assert [line[1] for line in lines] == titles and len(titles) > 1


@pytest.mark.parametrize("table", ["two", "levels", "houses"])
@pytest.mark.parametrize("positive", [0, 1])
def test_a_formula_gives_every_answer_beyond_what_is_left_out(table, positive):
    """A sum of eight features, its remainder, and the border of two classes."""
    method = "supersparse" if table == "houses" else "smallk"
    values = {"similarity": "linear"} if table == "houses" else {"n_prototypes": 1}
    _, _, X, model = fitted(table, method, **values)
    first = rule_in_words(replace(model, outcome=positive))[0]
    text = first.removesuffix(".").removeprefix("The prediction is ")
    border = None
    if model.classes is not None:
        name, text = text.split(", if ")
        text, sign, border = re.fullmatch(r"(.*) ([>≥]) (\S+)", text).groups()
        assert name == str(model.classes[positive])
        assert sign == (">" if positive else "≥")
    text, _, rest = text.partition(" ± at most ")
    total, apart = np.zeros(len(X)), np.zeros(len(X))
    for sign, number, feature in re.findall(
        r"(?:(^|[+−]) ?|^)([\d.e-]+)(?: · (.+?))?(?= [+−] |$)", text
    ):
        values = np.ones(len(X))
        if feature:
            values = X[:, model.feature_names.index(feature)]
        total += (-1 if sign == "−" else 1) * float(number) * values
        apart += half_digit(number) * np.abs(values)
    apart += float(rest.split()[0]) if rest else 0.0
    if border is None:
        check([""], total[:, None], model, X, apart)
        return
    border, off = float(border.replace("−", "-")), half_digit(border)
    clear = np.abs(total - border) > apart + off + model.tie
    answers = np.where(total > border, *model.classes[[positive, 1 - positive]])
    np.testing.assert_array_equal(answers[clear], model.predict(X)[clear])


def test_prototypes_without_names_are_numbered_from_1_with_their_classes():
    dataset = load_dataset("iris")
    rows = split(dataset).train
    preparation = prepare(dataset, rows)
    X = preparation.transform(dataset.frame)[rows]
    model = METHODS["smp"].estimator({}).fit(X, dataset.y[rows]).model_
    words = repr(rule_section(model, preparation, X))
    for j, label in enumerate(model.classes[model.prototype_labels], 1):
        assert f"Prototype {j}: {label}" in words
    assert "Prototype 0" not in words
