"""A colleague with nothing but the report comes to the same answers and counts."""

import re
from html import unescape

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import confusion_matrix
from statsmodels.graphics.gofplots import ProbPlot

from pages.performance import optimism
from pages.prototypes.score import _TASK
from smpcore import METHODS
from smpcore import report as write
from smpcore.datasets import CleaningStep
from smpcore.readouts import Section
from smpcore.report.document import Page
from smpcore.report.tripod import items
from tests.app import (
    calibrated,
    context_of,
    kernels,
    opened,
    session_of,
    sound,
    until,
)
from tests.html_document import Document
from tests.shown import oracle
from tests.shown.oracle import says
from tests.shown.test_figure import link
from tests.shown.test_other_pages import by_hand
from tests.shown.test_performance import adjusted, margins, rarer
from tests.shown.test_prototypes import section
from tests.smpcore.test_report_manuscript import check_same_numbers, unpacked

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def downloaded(fit, **more):
    """The report as a file."""
    app = section(fit, "Report", **more)
    button = next(b for b in app.button if b.label == "Download the report")
    sound(button.click().run())
    (sent,) = (c.proto.bytes for c in app.get("bidi_component") if c.proto.bytes)
    return sent.partition(b"\n")[2].decode()


def report(fit, **more):
    """Tables of the downloaded report by their headings, and its text."""
    document = Document(downloaded(fit, **more))
    tables = [t for t in document.tables if t]
    return {tuple(t[0]): t[1:] for t in tables}, " ".join(document.texts), tables


def table_with(tables, *names):
    """The first table that has these columns, as dictionaries."""
    for heads, lines in tables.items():
        if {*names} <= {*heads}:
            return [dict(zip(heads, line, strict=True)) for line in lines]
    raise AssertionError(f"no table with {names}: {list(tables)}")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", ["clinic", "wine"])
def test_counts_parts_and_columns(method, data):
    fit = oracle.fit(method, data)
    tables, text, every = report(fit)
    names = sorted(set(fit.y))
    if len(names) == 2:
        names.sort(key=lambda name: name != rarer(fit))  # the outcome is first
    confusions = [t for t in every if t[0][0] == "true class"]
    for part, table in zip(("train", "validation"), confusions, strict=True):
        truth, answers = fit.truth(part), fit.answers(part)
        counts = confusion_matrix(truth, answers, labels=names)
        right = f"{np.trace(counts)} of {len(truth)} rows are right"
        assert right in text
        for i, line in enumerate(table[1:]):
            shown = dict(zip(table[0], line, strict=True))
            assert shown["true class"] == str(names[i])
            assert [shown[f"predicted {n}"] for n in names] == [*map(str, counts[i])]
            if len(names) == 2:  # with measures of their own
                continue
            assert shown["rows"] == str(counts[i].sum())
            for name, among in (("recall", truth), ("precision", answers)):
                rows = among == names[i]
                if not rows.any():
                    continue
                hits, groups = (truth == answers)[rows], fit.groups(part)
                groups = None if groups is None else groups[rows]
                numbers = (100 * part for part in oracle.share(hits, groups)[:3])
                says(shown[f"{name} (95 % interval)"], "# % (#–# %)", *numbers)
    for line in table_with(tables, "part", "rows", "share"):
        part = line["part"].replace("training", "train")
        rows = fit.parts[part]
        assert line["rows"] == str(len(rows))
        says(line["share"], "# %", 100 * len(rows) / len(fit.y))
        if fit.table.groups is not None:
            assert line["groups"] == str(len(set(fit.groups(part))))
        for name in names:
            told = "" if part == "test" else str((fit.y[rows] == name).sum())
            assert line[f"class {name}"] == told
    training = fit.table.frame.iloc[fit.parts["train"]]
    used = fit.used()
    for line in table_with(tables, "column", "role", "missing in training"):
        name = line["column"]
        assert line["role"] == fit.table.roles[name]
        assert line["used by the model"] == ("yes" if name in used else "no")
        if name not in fit.table.feature_columns:
            continue
        column = training[name]
        assert line["missing in training"] == str(column.isna().sum())
        shown = line["training range or levels"]
        if column.dtype.kind in "if":
            says(shown, "# to #", column.min(), column.max())
            says(line["a missing value becomes"], "#", column.median())
        else:
            assert shown.split(", ") == sorted(set(column.dropna()))


@pytest.mark.parametrize("method", ["smp", "smallk", "mprotsvm"])
@pytest.mark.parametrize("data", ["clinic", "wine"])
def test_the_printed_numbers_are_the_model(method, data):
    """Means, deviations, weights and biases as printed answer as the model does."""
    fit = oracle.fit(method, data)
    tables, text, _ = report(fit)
    lines = table_with(tables, "feature", "mean", "standard deviation", "weight 1")
    prototypes = table_with(tables, "prototype", "bias", "class")
    mean, spread = (
        np.array([float(line[name]) for line in lines])
        for name in ("mean", "standard deviation")
    )
    weights = np.array(
        [
            [float(line[f"weight {p['prototype']}"]) for line in lines]
            for p in prototypes
        ]
    )
    bias = np.array([float(p["bias"]) for p in prototypes])
    said = (fit.X - mean) / spread @ weights.T + bias
    owners = np.array([p["class"] for p in prototypes])
    names = [str(name) for name in fit.model.classes]
    scores = np.stack([said[:, owners == n].max(axis=1) for n in names], axis=1)
    tie = float(re.search(r"scores within (\S+) count as equal", text)[1])
    first = (scores >= scores.max(axis=1, keepdims=True) - tie).argmax(axis=1)
    answers = np.array(names)[first]
    assert (answers == fit.model.predict(fit.X).astype(str)).all()
    np.testing.assert_allclose(scores, fit.model.scores(fit.X), atol=1e-6)


def points_of(html, title):
    """Points of a picture of the report, by the numbers at both ends of its axes."""
    svg = html.partition(f'aria-label="{title}"')[2].partition('h0" stroke=')[0]
    ticks = re.findall(r'text-anchor="(middle|end)">([^<]*)</text>', svg)
    dots = re.findall(r"M([\d.-]+) ([\d.-]+)h0", svg + "h0")
    shares = np.array(dots, float) / 230
    ends = [
        [float(t) for place, t in ticks[:12] if place == p] for p in ("middle", "end")
    ]
    (left, right), (low, high) = ((e[0], e[-1]) for e in ends)
    x = left + shares[:, 0] * (right - left)
    return x, high - shares[:, 1] * (high - low), (right - left, high - low)


def test_residuals_in_pictures_are_those_of_the_validation_rows():
    fit = oracle.fit("supersparse", "numbers")
    html = downloaded(fit)
    truth, answers = fit.truth("validation"), fit.answers("validation")
    order = np.argsort(-np.abs(truth - answers), kind="stable")
    truth, answers = truth[order], answers[order]
    quantiles = np.empty(len(truth))
    places = np.argsort(truth - answers, kind="stable")
    quantiles[places] = ProbPlot(truth, a=0.5).theoretical_quantiles
    for title, *expected in (
        ("Actual against predicted", answers, truth),
        ("Residuals against predicted", answers, truth - answers),
        ("QQ plot of the residuals", quantiles, truth - answers),
    ):
        *shown, sizes = points_of(html, title)
        for values, right, size in zip(shown, expected, sizes, strict=True):
            np.testing.assert_allclose(values, right, atol=0.06 / 230 * size)


@pytest.mark.parametrize("data", ["numbers", "diabetes"])
def test_invented_cases_as_printed_are_the_model(data):
    """Cases, gamma, weights and intercept as printed give the model's numbers."""
    fit = oracle.fit("supersparse", data)
    tables, text, _ = report(fit)
    lines = table_with(tables, "feature", "mean", "standard deviation", "z1")
    prototypes = table_with(tables, "prototype", "bias", "weight")
    (output,) = table_with(tables, "output", "intercept")
    columns = {
        name: [float(x[name]) for x in lines] for name in lines[0] if name != "feature"
    }
    rows = (fit.X - columns["mean"]) / columns["standard deviation"]
    cases = np.array([columns[f"z{p['prototype']}"] for p in prototypes])
    gamma = float(re.search(r"gamma = ([\d.e-]+\d)", text)[1])
    weights = np.array([float(p["weight"]) for p in prototypes])
    said = np.exp(-gamma * cdist(rows, cases, "sqeuclidean"))
    said += [float(p["bias"]) for p in prototypes]
    numbers = float(output["intercept"]) + said @ weights
    np.testing.assert_allclose(numbers, fit.model.predict(fit.X), rtol=1e-5)


@pytest.mark.parametrize(
    ("method", "data"), [("imkpl", "iris"), ("supersparse", "numbers")]
)
def test_a_mix_is_printed_where_prototypes_are_mixes(method, data):
    """The shares by case and prototype, as the columns of the cases are called."""
    fit = oracle.fit(method, data)
    tables, _, _ = report(fit)
    if (gram := fit.model.gram) is not None:
        heads = "prototype", *(str(j + 1) for j in range(len(gram)))
        products = [[float(cell) for cell in line[1:]] for line in tables[heads]]
        np.testing.assert_allclose(products, gram, rtol=1e-8)
    heads, mixing = ("case", "prototype", "share"), fit.model.mixing
    if mixing.shape[0] == mixing.shape[1] and (mixing == np.eye(len(mixing))).all():
        assert heads not in tables
        return
    columns = table_with(tables, "feature", "mean")[0]
    printed = np.zeros(mixing.shape)
    for case, prototype, share in tables[heads]:
        assert case in columns
        printed[int(case[1:]) - 1, int(prototype) - 1] = float(share)
    np.testing.assert_allclose(printed, mixing, rtol=1e-8)


def test_what_is_added_up_on_the_sheet_has_its_name():
    """The sums of invented cases are by prototype."""
    fit = oracle.fit("supersparse", "wine")
    _, text, _ = report(fit)
    names = re.search(r"const NAMES = \[(.*?)\];", text, re.DOTALL)[1]
    assert re.findall(r'"(.*?)"', names) == [
        f"Prototype {j + 1} (class {fit.model.classes[owner]})"
        for j, owner in enumerate(fit.model.votes.argmax(axis=1))
    ]


def test_real_rows_to_begin_with_are_the_nearest():
    """Of each invented case the training row that is most like it."""
    fit = oracle.fit("supersparse", "wine")
    _, text, _ = report(fit)
    begin = re.search(r"const ROWS = \[(.*?)\];\n", text, re.DOTALL)[1]
    shown = {int(n) for n in re.findall(r"Row (\d+) ", begin)}
    nearest = cdist(fit.model.anchors, fit.training).argmin(axis=1)
    assert shown == {*(fit.parts["train"][nearest] + 1).tolist()}


def test_slope_and_offsets_are_those_of_the_calibration():
    """As printed they give its probabilities to six digits and more."""
    fit = oracle.fit("smallk", "iris")
    page = opened(link(fit), "performance.py", "Probabilities")
    found = context_of(calibrated(page)).model().calibration
    tables, text, _ = report(fit)
    slope = float(re.search(r"with the slope (\S+) and these offsets", text)[1])
    lines = table_with(tables, "class", "offset")
    offsets = [float(line["offset"]) for line in lines]
    assert slope == pytest.approx(found.slope, rel=1e-8)
    np.testing.assert_allclose(offsets, found.offsets, rtol=1e-8)


def test_cleaning_is_told_with_its_counts():
    dataset = oracle.table("clinic")
    steps = [CleaningStep("CRP mg/l", high=30.0), CleaningStep("Alter", codes=("50",))]
    frame = dataset.frame
    fit = oracle.Fit("smp", "clinic", dataset.with_roles(cleaning=steps))
    tables, _, _ = report(fit)
    lines = [line["step"] for line in table_with(tables, "step")]
    gone = (frame["CRP mg/l"] > 30).sum(), (frame["Alter"] == 50).sum()
    for line, name, count in zip(lines, ("CRP mg/l", "Alter"), gone, strict=True):
        assert (
            line.startswith(f"{name}: ") and f"({count} of {len(frame)} rows)" in line
        )
    tables, text, _ = report(oracle.fit("smp", "clinic"))
    assert ("step",) not in tables and "Cleaning" not in text


def test_long_tables_are_folded_and_wide_models_have_no_form():
    """More than 40 lines, and more than 200 inputs."""
    for n in (40, 41):
        table = [{"line": str(i)} for i in range(n)]
        html = write(
            by_hand(2), Page("A model", {}, sections=[Section("One", [table])])
        )
        assert (f"Table of {n} lines" in html) == (n > 40)
    for n in (200, 201):
        words = f"It has {n} inputs, at most 200 can be filled in."
        assert (words in write(by_hand(n))) == (n > 200)


def test_a_formula_is_the_model():
    """The formula over the columns' own values scores as the model does."""
    fit = oracle.fit("smallk", "wine")
    _, text, _ = report(fit)
    lines = re.findall(r"class_\d: [-−0-9][^:]*?(?=\s*class_\d:|\s{2,}|$)", text)
    frame, x = fit.table.frame, fit.X
    scores = fit.model.activations(x)
    assert len(lines) == scores.shape[1]
    for j, line in enumerate(lines):
        total = np.zeros(len(frame))
        for sign, number, name in re.findall(
            r"([+−-]?)\s*([\d.e-]+)(?: · (\S+))?", line.partition(": ")[2]
        ):
            value = float(number) * (-1 if sign in ("−", "-") else 1)
            total += value * (frame[name].to_numpy() if name else 1.0)
        np.testing.assert_allclose(total, scores[:, j], atol=5e-3 * np.ptp(total))


def test_a_threshold_that_is_set_is_in_the_report():
    """The intercept takes it up: the second class needs so much more."""
    fit = oracle.fit("smp", "clinic")
    tables, text, every = report(fit, threshold="1.5", band="0.5")
    assert "1.5" in text and "0.5" in text
    assert "How they were chosen was not recorded." in text
    names, truth = list(fit.model.classes), fit.truth("validation")
    margin = margins(fit, names[1]) - 1.5
    said = np.where(margin > 0, names[1], names[0])
    sure = np.abs(margin) > 0.5
    said = np.where(sure, said, "not sure")
    assert 0 < sure.sum() < len(sure)
    rare = rarer(fit)
    (other,) = {*names} - {rare}
    (at,) = [i for i, t in enumerate(every) if t[0][0] == "true class"][-1:]
    table, measures = every[at : at + 2]
    columns = [rare, other, "not sure"]
    assert table[0][1:] == [f"predicted {rare}", f"predicted {other}", "not sure"]
    for line, of in zip(table[1:], (rare, other), strict=True):
        counts = [((truth == of) & (said == answer)).sum() for answer in columns]
        assert line == [of, *map(str, counts)]
    lines = {line[0]: dict(zip(measures[0], line, strict=True)) for line in measures}
    groups = fit.groups("validation")
    for name, of in (("Sensitivity (recall)", rare), ("Specificity", other)):
        rows = sure & (truth == of)
        value, low, high, _ = oracle.share((said == of)[rows], groups[rows])
        says(lines[name]["value"], "# %", 100 * value)
        says(lines[name]["95 % interval"], "#–# %", 100 * low, 100 * high)
        assert lines[name]["interval by"] == "Wilson's"
    got = said == rare
    value = lines["Positive predictive value"]["value"]
    says(value, "# %", 100 * (truth == rare)[got].mean())
    ways = [oracle.share(got[truth == c], groups[truth == c]) for c in (rare, other)]
    (p, n), (q, m) = adjusted([(one[0], one[3]) for one in ways])
    _, low, high = oracle.predictive((p, n), (1 - q, m), (truth == rare).mean())[0]
    share = (truth == rare)[got].mean()
    low, high = min(low, share), max(high, share)
    ends = lines["Positive predictive value"]["95 % interval"]
    says(ends, "#–# %", 100 * low, 100 * high)
    outputs = {o["output"]: o for o in table_with(tables, "output", "intercept")}
    added = [float(outputs[n]["intercept"]) for n in names]
    assert added[0] - added[1] == pytest.approx(1.5)


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("data", ["breast_cancer", "clinic"])
def test_rule_score_and_report_are_about_the_outcome(data, positive, monkeypatch):
    """Chosen on Performance once; more points mean more of that class."""
    monkeypatch.setattr("pages.prototypes.score._PARTS", 1)
    fit = oracle.fit("smallk", data)
    query = link(fit) | {"k": "2", "n_prototypes": "1"}
    app = opened(query, "performance.py")
    box = next(b for b in app.selectbox if b.label == "Outcome")
    sound(box.set_value(str(sorted(set(fit.y))[positive])).run())
    app.segmented_control(key="performance_section").set_value("Probabilities").run()
    app = calibrated(app)
    measured = next(t.value for t in app.dataframe if "Brier score" in t.value)
    context = context_of(app)
    names = context.data.dataset.classes
    name, other = names[positive], names[1 - positive]
    app.switch_page("pages/prototypes.py").run()
    app.segmented_control(key="prototypes_section").set_value("Rule in words").run()
    texts = [text.value.replace("\\", "") for text in sound(app).markdown]
    assert any(t.startswith(f"{name}, if the sum of its points") for t in texts)
    assert f"{other} otherwise" in " ".join(texts)
    app.segmented_control(key="prototypes_section").set_value("Score").run()
    sound(app.button(key="find_score").click().run())
    session_of(app).results[_TASK][1].wait(200)
    risks = sound(app.run()).dataframe[-1].value
    assert f"risk of {name}" in risks
    app.segmented_control(key="prototypes_section").set_value("Report").run()
    button = next(b for b in app.button if b.label == "Download the report")
    sound(button.click().run())
    (sent,) = (c.proto.bytes for c in app.get("bidi_component") if c.proto.bytes)
    document = Document(sent.partition(b"\n")[2].decode())
    text = " ".join(document.texts)
    assert f"Validation: probability of {name}." in text
    (table,) = (t for t in document.tables if t and t[0][0] == "probabilities")
    # The page's table, but for what no model says.
    assert table == [[*measured], *measured.iloc[:2].to_numpy().tolist()]
    assert f"As fitted: {name} is predicted" in text
    assert f"Risk of {name}: {context.data.dataset.name}" in text


def full_report(fit):
    """The page of a report with all that the app computes, and both its files."""
    app = calibrated(opened(link(fit), "performance.py", "Probabilities"))
    app.segmented_control(key="performance_section").set_value("Subgroups").run()
    sound(app.selectbox(key="subgroup_column").set_value("site").run())
    app.segmented_control(key="performance_section").set_value("Sites and periods")
    sound(app.run()).button(key="leave_sites_out").click().run()
    until(app, lambda page: len(page.dataframe))
    app.segmented_control(key="performance_section").set_value("Optimism").run()
    app.button(key="find_optimism").click().run()
    until(app, lambda page: len(page.dataframe))
    app.switch_page("pages/prototypes.py").run()
    app.segmented_control(key="prototypes_section").set_value("Report").run()
    areas = {area.label: area for area in app.text_area}
    areas["Ethics"].set_value("Approved <b>twice</b> | `x`\n=cmd()")
    sound(app.run())
    files = []
    for key in ("report_download", "report_manuscript"):
        sound(app.button(key=key).click().run())
        (sent,) = (c.proto.bytes for c in app.get("bidi_component") if c.proto.bytes)
        files.append(sent.partition(b"\n")[2])
    return app, files[0].decode(), unpacked(files[1])


def test_every_section_that_tripod_names_is_in_a_full_report(monkeypatch):
    """Markdown has the document's numbers, and both have what the author stated."""
    table = oracle.table("uneven").with_roles(cleaning=[CleaningStep("one", high=2.5)])
    fit = oracle.Fit("smp", "uneven", table)
    monkeypatch.setattr(optimism, "N_REFITS", 40)  # enough for numbers to compare
    app, html, files = full_report(fit)
    check_same_numbers(files, html)
    titles = re.findall(r"<h2>(.*?)</h2>", html)
    for item in items():
        for name in filter(None, item["sections"].split("; ")):
            options = tuple(name.split(" or "))
            assert any(t.startswith(options) for t in titles), name
    assert "not run:" not in unescape(html)
    assert "<p>Approved &lt;b&gt;twice&lt;/b&gt; | `x`</p>" in html
    assert "Approved \\<b\\>twice\\</b\\> \\| \\`x\\`\n\n\\=cmd()" in files["report.md"]
    names = [name.partition("-")[2] for name in files if name.endswith(".svg")]
    assert names[:2] == ["calibration.svg", "decision-curve.svg"]
    assert session_of(app).stated == {
        "klinik": {"ethics": "Approved <b>twice</b> | `x`\n=cmd()"}
    }
    # What is typed is still there after a visit to another page, and in no link.
    app.switch_page("pages/data.py").run()
    assert not [text for text in app.query_params.values() if "cmd" in str(text)]
    app.switch_page("pages/prototypes.py").run()
    areas = {area.label: area.value for area in sound(app).text_area}
    assert areas.pop("Ethics").endswith("=cmd()") and not any(areas.values())


def test_net_benefit_is_counted_at_the_threshold_of_the_model():
    """Rows treated rightly, less those treated in vain at the odds of its threshold."""
    fit = oracle.fit("smp", "breast_cancer")
    page = calibrated(opened(link(fit), "performance.py", "Probabilities"))
    model = context_of(page).model()
    _, text, every = report(fit)
    (table,) = (table for table in every if table[1][0] == "Net benefit")
    line, everybody = (dict(zip(table[0], one, strict=True)) for one in table[1:])
    rare, rows = rarer(fit), fit.parts["validation"]
    at = float(re.search(rf"the probability of {rare} is (\S+)\. Treating", text)[1])
    scores = model.scores(fit.X[rows])
    lead = scores[:, model.outcome] - scores[:, 1 - model.outcome]
    truth = fit.truth("validation") == rare
    exact = model.calibration.probabilities(np.zeros((1, 2)))[0, model.outcome]
    assert at == pytest.approx(exact, abs=5e-4)
    odds = exact / (1 - exact)
    for one, treated in ((line, lead >= 0), (everybody, truth == truth)):
        benefit = (truth & treated).mean() - odds * (~truth & treated).mean()
        says(one["value"], "#", benefit)
