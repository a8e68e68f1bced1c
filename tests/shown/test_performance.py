"""Every number of the page Performance against an independent value."""

import json
import re
from base64 import b64decode
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from scipy.stats import fisher_exact, norm
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    confusion_matrix,
    log_loss,
    mean_absolute_percentage_error,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)
from statsmodels.graphics.gofplots import ProbPlot

from pages.performance import errors, operating_point, optimism
from pages.ui.fold_scores import OPTIMISM
from smpcore import METHODS, prepare, read_table
from tests.app import (
    calibrated,
    context_of,
    kernels,
    opened,
    session_of,
    sound,
    until,
)
from tests.shown import oracle
from tests.shown.oracle import says
from tests.shown.test_figure import CLASSES, NUMBERS, link

pytestmark = pytest.mark.usefixtures(kernels.__name__)


def section(fit, name, **controls):
    """A section of the page for a fit."""
    app = opened(link(fit), "performance.py", name)
    for key, value in controls.items():
        app.selectbox(key=key).set_value(value).run()
    return sound(app)


def captions(app):
    return [element.value for element in app.caption]


@pytest.mark.parametrize(("method", "data"), [c for c in CLASSES if c[1] != "clinic"])
def test_confusion(method, data):
    fit = oracle.fit(method, data)
    app = section(fit, "Confusion")
    truth, answers = fit.truth("validation"), fit.answers("validation")
    names = sorted(set(fit.y))
    matrix, rates, cases = (table.value for table in app.dataframe)
    counts = confusion_matrix(truth, answers, labels=names)
    css = app.dataframe[0].proto.arrow_data.styler.styles
    for i, j in np.ndindex(counts.shape):
        cell, count = matrix[str(j)][i], counts[i, j]
        share = 100 * count / counts[i].sum()
        colour = "0, 144, 156" if i == j else "204, 36, 48"
        faint = rf"row{i}_col{j + 1}\b[^}}]*rgba\({colour}, (0\.\d+)\)"
        if count:  # faint enough to be read on
            opacity = float(re.search(faint, css)[1])
            assert opacity == pytest.approx(0.08 + 0.003 * share, abs=0.0051)
        template = "# (# %)" if len(names) <= 4 and count else "#"
        says(cell, template, *([count, share][: template.count("#")]))
    for i, line in rates.iterrows():
        assert (line["class"], line["rows"]) == (str(names[i]), counts[i].sum())
        assert line["predicted"] == counts[:, i].sum()
        for name, among in (("recall", truth), ("precision", answers)):
            hits = (truth == answers)[among == names[i]]
            shown = line[f"{name} (95 % interval)"]
            if not len(hits):
                assert shown == ""
                continue
            says(shown, "# % (#–# %)", *(100 * v for v in oracle.share(hits, None)[:3]))
    hits = truth == answers
    ends = (100 * end for end in oracle.share(hits, None)[1:3])
    template = "Accuracy # % (# of # rows, 95 % interval #–# %, Wilson's). "
    template += "Intervals of the table: Wilson's."
    (line,) = [text for text in captions(app) if text.startswith("Accuracy")]
    says(line, template, 100 * hits.mean(), hits.sum(), len(hits), *ends)
    worst = counts - np.diag(np.diag(counts) + 1)
    i, j = np.unravel_index(worst.argmax(), worst.shape)
    inside = np.flatnonzero((truth == names[i]) & (answers == names[j]))
    scores = np.sort(fit.model.scores(fit.X[fit.parts["validation"]]), axis=1)
    lead = scores[:, -1] - scores[:, -2]
    inside = inside[np.argsort(lead[inside], kind="stable")]
    listed(fit, cases, inside, {"true": truth, "predicted": answers, "lead": lead})


def margins(fit, positive, part="validation"):
    """Score of a class minus that of the other; the first class wins a tie."""
    scores = fit.model.scores(fit.X[fit.parts[part]])
    margin = scores[:, 1] - scores[:, 0] - fit.model.tie
    return margin if positive == fit.model.classes[1] else -margin


def rarer(fit):
    """The rarer of two classes in the training rows, the first of equal ones."""
    return min(sorted(set(fit.y)), key=[*fit.truth("train")].count)


def adjusted(rates):
    """Two shares with their rows; where one is 0 or 1, as Agresti and Coull do."""
    if not any(share in (0, 1) for share, _ in rates):
        return rates
    z2 = norm.ppf(0.975) ** 2
    return [((share * n + z2 / 2) / (n + z2), n + z2) for share, n in rates]


def listed(fit, cases, places, columns):
    """Rows of the table as they were brought, with what is said of them."""
    rows = fit.parts["validation"][places]
    assert cases.index.tolist() == (rows + 1).tolist()
    for name, values in columns.items():
        if values.dtype.kind == "f":
            np.testing.assert_allclose(cases[name], values[places])
        else:
            assert cases[name].astype(str).tolist() == [*map(str, values[places])]
    frame = fit.table.frame.iloc[rows].drop(columns=fit.table.target)
    shown = cases[list(frame)[:200]]
    assert shown.to_numpy().astype(str).tolist() == (
        frame.iloc[:, :200].to_numpy().astype(str).tolist()
    )


@pytest.mark.parametrize(
    ("method", "commoner"), [*((method, False) for method in METHODS), ("smp", True)]
)
def test_threshold(method, commoner):
    """Of the rarer class, or of the other one if that is the outcome."""
    fit = oracle.fit(method, "clinic")
    app = section(fit, "Threshold")
    truth, groups = fit.truth("validation"), fit.groups("validation")
    rare = rarer(fit)
    if commoner:
        (rare,) = {*fit.y} - {rare}
        box = next(b for b in app.selectbox if b.label == "Outcome")
        sound(box.set_value(str(rare)).run())
    positive, margin = truth == rare, margins(fit, rare)
    yes = margin > 0
    (text,) = [e.value for e in app.markdown if e.value.startswith("Threshold ")]
    ends = [
        100 * end
        for rows, hits in ((positive, yes), (~positive, ~yes))
        for end in oracle.share(hits[rows], groups[rows])[1:3]
    ]
    counted = [
        (100 * hits[rows].mean(), hits[rows].sum(), rows.sum())
        for rows, hits in ((positive, yes), (~positive, ~yes))
    ]
    says(
        text,
        f"Threshold # on the margin of {rare}, band ±#: # of # validation rows are "
        "predicted, # of them wrong. "
        "Sensitivity: # % (# of #, 95 % interval #–# %, Wilson's). "
        "Specificity: # % (# of #, 95 % interval #–# %, Wilson's).",
        *(0, 0, len(yes), len(yes), (yes != positive).sum()),
        *(*counted[0], *ends[:2], *counted[1], *ends[2:]),
    )
    area, low, high = oracle.area(margin, positive, groups)
    (text,) = [c for c in captions(app) if c.startswith("ROC on")]
    template = "ROC on # validation rows. AUC # (95 % interval #–#, DeLong's, logit)."
    says(text, template, len(yes), area, low, high)
    assert not any("out-of-fold" in c for c in captions(app))  # nothing is chosen
    points, curve = (table.value for table in app.dataframe)
    for line in points.itertuples():
        above = margin > line.threshold
        assert line.sensitivity == pytest.approx(above[positive].mean())
        assert line.specificity == pytest.approx((~above)[~positive].mean())
        assert line.false_positives == (above & ~positive).sum()
        assert line.false_negatives == (~above & positive).sum()
        if above.any():
            assert line.precision == pytest.approx(positive[above].mean())
    wrong, sense, _ = roc_curve(positive, margin, drop_intermediate=False)
    shown = {(round(1 - a, 9), round(b, 9)) for a, b in zip(wrong, sense, strict=True)}
    rates = points[["specificity", "sensitivity"]].round(9).to_numpy().tolist()
    assert shown <= set(map(tuple, rates))
    precise, _, _ = precision_recall_curve(positive, margin)
    assert set(precise[:-1].round(9)) <= set(points.precision.round(9))
    for line in curve.itertuples():
        sure = np.abs(margin) > line.band
        sure |= line.band == 0
        assert (line.answered, line.errors) == (
            sure.sum(),
            (yes != positive)[sure].sum(),
        )
        assert line.coverage == pytest.approx(sure.mean())
        assert line.error == pytest.approx(line.errors / line.answered)


@pytest.mark.parametrize(
    ("method", "data", "point", "prevalence"),
    [
        ("smp", "breast_cancer", (1.5, 1.2), None),
        ("smp", "breast_cancer", (1.5, 1.2), 5.0),
        ("smp", "clinic", None, 30.0),
        ("supersparse", "breast_cancer", None, 60.0),
        ("mprotsvm", "clinic", None, None),
    ],
)
def test_measures_with_a_band(method, data, point, prevalence):
    """Where the model is not sure it has no answer, of which none can be right."""
    fit = oracle.fit(method, data)
    if point is None:
        margin = margins(fit, fit.model.classes[1])
        threshold = float(f"{np.quantile(margin, 0.4):.3g}")
        band = float(f"{np.quantile(np.abs(margin - threshold), 0.3):.3g}")
        point = threshold, band
    moved = dict(zip(("threshold", "band"), map(str, point), strict=True))
    app = opened(link(fit) | moved, "performance.py", "Confusion")
    if prevalence:
        sound(app.number_input(key="prevalence").set_value(prevalence).run())
    rare, groups = rarer(fit), fit.groups("validation")
    (other,) = {*fit.y} - {rare}
    margin = margins(fit, fit.model.classes[1]) - point[0]
    second = np.where(margin > 0, fit.model.classes[1], fit.model.classes[0])
    truth, sure = fit.truth("validation"), np.abs(margin) > point[1]
    assert 0 < sure.sum() < len(sure)
    matrix, rates = (table.value for table in app.dataframe[:2])
    for i, of in enumerate((rare, other)):
        cells = [(sure & (second == c))[truth == of] for c in (rare, other)]
        for j, cell in enumerate([*cells, ~sure[truth == of]]):
            assert matrix[str(j)][i].startswith(f"{cell.sum()}")
    lines, share = rates.set_index("measure"), (truth == rare).mean()
    share = prevalence / 100 if prevalence else share

    def check(name, hits, rows, words):
        of = None if groups is None else groups[rows]
        value, low, high, _ = oracle.share(hits[rows], of)
        says(lines.loc[name, "value"], "# %", 100 * value)
        says(lines.loc[name, "95 % interval"], "#–# %", 100 * low, 100 * high)
        template = f"# of # {words}"
        says(lines.loc[name, "rows"], template, hits[rows].sum(), rows.sum())

    right = second == truth
    for name, of in (("Sensitivity (recall)", rare), ("Specificity", other)):
        words = f"rows of {of} outside the band"
        check(name, right, sure & (truth == of), words)
    check("Accuracy", right, sure, "rows outside the band")
    check("Coverage", sure, np.ones(len(sure), bool), "rows")
    # Rows that are drawn until the class has its prevalence are asked one by one.
    weights = np.where(truth == rare, share, 1 - share)
    weights /= np.where(truth == rare, *((truth == c).sum() for c in (rare, other)))

    def answered(said, of):
        rows = truth == of
        return oracle.share(
            (sure & (second == said))[rows], None if groups is None else groups[rows]
        )

    for sign, of, rest, part in (
        ("Positive", rare, other, share),
        ("Negative", other, rare, 1 - share),
    ):
        line = lines.loc[f"{sign} predictive value"]
        got = sure & (second == of)
        value = np.average(right[got], weights=weights[got])
        says(line["value"], "# %", 100 * value)
        two = [(one[0], one[3]) for one in (answered(of, of), answered(of, rest))]
        (p, n), (q, m) = adjusted(two)
        _, low, high = oracle.predictive((p, n), (1 - q, m), part)[0]
        low, high = min(low, value), max(high, value)
        says(line["95 % interval"], "#–# %", 100 * low, 100 * high)
        says(line["rows"], f"rows predicted {of}, at a prevalence of # %", 100 * share)
    says(
        lines.loc["AUC", "rows"],
        "at every threshold: all # rows, without a band",
        len(sure),
    )
    assert "that of all rows, with those within the band" in " ".join(captions(app))


def test_the_slider_of_the_threshold_has_about_200_steps():
    """The power of ten that comes nearest to it, from end to end of the margins."""
    fit = oracle.fit("smp", "clinic")
    app = section(fit, "Threshold")
    sent = [c.proto.json for c in app.get("bidi_component") if "step" in c.proto.json]
    slider = json.loads(sent[0])
    rare = rarer(fit)
    assert slider["label"] == f"Threshold on the margin of {rare}"
    margin = [0.0, *margins(fit, rare, "train")]
    assert slider["low"] <= min(margin) and max(margin) <= slider["high"]
    assert slider["step"] == 10.0 ** round(np.log10(np.ptp(margin) / 200))


@pytest.mark.parametrize(
    ("low", "high", "threshold", "step"),
    [(-1, 1, 0, 0.01), (-30, -2, -5, 0.1), (0.2, 40, 3, 0.1), (-1, 5, 99, 1.0)],
)
def test_the_slider_goes_from_end_to_end_of_what_it_must_show(
    low, high, threshold, step
):
    """Also of margins on one side of 0, and to a threshold beyond them."""
    ends = operating_point._range(np.array([low, high, (low + high) / 2]), threshold)
    assert ends[2] == step
    assert ends[0] < min(low, 0) and ends[1] > max(high, threshold)
    assert min(low, 0) - ends[0] <= 2 * step
    assert ends[1] - max(high, threshold, 0) <= 2 * step


def test_a_threshold_for_a_sensitivity_is_the_highest_one():
    """On scores of training rows by models that have not learned from them."""
    fit = oracle.fit("smp", "clinic")
    app = section(fit, "Threshold", way="target sensitivity")
    of = context_of(app).training_scores
    app = until(app, lambda _: of.scores is not None).run()
    (text,) = [e.value for e in app.markdown if e.value.startswith("Threshold ")]
    shown = float(re.match(r"Threshold ([-\d.e]+) on the", text.replace("\\", ""))[1])
    rare = rarer(fit)
    sign = 1 if rare == fit.model.classes[1] else -1
    lead = sign * (of.scores[:, 1] - of.scores[:, 0])[fit.truth("train") == rare]
    lead = np.sort(lead[np.isfinite(lead)])
    lowest = lead[int(np.floor(0.05 * len(lead)))]  # of those that must be found
    below = lead[lead < lowest]
    assert below.max(initial=-np.inf) - 1e-3 <= shown <= lowest


def test_a_click_on_a_point_chooses_its_row(monkeypatch):
    rows, chosen = SimpleNamespace(numbers=np.array([4, 7])), []
    monkeypatch.setattr(errors.widget_state, "set_value", lambda *of: chosen.append(of))
    for points in ([], [{}], [{"customdata": 5}], [{"customdata": 7}]):
        state = {"chart": SimpleNamespace(selection=SimpleNamespace(points=points))}
        monkeypatch.setattr(errors.st, "session_state", state)
        errors._choose_clicked(rows, "chart")
    assert chosen == [("case", 7)]


def test_probabilities_of_the_most_probable_class():
    """Bins of equally many rows, from the calibration's slope and offsets."""
    fit = oracle.fit("smallk", "iris")
    app = calibrated(section(fit, "Probabilities"))
    found = context_of(app).model().calibration
    scores = fit.model.scores(fit.X[fit.parts["validation"]])
    shares = softmax(found.slope * scores + found.offsets, axis=1)
    right = fit.model.classes[shares.argmax(axis=1)] == fit.truth("validation")
    lines = app.dataframe[0].value.set_index("probabilities")
    names = [*fit.model.classes]
    table = next(t.value for t in app.dataframe if "from" in t.value)
    assert table["rows"].sum() == len(right)
    for bin_ in table.itertuples():
        top = shares.max(axis=1)
        inside = (top >= bin_._1 - 1e-12) & (top <= bin_.to + 1e-12)
        assert bin_.rows == inside.sum()
        assert bin_.probability == pytest.approx(top[inside].mean())
        assert bin_.share == pytest.approx(right[inside].mean())
    hot = fit.truth("validation")[:, None] == np.array(names)
    of_scores = softmax(scores, axis=1)
    for name, of in (("calibrated", shares), ("softmax of the scores", of_scores)):
        error = ((of - hot) ** 2).sum(axis=1).mean()
        says(lines.loc[name, "Brier score"].split()[0], "#", error)
        top = fit.model.classes[of.argmax(axis=1)] == fit.truth("validation")
        found = oracle.recalibrated(of.max(axis=1), top)
        for measure, ends in zip(("intercept", "slope"), found, strict=True):
            oracle.says_with_ends(lines.loc[name, f"Calibration {measure}"], ends)
    begins = ("Reliability plot", "Decision curve, ")  # this one is of two classes
    assert [any(c.startswith(b) for c in captions(app)) for b in begins] == [1, 0]


def test_log_losses_of_calibrations_are_those_of_other_code():
    """On the folds of the training rows; Laplace's counts keep the slope finite."""
    fit = oracle.fit("smp", "breast_cancer")
    app = calibrated(section(fit, "Probabilities"))
    scores, y = context_of(app).training_scores.scores, fit.truth("train")
    lead, y = scores[:, 1] - scores[:, 0], y == fit.model.classes[1]
    fold = np.random.default_rng(0).permutation(len(y)) % 5
    shares = {"none": expit(lead)} | {
        name: np.empty(len(y))
        for name in ("intercept and slope", "isotonic regression")
    }
    for number in range(5):
        new = fold == number
        x, hits, n = lead[~new], y[~new], (~new).sum()
        least = 1 / (n + 2)
        mass = np.where(hits, 1 - least, least)
        fitted = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(
            np.tile(x, 2)[:, None],
            np.repeat([1, 0], n),
            sample_weight=np.append(mass, 1 - mass),
        )
        found = fitted.predict_proba(lead[new][:, None])[:, 1]
        shares["intercept and slope"][new] = found
        steps = IsotonicRegression().fit(x, hits)
        ends = steps.y_thresholds_.clip(least, 1 - least)
        found = np.interp(lead[new], steps.X_thresholds_, ends)
        shares["isotonic regression"][new] = found
    losses = [log_loss(y, p) for p in shares.values()]
    name = [*shares][int(np.argmin(losses))]
    plain = " (the softmax of the scores as they are)" * (name == "none")
    (text,) = (c for c in captions(app) if c.startswith("Calibrated on"))
    words = re.search(r"Calibration: .*?: none [^:]*\d\.(?= )", text)[0]
    says(
        words,
        f"Calibration: {name}{plain}, with the lowest log-loss in cross-validation on "
        "these rows: none #, intercept and slope #, isotonic regression #.",
        *losses,
    )


@pytest.mark.parametrize(("method", "data"), NUMBERS)
def test_errors(method, data):
    fit = oracle.fit(method, data)
    app = section(fit, "Errors")
    truth, answers = fit.truth("validation"), fit.answers("validation")
    places = np.argsort(-np.abs(truth - answers), kind="stable")
    residuals = truth - answers
    columns = {"residual": residuals, "actual": truth, "predicted": answers}
    listed(fit, app.dataframe[0].value, places, columns)
    share = 1 - np.sum((truth - answers) ** 2) / np.sum((truth - truth.mean()) ** 2)
    # The page begins with the error of these rows already.
    (text,) = [e.value for e in app.markdown if e.value.startswith("Validation")]
    root = np.sqrt(np.mean((truth - answers) ** 2))
    says(text, "Validation R² #: root mean squared error #.", share, root)
    check_residuals(app, fit, places)


def charts(app):
    """Each chart by the first words of its description: traces by name, and axes."""
    found = {}
    for chart in app.get("plotly_chart"):
        spec = json.loads(chart.proto.spec)
        traces = {trace["name"]: trace for trace in spec["data"]}
        found[chart.proto.alt.partition(",")[0]] = traces, spec["layout"]
    return found


def numbers_of(values):
    """Numbers of a trace, which plotly packs."""
    if isinstance(values, dict):
        return np.frombuffer(b64decode(values["bdata"]), values["dtype"])
    return np.array(values)


def check_points(traces, x, y, rows):
    """A point a row, with its number."""
    points = traces["rows"]
    np.testing.assert_array_equal(numbers_of(points["customdata"]), rows + 1)
    if np.asarray(x).dtype.kind == "f":
        np.testing.assert_allclose(numbers_of(points["x"]), x)
    else:
        assert points["x"] == [None if pd.isna(text) else text for text in x]
    np.testing.assert_allclose(numbers_of(points["y"]).astype(float), y)


def check_residuals(app, fit, places):
    """The four pictures; a QQ plot has statsmodels' quantiles, R's line."""
    truth, answers = fit.truth("validation")[places], fit.answers("validation")[places]
    rows, residuals = fit.parts["validation"][places], truth - answers
    drawn = charts(app)
    traces, layout = drawn.pop("Actual against predicted")
    check_points(traces, answers, truth, rows)
    assert layout["yaxis"]["scaleanchor"] == "x"
    assert layout["xaxis"]["range"] == layout["yaxis"]["range"]
    line = traces["actual = predicted"]
    ends = np.sort(np.r_[truth, answers])[[0, -1]]
    for axis in "xy":
        np.testing.assert_array_equal(numbers_of(line[axis]), ends)
    traces, _ = drawn.pop("Residuals against predicted")
    check_points(traces, answers, residuals, rows)
    traces, layout = drawn.pop("QQ plot of the residuals")
    of_normal = ProbPlot(residuals, a=0.5).theoretical_quantiles
    order = np.argsort(residuals, kind="stable")
    quantiles = np.empty(len(rows))
    quantiles[order] = of_normal
    check_points(traces, quantiles, residuals, rows)
    low, high = np.quantile(residuals, [0.25, 0.75])
    slope = (high - low) / (2 * norm.ppf(0.75))
    line = traces["normal distribution"]
    np.testing.assert_allclose(numbers_of(line["x"]), of_normal[[0, -1]])
    expected = low + slope * (numbers_of(line["x"]) - norm.ppf(0.25))
    np.testing.assert_allclose(numbers_of(line["y"]), expected)
    ((name, (traces, _)),) = drawn.items()
    column = name.removeprefix("Residuals against ")
    assert column == fit.table.feature_columns[0]
    check_points(traces, fit.table.frame[column].to_numpy()[rows], residuals, rows)


def test_residuals_against_a_category_and_the_interval_as_a_band():
    """Levels and gaps of the column that is chosen; ends of what is calibrated."""
    fit = oracle.fit("supersparse", "numbers")
    frame = fit.table.frame.iloc[fit.parts["validation"]]
    column = next(n for n in frame if frame[n].dtype.kind not in "if")
    app = calibrated(section(fit, "Intervals"))
    app.segmented_control(key="performance_section").set_value("Errors").run()
    app = sound(app.selectbox(key="residual_column").set_value(column).run())
    drawn = charts(app)
    traces, _ = drawn[f"Residuals against {column}"]
    residuals = fit.truth("validation") - fit.answers("validation")
    places = np.argsort(-np.abs(residuals), kind="stable")
    rows = fit.parts["validation"][places]
    check_points(traces, frame[column].to_numpy()[places], residuals[places], rows)
    gaps = int(frame[column].isna().sum())
    lines = [text for text in captions(app) if text.startswith("Not drawn")]
    assert lines == [f"Not drawn, as their value is missing: {gaps} rows."] * (gaps > 0)
    spec = next(
        json.loads(chart.proto.spec)["data"]
        for chart in app.get("plotly_chart")
        if chart.proto.alt.startswith("Actual")
    )
    high, low = (t for t in spec if t["name"] == "90 % interval")
    answers = np.sort(fit.answers("validation"))
    ends = oracle.interval(context_of(app).model().calibration, answers)
    for end, expected in zip((low, high), ends, strict=True):
        np.testing.assert_allclose(numbers_of(end["x"]), answers)
        np.testing.assert_allclose(numbers_of(end["y"]), expected)
    app.segmented_control(key="performance_section").set_value("Subgroups").run()
    app.selectbox(key="subgroup_column").set_value(column).run()
    measure = "Coverage of the 90 % interval"
    app = sound(app.selectbox(key="subgroup_measure").set_value(measure).run())
    truth, answers = fit.truth("validation"), fit.answers("validation")
    low, high = oracle.interval(context_of(app).model().calibration, answers)
    inside = pd.Series((low <= truth) & (truth <= high))
    (text,) = (e.value for e in app.markdown if e.value.startswith(measure))
    says(text, f"{measure} of all validation rows: # %.", 100 * inside.mean())
    shares = inside.groupby(frame[column].to_numpy()).mean()
    lines = app.dataframe[0].value.set_index("group")["value"]
    for group in lines.index.intersection(shares.index):
        says(str(lines[group]), "#", shares[group])


def test_a_number_is_shown_in_its_unit_with_separators():
    """R² is 1 without any error only; the name of the axis has its unit once."""
    draw = np.random.default_rng(2)
    content = pd.DataFrame(draw.uniform(-1, 1, (300, 2)).round(4), columns=["a", "b"])
    content["price [EUR]"] = (250_000 + 90_000 * content["a"] + content["b"]).round(2)
    of = read_table(content.to_csv(index=False).encode(), "p.csv")
    of = of.with_roles({"price [EUR]": "target"}, task="regression")
    fit = oracle.Fit("supersparse", "numbers", of)
    app = section(fit, "Errors")
    truth, answers = fit.truth("validation"), fit.answers("validation")
    away, usual = np.abs(truth - answers), np.median(fit.truth("train"))
    (text,) = (c for c in captions(app) if "mean absolute error" in c)
    says(
        text,
        "Validation error # EUR: mean absolute error of # rows; 95 % interval #–# EUR; "
        "training-median baseline (always # EUR): # EUR.",
        *(away.mean(), len(away), *oracle.mean_interval(away)),
        *(usual, np.abs(truth - usual).mean()),
    )
    assert f"always {usual:,.0f} EUR" in text.replace("\\", "")
    share = 1 - np.mean(away**2) / np.var(truth)
    assert 0.99 < share < 1
    percent = 100 * mean_absolute_percentage_error(truth, answers)
    (text,) = (e.value for e in app.markdown if "percentage error" in e.value)
    words = "Mean absolute percentage error # %: of validation rows, all above 0."
    says(text, words, percent)
    (text,) = (e.value for e in app.markdown if e.value.startswith("Validation R²"))
    root = np.sqrt(np.mean(away**2))
    says(text, "Validation R² #: root mean squared error # EUR.", share, root)
    assert float(text.replace("\\", "").split(":")[0].split()[-1]) < 1
    _, layout = charts(app)["Actual against predicted"]
    assert layout["xaxis"]["title"]["text"] == "predicted price [EUR]"


def test_the_first_groups_are_those_of_a_column_with_few_values():
    """Of so many values as twice the rows of a small group, 20, not a number's."""
    values = np.random.default_rng(0).normal(size=(400, 1)).round(6)
    content = pd.DataFrame(values, columns=["value"])
    content["place"] = [f"p{i % 20:02d}" for i in range(400)]
    content["class"] = np.where(values[:, 0] > 0, "b", "a")
    table = read_table(content.to_csv(index=False).encode(), "p.csv")
    fit = oracle.Fit("smp", "uneven", table)
    app = section(fit, "Subgroups")
    assert app.selectbox(key="subgroup_column").value == "place"


def test_groups_are_not_those_of_what_is_predicted():
    """A number with few values, of which the groups would be the answers."""
    draw = np.random.default_rng(1)
    content = pd.DataFrame(draw.normal(size=(200, 2)).round(5), columns=["a", "b"])
    content["score"] = (content["a"] * 3).round().clip(-4, 4)
    of = read_table(content.to_csv(index=False).encode(), "s.csv")
    of = of.with_roles({"score": "target"}, task="regression")
    fit = oracle.Fit("supersparse", "numbers", of)
    app = section(fit, "Subgroups")
    assert app.selectbox(key="subgroup_column").value in ("a", "b")


def test_a_group_that_differs_is_said_with_its_numbers():
    fit = oracle.fit("smp", "uneven")
    app = section(fit, "Subgroups", subgroup_column="site")
    hits = fit.truth("validation") == fit.answers("validation")
    north = fit.table.frame["site"].to_numpy()[fit.parts["validation"]] == "north"
    line = app.dataframe[0].value.set_index("group").loc["north"]
    (text,) = [e.value for e in app.markdown if e.value.startswith("north differs")]
    says(
        text,
        "north differs from the rest: # % against # % (interval of the difference # % "
        "to # %, p = #).",
        *(100 * hits[north].mean(), 100 * hits[~north].mean()),
        *(100 * line["difference_low"], 100 * line["difference_high"]),
        line["p_value"],
    )
    counts = [[hits[of].sum(), (~hits[of]).sum()] for of in (north, ~north)]
    assert line["p_value"] >= min(fisher_exact(counts)[1], 1.0)
    assert line["p_value"] < 0.05


def test_sites_that_are_left_out_have_the_scores_of_fits_without_them():
    """Training and validation rows, prepared and fitted anew on the other site."""
    fit = oracle.fit("smp", "uneven")
    app = section(fit, "Sites and periods")
    assert app.selectbox(key="site_column").value == "site"
    app.button(key="leave_sites_out").click().run()
    app = until(app, lambda page: len(page.dataframe))
    rows = np.sort(np.concatenate([fit.parts["train"], fit.parts["validation"]]))
    sites, y = fit.table.frame["site"].to_numpy()[rows], fit.y[rows]
    event, areas, shares = rarer(fit), [], []
    for line in app.dataframe[0].value.to_dict("records"):
        out = sites == line["site"]
        X = prepare(fit.table, rows[~out]).transform(fit.table.frame)[rows]
        other = clone(fit.estimator).fit(X[~out], y[~out])
        truth = y[out] == event
        hits = other.predict(X[out]) == y[out]
        lead = other.decision_function(X[out])
        lead = lead if event == other.classes_[1] else -lead
        areas.append(roc_auc_score(truth, lead))
        shares.append(hits.mean())
        assert line["fitted on"] == str((~out).sum())
        assert (line["rows"], line["events"]) == (str(out.sum()), str(truth.sum()))
        ends = (100 * end for end in oracle.share(hits, None)[:3])
        says(line["Accuracy (95 % interval)"], "# % (#–# %)", *ends)
        assert line["AUC (95 % interval)"].startswith(f"{areas[-1]:.3f} (")
    texts = [element.value.replace("\\", "") for element in app.markdown]
    (text,) = [text for text in texts if text.startswith("Accuracy: from")]
    measures = (100 * np.array(shares), np.array(areas))
    large, slope = (
        app.dataframe[0].value[f"Calibration {name} (95 % interval)"]
        for name in ("intercept", "slope")
    )
    large = np.array([float(text.split()[0]) for text in large])
    assert slope[1] == "–", "of equal probabilities"
    says(
        text,
        "Accuracy: from # % to # % over # sites, mean # % (each weighted equally). "
        "AUC: from # to # over # sites, mean # (each weighted equally). "
        "Calibration intercept: from # to # over # sites, mean # (each weighted "
        "equally). Calibration slope: # at one of the sites.",
        *(of for m in measures for of in (m.min(), m.max(), 2, m.mean())),
        *(large.min(), large.max(), 2, large.mean().round(3)),
        float(slope[0].split()[0]),
    )


def test_periods_have_the_errors_of_fits_on_all_earlier_rows():
    content = pd.DataFrame(np.random.default_rng(6).normal(size=(200, 2)).round(4))
    content = content.set_axis(["a", "b"], axis=1)
    content["y"] = (content["a"] + content["b"] ** 2).round(4)
    content["day"] = pd.date_range("2021-03-01", periods=200).strftime("%Y-%m-%d")
    of = read_table(content.to_csv(index=False).encode(), "t.csv")
    of = of.with_roles({"y": "target", "day": "time"}, task="regression")
    fit = oracle.Fit("supersparse", "numbers", of)
    app = section(fit, "Sites and periods")
    button = app.button(key="leave_sites_out")
    assert button.label == "Predict each period"
    button.click().run()
    app = until(app, lambda page: len(page.dataframe))
    rows = np.sort(np.concatenate([fit.parts["train"], fit.parts["validation"]]))
    seen, name = 0, "Mean absolute error"
    for line in app.dataframe[0].value.to_dict("records"):
        first = seen or int(line["fitted on"])
        assert first == int(line["fitted on"])
        X = prepare(of, rows[:first]).transform(of.frame)[rows]
        estimator = METHODS["supersparse"].estimator_for(
            of, METHODS["supersparse"].defaults("regression")
        )
        estimator.fit(X[:first], fit.y[rows[:first]], times=of.times[rows[:first]])
        seen = first + int(line["rows"])
        errors = np.abs(estimator.predict(X) - fit.y[rows])[first:seen]
        text = line[f"{name} (95 % interval)"]
        says(text.partition(" ")[0], "#", errors.mean())
    assert seen == len(rows)


def test_optimism_is_that_of_refits_of_the_whole_recipe(monkeypatch):
    """Accuracy and area by scikit-learn."""
    n_refits = 12
    monkeypatch.setattr(optimism, "N_REFITS", n_refits)
    fit = oracle.fit("smp", "uneven")
    app = section(fit, "Optimism")
    app.number_input(key="optimism_seed").set_value(5).run()
    app.button(key="find_optimism").click().run()
    app = until(app, lambda page: len(page.dataframe) == 3, seconds=120)
    train, event = fit.parts["train"], rarer(fit)
    y, gains, changes = fit.y[train], [], []

    def scores(model, X, places):
        lead = model.decision_function(X)[places]
        lead = lead if event == model.classes_[1] else -lead
        hits = model.predict(X)[places] == y[places]
        return np.array([hits.mean(), roc_auc_score(y[places] == event, lead)])

    every = np.arange(len(train))
    X = prepare(fit.table, train).transform(fit.table.frame)[train]
    model = clone(fit.estimator).fit(X, y)
    apparent, answers = scores(model, X, every), model.predict(X)
    for number in range(n_refits):
        drawn = np.random.default_rng([5, number]).integers(0, len(y), len(y))
        X = prepare(fit.table, train[drawn]).transform(fit.table.frame)[train]
        other = clone(fit.estimator).set_params(random_state=number)
        other.fit(X[drawn], y[drawn])
        gains.append(scores(other, X, drawn) - scores(other, X, every))
        changes.append((other.predict(X) != answers).mean())
    shown, unstable, sizes = (table.value.astype(str) for table in app.dataframe)
    corrected = apparent - np.mean(gains, axis=0)
    errors = np.std(gains, axis=0, ddof=1) / np.sqrt(n_refits)
    for number, (name, unit) in enumerate((("Accuracy", " %"), ("AUC", ""))):
        line, factor = shown.iloc[number], 100 if unit else 1
        assert (line["measure"], line["refits"]) == (name, str(n_refits))
        says(line["apparent"], f"#{unit}", factor * apparent[number])
        says(line["corrected"], f"#{unit}", factor * corrected[number])
        says(line["Monte-Carlo s.e."], f"#{unit}", factor * errors[number])
    says(unstable["value"][2], "# %", 100 * np.mean(changes))
    share = (y == event).mean()
    rows = np.ceil((1.96 / 0.05) ** 2 * share * (1 - share))
    assert sizes["rows"].iloc[-1] == str(int(rows))
    text = " ".join(one.value.replace("\\", "") for one in app.markdown)
    events = (y == event).sum()
    assert (
        f"{len(y)} training rows, 2 candidates of predictors, {events} events" in text
    )


def test_refits_that_are_stopped_count_as_far_as_they_came(monkeypatch):
    monkeypatch.setattr(optimism, "N_REFITS", 5000)
    app = section(oracle.fit("smp", "uneven"), "Optimism")
    app.button(key="find_optimism").click().run()
    task = session_of(app).results[OPTIMISM][1]
    while task.progress[0] < 4 / 5000:
        assert not task.wait(0.05)
    next(b for b in app.button if b.label == "Stop").click().run()
    app = until(app, lambda page: len(page.dataframe) == 3, seconds=60)
    refits = app.dataframe[0].value["refits"].astype(int)
    assert 2 <= refits[0] < 5000
    texts = [one.value.replace("\\", "") for one in app.markdown]
    assert any(t.startswith(f"{refits[0]} refits. Each") for t in texts)


def test_optimism_of_rows_in_time_is_refused():
    days = pd.date_range("2021-03-01", periods=120).strftime("%Y-%m-%d")
    content = oracle.uneven().iloc[:120].assign(day=days)
    of = read_table(content.to_csv(index=False).encode(), "t.csv")
    of = of.with_roles({"class": "target", "day": "time"})
    app = section(oracle.Fit("smp", "uneven", of), "Optimism")
    assert any(e.value.startswith("Rows in the order of time") for e in app.info)
    assert not [b for b in app.button if b.key == "find_optimism"]


def test_without_a_column_that_makes_sites_it_says_what_makes_some():
    app = section(oracle.fit("smp", "breast_cancer"), "Sites and periods")
    assert any(e.value.startswith("No column makes sites") for e in app.info)
    assert not [b for b in app.button if b.key == "leave_sites_out"]
