"""Sections from which a colleague can check a model: data, performance, numbers."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from smpcore.codegen import compile_model, model_id
from smpcore.codegen.names import library_version
from smpcore.datasets import (
    Dataset,
    Preparation,
    Split,
    as_numbers,
    as_text,
    describe_steps,
    list_names,
    plain_number,
    plural,
)
from smpcore.errors import ExportError
from smpcore.evaluation import (
    FEWEST_ROWS,
    WILSON,
    RegressionScores,
    RowMeasure,
    SiteScores,
    calibration_curve,
    calibration_measures,
    class_numbers,
    class_rates,
    decision_curve,
    event,
    interval_coverage,
    margins,
    net_benefit,
    quartile_coverage,
    reliability,
    subgroups,
    threshold_probability,
    two_class_measures,
)
from smpcore.evaluation.scores import chosen_rows
from smpcore.evaluation.subgroups import Grouping
from smpcore.explain.points import NUMBERS, is_identity, nine_digits, pooling, steps
from smpcore.model import PrototypeModel
from smpcore.readouts import (
    READOUTS,
    Estimate,
    Section,
    Shown,
    Unit,
    number_text,
    width_text,
)
from smpcore.report.curves import benefit_chart, calibration_chart, residual_charts
from smpcore.similarity import SIMILARITIES

#: Packages that a refit depends on.
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas")
#: What the parts are for.
_PURPOSES = (
    "The model, its medians, levels and scaling are learned on training rows. It is "
    "evaluated on validation rows, which may have been used to choose it. Test rows "
    "stay closed until they are opened."
)
_TITLES = {"train": "training", "validation": "validation", "test": "test"}
#: Levels of a category that a table names.
_MOST_LEVELS = 8
#: Columns that a table describes; pictures have thousands.
_MOST_DESCRIBED = 100


def columns_section(
    dataset: Dataset, preparation: Preparation, train: np.ndarray, used: Sequence[str]
) -> Section:
    """List every column with its role, and what becomes of a missing value.

    Ranges and levels are those of the training rows; `used` names the columns that the
    model uses.
    """
    inputs = {column.name: column for column in preparation.inputs}
    absent = pd.DataFrame({name: [None] for name in inputs}, dtype=object)
    replaced = preparation.transform(absent)[0]
    training = dataset.frame.iloc[train]
    lines = []
    for name, role in dataset.roles.items():
        line = {"column": name, "role": role, "type": dataset.kinds[name]}
        line |= {"used by the model": "yes" if name in used else "no"}
        line |= {"training range or levels": "", "missing in training": ""}
        line |= {"a missing value becomes": ""}
        if name in inputs:
            line["training range or levels"] = _range(inputs[name])
            line["missing in training"] = str(int(training[name].isna().sum()))
            line["a missing value becomes"] = inputs[name].text(replaced)
        lines.append(line)
    words = (
        "Medians, levels and ranges are those of the training rows. A category is a "
        "feature of 0 or 1 for each of its levels, of two levels for the rarer one; a "
        "level that the training rows do not have is none of them."
    )
    return Section("Columns and missing values", (words, lines))


def characteristics_section(
    dataset: Dataset, parts: Mapping[str, np.ndarray]
) -> Section:
    """Describe the features of the rows of parts, and how many values are missing.

    Parts are places of rows in the table, by their titles.
    """
    lines = []
    for name in dataset.feature_columns[:_MOST_DESCRIBED]:
        line = {"column": name}
        for title, rows in parts.items():
            line[title] = _spread(dataset.frame[name].iloc[rows], dataset.kinds[name])
        lines.append(line)
    words = (
        "Of numbers the median and the quartiles, of categories the share of each of "
        "the most frequent levels, among values that are not missing."
    )
    if dataset.weight:
        words += " Rows are counted here, not weighted."
    if left := len(dataset.feature_columns) - len(lines):
        words += f" {plural(left, 'more column')} are left out."
    return Section("Characteristics of the rows", (words, lines))


def _spread(values: pd.Series, kind: str) -> str:
    """How the values of a column are spread, with the number of missing ones."""
    numbers = None if kind == "category" else pd.Series(as_numbers(values))
    values = values if numbers is None else numbers
    there, n_missing = values.dropna(), values.isna().sum()
    missing = f"; {n_missing} missing" if n_missing else ""
    if there.empty:
        return f"none{missing}"
    if numbers is None:
        shares = as_text(there).value_counts(normalize=True).head(_MOST_LEVELS)
        texts = [f"{level}: {number_text(share)}" for level, share in shares.items()]
        return f"{', '.join(texts)}{missing}"
    low, middle, high = map(plain_number, np.quantile(there, (0.25, 0.5, 0.75)))
    return f"{middle} ({low} to {high}){missing}"


def _range(column: Any) -> str:
    if column.kind == "category":
        return list_names(column.levels, _MOST_LEVELS)
    return f"{plain_number(column.low, 6)} to {plain_number(column.high, 6)}"


def cleaning_section(dataset: Dataset) -> Section | None:
    """List the cleaning steps of a table, each with the rows that it changes."""
    if not dataset.cleaning:
        return None
    words = (
        "Each step looks at one cell at a time and learns nothing from other rows; it "
        "is applied to new rows, too. Counts are of all rows of the table as read."
    )
    sentences = describe_steps(dataset.cleaning, dataset.whole)
    return Section("Cleaning", (words, [{"step": one} for one in sentences]))


def parts_section(dataset: Dataset, division: Split, opened: str) -> Section:
    """Say how rows were divided, and which of them belong together.

    Of test rows it is told how often they were opened, and nothing of their target.
    """
    names = {role: name for name, role in dataset.roles.items()}
    lines = []
    for part in _TITLES:
        rows = getattr(division, part)
        line = {"part": _TITLES[part], "rows": str(len(rows))}
        line["share"] = number_text(len(rows) / dataset.n_samples)
        if dataset.groups is not None:
            line["groups"] = str(len(np.unique(dataset.groups[rows])))
        target = _target_summary(dataset, rows)
        if part == "test":
            target = dict.fromkeys(target, "")
        lines.append(line | target)
    words = [_PURPOSES, f"Seed {division.seed}; test set opened: {opened}."]
    if "group" in names:
        words.append(
            f"Rows with the same value of {names['group']} always stay in one part and "
            "in one fold; intervals count them together."
        )
    if "weight" in names:
        words.append(
            f"Rows are weighted by {names['weight']}, as if each were there so often: "
            "in medians, scaling, fit, calibration, threshold, shares and scores. The "
            "table below counts them."
        )
    if "time" in names:
        words.append(
            f"Parts are blocks in time, by {names['time']}: validation rows are later "
            "than training rows, test rows later than both."
        )
    if not {"group", "time"} & {*names}:
        words.append("No column groups rows: each is taken as independent.")
    if dataset.test_rows is not None:
        words.append("The test part is a file of its own.")
    elif "time" not in names:
        shares = division.validation_share, division.test_share
        words.append(
            f"Drawn at random, shares of {shares[0]:g} for validation and "
            f"{shares[1]:g} for test"
            + ("." if dataset.classes is None else "; classes keep theirs.")
        )
    return Section("Parts of the data", (" ".join(words), *division.notices, lines))


def _target_summary(dataset: Dataset, rows: np.ndarray) -> dict[str, str]:
    """Rows of each class; mean and standard deviation of a number."""
    if dataset.classes is not None:
        counts = np.bincount(dataset.y_encoded[rows], minlength=len(dataset.classes))
        pairs = zip(dataset.classes, counts, strict=True)
        return {f"class {label}": str(count) for label, count in pairs}
    names = "mean of the target", "standard deviation of the target"
    y = dataset.y[rows]
    values = (y.mean(), y.std()) if len(rows) else (np.nan, np.nan)
    return {n: plain_number(value, 5) for n, value in zip(names, values, strict=True)}


def confusion_section(
    model: PrototypeModel, parts: Mapping[str, tuple[np.ndarray, ...]]
) -> Section:
    """Count answers by true class, with recall and precision of each class.

    A part is inputs, true labels, which rows depend on each other, and their weights.
    """
    is_two = model.n_outputs == 2
    words = "Rows of a table are true classes, columns predictions."
    if not is_two:
        words += (
            " Recall: share of a class that is found. Precision: share of the "
            f"predictions of a class that are right. Intervals are {WILSON}."
        )
    blocks: list[Any] = [words]
    for title, (X, y, *of_rows) in parts.items():
        truth = class_numbers(y, model.classes)
        answers = model.decide(model.scores(X))
        words = f"{title}: {int((truth == answers).sum())} of {len(y)} rows are right"
        words += " where the band counts like all others." if model.band else "."
        if any(weights is not None for weights in of_rows[1:]):
            words += " Counts are of rows; shares are weighted."
        if is_two:
            margin = margins(model, X)
            tables = _two_classes(model, margin, truth, answers, *of_rows)
        else:
            tables = [_confusion(model.classes, truth, answers, *of_rows)]
        blocks += [words, *tables]
    return Section("Confusion matrix and recall", blocks)


def _two_classes(
    model: PrototypeModel,
    margin: np.ndarray,
    truth: np.ndarray,
    answers: np.ndarray,
    clusters: np.ndarray | None,
    weights: np.ndarray | None = None,
) -> list[list[dict[str, Any]]]:
    """Counts and measures, as Performance shows them; the outcome is first."""
    names = [str(label) for label in model.classes[model.order]]
    place = np.append(np.argsort(model.order), -1)
    truth, predicted = place[truth], place[answers]
    columns = [f"predicted {name}" for name in names]
    if model.band:
        predicted = np.where(np.abs(margin) <= model.band, 2, predicted)
        columns.append("not sure")
    counts = []
    for number, name in enumerate(names):
        of_class = np.bincount(predicted[truth == number], minlength=len(columns))
        counts.append({"true class": name} | dict(zip(columns, of_class, strict=True)))
    of_rows = {"clusters": clusters, "weights": weights}
    measures = two_class_measures(truth, predicted, margin, names, **of_rows)
    return [counts, [measure.line for measure in measures]]


def _confusion(
    classes: np.ndarray,
    truth: np.ndarray,
    answers: np.ndarray,
    clusters: np.ndarray | None,
    weights: np.ndarray | None = None,
) -> list[dict[str, Any]]:
    """Counts, with recall and precision of every class."""
    lines = class_lines(truth, answers, classes, clusters, weights)
    for number, line in enumerate(lines):
        counts = np.bincount(answers[truth == number], minlength=len(classes))
        pairs = zip(classes, counts, strict=True)
        cells = {f"predicted {other}": count for other, count in pairs}
        lines[number] = {"true class": line.pop("class")} | cells | line
    return lines


def class_lines(
    truth: np.ndarray,
    answers: np.ndarray,
    classes: np.ndarray,
    clusters: np.ndarray | None,
    weights: np.ndarray | None,
) -> list[dict[str, Any]]:
    """Recall and precision of every class, with their intervals, as `class_rates`."""
    lines = []
    rates = class_rates(truth, answers, classes, clusters, weights).to_dict("records")
    for rate in rates:
        line = {name: rate[name] for name in ("class", "rows", "predicted")}
        for name in ("recall", "precision"):
            limits = (rate[name + end] for end in ("", "_low", "_high"))
            one = Shown(name, Estimate(*limits, WILSON))
            words = f"{one.text} ({one.interval})" if one.text else ""
            line[f"{name} (95 % interval)"] = words
        lines.append(line)
    return lines


def subgroups_section(
    grouping: Grouping,
    rows: np.ndarray,
    measures: Sequence[RowMeasure],
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Section:
    """Compare groups of rows with all others, as `subgroups` does.

    Rows are those that are looked at; measures, clusters and weights are of these.
    """
    named, lines = {measure.name: measure for measure in measures}, []
    for line in subgroups(grouping, rows, measures, clusters, weights).itertuples():
        text = named[line.measure].text
        limits = f"{text(line.difference_low)} to {text(line.difference_high)}"
        tested = f"{limits}, p = {line.p_value:.2g}"
        lines.append(
            {
                "measure": line.measure,
                "group": line.group,
                "rows": str(line.rows),
                "value": text(line.value),
                "simultaneous 95 % interval": f"{text(line.low)} to {text(line.high)}",
                "all others": text(line.rest),
                "difference": "not tested" if np.isnan(line.p_value) else tested,
            }
        )
    words = (
        f"{len(rows)} rows by {grouping.column}. The intervals of a measure hold "
        "together (Bonferroni); differences are group less all others, their intervals "
        "and p-values corrected for the number of groups (Holm). Groups of fewer than "
        f"{FEWEST_ROWS} rows are not tested."
    )
    return Section(f"Subgroups by {grouping.column}", (words, lines))


def sites_section(result: SiteScores) -> Section:
    """Say how good models are at sites or in periods that they have not learned from.

    As `internal_external` returns it: a line for each site, and the range over them.
    """
    where, what = "sites", "without its rows, on those of all other sites"
    if result.in_time:
        where, what = "periods", "on all earlier rows"
    lines = []
    for one in result.lines.to_dict("records"):
        line = {"site" if where == "sites" else "period": one["group"]}
        line |= {n: str(one[n]) for n in ("fitted on", "rows", "events") if n in one}
        for name in result.measures:
            limits = (one[name + end] for end in ("", " low", " high", " by"))
            shown = Shown(name, Estimate(*limits), unit=_unit(name), absent="–")
            interval = f" ({shown.interval})" if shown.interval else ""
            line[f"{name} (95 % interval)"] = shown.text + interval
        lines.append(line | {"note": one["note"]})
    words = (
        "Training and validation rows; test rows take no part. Each line is of a model "
        f"that was fitted anew, preparation included, {what}. Settings are those of "
        "this model: where these rows were used to choose them, the figures are too "
        "good. A threshold that is set is not judged here."
    )
    if result.unused:
        words += f" {plural(result.unused, 'row')} without a value took no part."
    sentences = []
    for one in result.summary().itertuples():
        mean, low, high = (
            number_text(value, _unit(one.measure))
            for value in (one.mean, one.lowest, one.highest)
        )
        over = f"from {low} to {high} over {one.parts} {where}, mean {mean} (each "
        over += "weighted equally)"
        if one.parts < 2:
            over = f"{mean} at one of the {where}" if one.parts else "at none"
        sentences.append(f"{one.measure}: {over}.")
    title = f"{where.capitalize()} by {result.column}"
    return Section(title, (" ".join(sentences), lines, words))


def _unit(measure: str) -> Unit:
    if measure == READOUTS["accuracy"].label:
        return "%"
    return "target" if measure == READOUTS["mae"].label else ""


def versions_section(
    model: PrototypeModel, preparation: Preparation | None = None
) -> Section:
    """Name the model, and the programs that it was fitted with."""
    try:
        number = model_id(compile_model(model, preparation))
        words = f"Model ID {number}: that of its exported code in 32-bit floats. "
        words += "Integer formats have IDs of their own."
    except ExportError as problem:
        words = f"No model ID: {problem}"
    versions = {"smpcore": library_version(), "Python": platform.python_version()}
    versions |= {name: version(name) for name in _PACKAGES}
    lines = [{"program": name, "version": text} for name, text in versions.items()]
    return Section("Model ID and versions", (words, lines))


Rows = tuple[np.ndarray | None, ...]


#: Probabilities that are compared.
CALIBRATED, SOFTMAX = "calibrated", "softmax of the scores"
#: What the columns of `calibration_lines` say, in words.
ABOUT_CALIBRATION = (
    "Calibration intercept: with the slope fixed at 1; above 0 the event is more "
    "frequent than predicted. Calibration slope: below 1 the probabilities are too "
    "extreme, above 1 too moderate. In brackets: 95 % intervals."
)


def compared_probabilities(
    probabilities: np.ndarray, scores: np.ndarray
) -> dict[str, np.ndarray]:
    """Calibrated probabilities beside what the scores would be without a calibration.

    Scores are those of the model without a threshold that was moved.
    """
    return {CALIBRATED: probabilities, SOFTMAX: softmax(scores, axis=1)}


def calibration_lines(
    compared: Mapping[str, np.ndarray],
    y_encoded: np.ndarray,
    outcome: int,
    clusters: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> list[dict[str, str]]:
    """Measure probabilities of the same rows, as `calibration_measures` does."""
    lines, of_rows = [], (y_encoded, outcome, clusters, weights)
    for name, shares in compared.items():
        line, methods = {"probabilities": name}, []
        for one in calibration_measures(shares, *of_rows):
            line[one.label] = one.text
            if one.interval:
                line[one.label] += f" ({one.interval})"
                methods.append(one.estimate.method)
        lines.append(line | {"intervals by": "; ".join(dict.fromkeys(methods))})
    return lines


def calibration_section(
    model: PrototypeModel, parts: Mapping[str, Rows], fitted: PrototypeModel
) -> Section:
    """Tell how scores become probabilities, or intervals, and how good these are.

    A part is inputs, true labels, which rows depend on each other, and maybe weights;
    of two classes the probability of the outcome is looked at. `fitted` is the model
    without a threshold that was moved: the softmax of its scores is beside.
    """
    if model.classes is None:
        return _intervals(model, parts)
    calibration = model.calibration
    slope = plain_number(calibration.slope, 9)
    words = (
        f"Learned on out-of-fold scores of {calibration.rows} training rows, for rows "
        "with their class shares. The probabilities are the softmax of slope * score "
        f"+ offset, with the slope {slope} and these offsets."
    )
    if calibration.curves:
        words += " Then isotonic regression of each class, and rows are normalised."
    words = f"{words} {calibration.choice}".rstrip()
    blocks: list[Any] = [
        words,
        _lines(
            {
                "class": map(str, model.classes[model.order]),
                "offset": calibration.offsets[model.order],
            }
        ),
    ]
    for title, rows in parts.items():
        blocks += _quality(model, title, rows, fitted)
    if parts:
        blocks.append(ABOUT_CALIBRATION)
    return Section(READOUTS["probabilities"].label, blocks)


def _quality(
    model: PrototypeModel, title: str, rows: Rows, fitted: PrototypeModel
) -> list[Any]:
    """Measures and reliability of the probabilities on the rows of a part."""
    known = class_numbers(rows[1], model.classes) >= 0
    X, y, *of_rows = chosen_rows(known, *rows)
    truth, shares = class_numbers(y, model.classes), model.probabilities(X)
    compared = compared_probabilities(shares, fitted.scores(X))
    measures = calibration_lines(compared, truth, model.outcome, *of_rows)
    checked = *event(shares, truth, model.outcome), *of_rows
    table = reliability(*checked)
    subject = f"of {model.classes[model.outcome]}"
    if len(model.classes) > 2:
        subject = "that the most probable class is right"
    lines = []
    for one in table.itertuples():
        observed = Shown("", Estimate(one.share, one.low, one.high, WILSON), unit="")
        lines.append(
            {
                "predicted probability": number_text(one.probability, ""),
                "observed share": observed.text,
                "95 % interval": observed.interval,
                "rows": str(one.rows),
            }
        )
    words = f"{title}: probability {subject}."
    drawing = calibration_chart(table, calibration_curve(*checked))
    blocks = [words, measures, "Calibrated, in bins:", lines, drawing]
    if len(model.classes) == 2:
        blocks += [*_benefit(model, *checked), benefit_chart(decision_curve(*checked))]
    return blocks


def _benefit(
    model: PrototypeModel,
    probability: np.ndarray,
    truth: np.ndarray,
    *of_rows: np.ndarray | None,
) -> list[Any]:
    """Net benefit at the threshold of a model of two classes, in its probability."""
    at = threshold_probability(model)
    if at >= 1:
        return []
    everybody, rows = np.ones(len(truth)), f"{len(truth)} rows"
    lines = [
        Shown(name, net_benefit(one, truth, at, *of_rows), rows, unit="").line
        for name, one in (("Net benefit", probability), ("Of treating all", everybody))
    ]
    words = (
        f"At the threshold of the model the probability of "
        f"{model.classes[model.outcome]} is {number_text(at, '')}. Treating none has "
        "the net benefit 0."
    )
    return [words, lines]


def residuals_section(
    model: PrototypeModel, parts: Mapping[str, Rows], target: str
) -> Section:
    """Draw the residuals of a regression on the rows of parts, as `confusion_section`.

    `target` is what is predicted, with its unit.
    """
    blocks: list[Any] = [
        "A residual is actual less predicted. QQ plot: sorted residuals against the "
        "quantiles of a normal distribution; its line goes through both quartiles."
    ]
    for title, (X, y, *of_rows) in parts.items():
        rows = RegressionScores(y, model.predict(X), *of_rows).residuals()
        blocks += [f"{title}:", *residual_charts(rows, target, model.calibration)]
    return Section("Residuals", blocks)


def _intervals(model: PrototypeModel, parts: Mapping[str, Rows]) -> Section:
    """Widths of the intervals of a regression, and the rows that they cover."""
    blocks: list[Any] = [
        "A prediction interval is as wide as a quantile of the out-of-fold residuals "
        f"of {model.calibration.rows} training rows. {model.calibration.choice} Its "
        "coverage is measured, not guaranteed."
    ]
    for title, rows in parts.items():
        blocks += [f"{title}:", interval_lines(model, *rows)]
        blocks += [BY_PREDICTION, quartile_lines(model, *rows)]
    return Section("Prediction intervals", blocks)


def interval_lines(
    model: PrototypeModel,
    X: np.ndarray,
    y: np.ndarray,
    clusters: np.ndarray | None,
    weights: np.ndarray | None = None,
) -> list[dict[str, str]]:
    """Width of each prediction interval, and how many of some rows it covers."""
    return [
        {
            "prediction interval": f"{100 * one.coverage:.0f} %",
            "width": width_text(one.narrowest, one.widest),
            **_covers(one),
        }
        for one in interval_coverage(model, X, y, clusters, weights).itertuples()
    ]


def quartile_lines(
    model: PrototypeModel,
    X: np.ndarray,
    y: np.ndarray,
    clusters: np.ndarray | None,
    weights: np.ndarray | None = None,
) -> list[dict[str, str]]:
    """How many rows of each quarter by prediction the usual interval covers."""
    return [
        {
            "predictions": f"{number_text(one.least, 'target')} to "
            f"{number_text(one.most, 'target')}",
            **_covers(one),
        }
        for one in quartile_coverage(model, X, y, clusters, weights).itertuples()
    ]


def _covers(line: Any) -> dict[str, str]:
    """A share of rows that are covered, with its interval."""
    covers = Shown("covers", Estimate(line.share, line.low, line.high, WILSON))
    counted = f"{covers.text} ({line.covered} of {line.rows})"
    return {covers.label: counted, "95 % interval": covers.interval}


#: What the lines of `quartile_lines` are of.
BY_PREDICTION = f"{READOUTS['interval'].label}, rows in quarters by their prediction:"


#: More numbers make no table that anybody would read.
_MOST_NUMBERS = 20_000


def numbers_section(model: PrototypeModel) -> Section:
    """Write the full rule: means, deviations, weights and biases, to nine digits."""
    if not SIMILARITIES[model.similarity.kind].formula:
        words = f"The similarity {model.similarity.kind} has no formula of a few terms."
        return Section(NUMBERS, (words,))
    arrays = model.anchors, model.mixing, model.votes, model.gram
    if model.is_linear:
        arrays = model.weights, model.votes, model.gram
    n_numbers = sum(array.size for array in arrays if array is not None)
    if n_numbers > _MOST_NUMBERS:
        words = f"Left out: {n_numbers:,} numbers, more than anybody would read. The "
        return Section(NUMBERS, (words + "export to JSON has them all.",))
    blocks = [" ".join(steps(model)), _lines(_features(model))]
    if not model.is_linear and not is_identity(model.mixing):
        blocks.append("Share of each case in a prototype, where it is not 0:")
        blocks.append(_lines(_mix(model.mixing)))
    blocks += ["Prototypes:", _lines(_prototypes(model))]
    if model.gram is not None:
        columns = _numbered(model.gram.T)
        products = {"prototype": list(columns)} | columns
        blocks += ["Products of the prototypes (G):", _lines(products)]
    return Section(NUMBERS, [*blocks, "Outputs:", _outputs(model)])


def _outputs(model: PrototypeModel) -> list[dict[str, str]]:
    names = ["prediction"] if model.classes is None else map(str, model.classes)
    return _lines({"output": names, "intercept": model.intercept})


def text_rule(model: PrototypeModel, texts: Sequence[str]) -> Section:
    """Write the full rule of a model of texts, which are its prototypes."""
    gamma = nine_digits(model.similarity.gamma)
    words = (
        "Similarity to a prototype: exp(-gamma edits), where edits counts the letters "
        "that are added, left out or replaced between a text and the prototype; "
        f"gamma = {gamma}. Activation of a prototype: bias + similarity. "
        f"{pooling(model)}"
    )
    lines = _lines({"text": texts} | _prototypes(model))
    return Section("Decision rule", (words, lines, _outputs(model)))


def _lines(columns: Mapping[str, Iterable[Any]]) -> list[dict[str, str]]:
    """Lines of a table from its columns: texts as they are, numbers to nine digits."""
    return [
        {
            name: value if isinstance(value, str) else nine_digits(value)
            for name, value in zip(columns, line, strict=True)
        }
        for line in zip(*columns.values(), strict=True)
    ]


def _numbered(rows: Iterable[Any], name: str = "{}") -> dict[str, Any]:
    """Columns that are called by their numbers."""
    return {name.format(i): row for i, row in enumerate(rows, 1)}


def _features(model: PrototypeModel) -> dict[str, Any]:
    """Of each feature the scaling, then a weight or a value of each prototype."""
    columns = {"feature": model.feature_names, "mean": model.center}
    columns["standard deviation"] = model.scale
    if model.similarity.kind == "features":
        columns["weight"] = model.similarity.weights
        columns["width"] = model.similarity.widths
    if model.is_linear:
        return columns | _numbered(model.weights, "weight {}")
    return columns | _numbered(model.anchors, "z{}")


def _mix(mixing: np.ndarray) -> dict[str, Any]:
    cases, prototypes = np.nonzero(mixing)
    return {
        "case": [f"z{i + 1}" for i in cases],
        "prototype": map(str, prototypes + 1),
        "share": mixing[cases, prototypes],
    }


def _prototypes(model: PrototypeModel) -> dict[str, Any]:
    """Bias of each, and its class, or its weight for each output."""
    numbers = map(str, range(1, model.n_prototypes + 1))
    columns = {"prototype": numbers, "bias": model.bias}
    if model.classes is None:
        return columns | {"weight": model.votes[:, 0]}
    if model.pooling == "max":
        return columns | {"class": map(str, model.classes[model.prototype_labels])}
    votes = zip(model.classes, model.votes.T, strict=True)
    return columns | {f"weight for {label}": vote for label, vote in votes}
