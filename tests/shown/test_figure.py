"""Every read-out of the live figure against an independent value."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from smpcore import METHODS
from tests.app import brought, kernels, opened
from tests.shown import oracle
from tests.shown.oracle import says
from tests.test_live import figure_of

pytestmark = pytest.mark.usefixtures(kernels.__name__)

CLASSES = [(m, d) for m in METHODS for d in ("clinic", "wine", "digits")]
NUMBERS = [
    (key, data)
    for key, method in METHODS.items()
    for data in ("numbers", "diabetes", "sine")
    if "regression" in method.estimators
]
GROUPS = " (rows of one group count together)"


def link(fit):
    """The address of a fit's table and method."""
    query = {"data": fit.data, "method": fit.method}
    if fit.data in ("clinic", "numbers", "uneven"):
        query |= brought(fit.table)
    return query


def picture(fit):
    """What the figure is sent, and its read-outs by name."""
    sent = figure_of(opened(link(fit)))["picture"]
    by_name = {line["name"]: line for line in sent["readouts"]}
    assert len(by_name) == len(sent["readouts"])
    return sent, by_name


@pytest.mark.parametrize(("method", "data"), CLASSES)
def test_read_outs_of_classes(method, data):
    fit = oracle.fit(method, data)
    sent, lines = picture(fit)
    strip = {"nonzeros": check_size(fit, lines)}
    for part, title in shown_parts(fit):
        truth, answers = fit.truth(part), fit.answers(part)
        hits, groups = truth == answers, fit.groups(part)
        line = lines.pop(f"{title} accuracy")
        says(line["value"], "# %", 100 * hits.mean())
        _, low, high, _ = oracle.share(hits, groups)
        says(
            line["detail"],
            f"# of # rows, 95 % interval #–# %{GROUPS * (groups is not None)}; "
            "balanced accuracy # % (#–# %); majority-class baseline: # %",
            *(hits.sum(), len(hits), 100 * low, 100 * high),
            *(100 * share for share in oracle.balanced(truth, answers, groups)),
            100 * oracle.majority(truth),
        )
        strip["training" if part == "train" else part] = hits.mean()
    assert sent["strip"] == pytest.approx(strip)
    check_recalls(fit, lines)
    check_solver(fit, lines)
    if method == "imkpl":
        check_mixes(fit, lines)
    if method == "mprotsvm":
        check_starts(fit, lines.pop("Start"))
    # What one visitor learned of a bundled table is everybody's: another test may have.
    lines.pop("Calibrated probabilities", None)
    assert not lines


def shown_parts(fit):
    """Parts that are open, and what they are called."""
    parts = [("validation", "Validation"), ("train", "Training")]
    return parts + [("test", "Test")] * fit.table.open_test


def check_recalls(fit, lines):
    """The worst classes first, and classes that are never an answer."""
    truth = fit.truth("validation")
    shares = oracle.recalls(truth, fit.answers("validation"))
    worst = sorted(shares, key=shares.get)[:4]
    says(lines["Worst recall"]["value"], "# %", 100 * shares[worst[0]])
    others = [f"class {name}: # %" for name in worst[1:]]
    template = f"class {worst[0]}; then {'; '.join(others)}"
    shown = lines.pop("Worst recall")["detail"].replace("class class_", "class class ")
    template = template.replace("class class_", "class class ")
    says(shown, template, *(100 * shares[name] for name in worst[1:]))
    silent = {*fit.truth("train")} - {*fit.answers("train")}
    assert ("Classes never predicted" in lines) == bool(silent)
    lines.pop("Classes never predicted", None)
    lines.pop("Not in this picture", None)


def check_size(fit, lines):
    """Prototypes, what they are made of, and columns; the number of non-zeros."""
    model, features = fit.model, fit.X.shape[1]
    requested = fit.estimator.n_asked_
    line = lines.pop("Prototypes")
    says(line["value"], "# of #", len(model.bias), requested)
    notes = []
    if lost := requested - len(model.bias):
        assert f"{lost} prototype" in line["detail"]
        notes.append(line["detail"].split("; ")[0])
    if idle := idle_prototypes(fit):
        words = "prototype wins" if idle == 1 else "prototypes win"
        notes.append(f"{idle} {words} no training row")
    assert line["detail"] == "; ".join(notes)
    weights = model.mixing.T @ model.anchors
    nonzeros = int((model.anchors != 0).sum() + (model.mixing != 0).sum())
    if model.similarity.kind == "linear":
        nonzeros = int((weights != 0).sum())
        line = lines.pop("Non-zeros")
        says(line["value"], "#", nonzeros)
        says(line["detail"], "of # weights (biases excluded)", weights.size)
    else:
        (name,) = {"Real cases", "Invented cases"} & {*lines}
        says(lines.pop(name)["value"], "#", len(model.anchors))
    used = fit.used()
    line = lines.pop("Columns used")
    says(line["value"], "# of #", len(used), len(fit.table.feature_columns))
    names = ", ".join(used[:6])
    names += f" and {len(used) - 6} more" * (len(used) > 6)
    before, _, after = line["detail"].rpartition(": ")
    assert after == names
    if model.similarity.kind == "linear":
        says(before, "# weights", nonzeros)
    elif before:
        says(before, "# of # features", model.support.sum(), features)
    if far := lines.pop("Far from all data", None):
        says(far["value"], "# of #", *far_prototypes(fit))
    return nonzeros


def idle_prototypes(fit):
    """How many directions are never the one that decides a training row."""
    model = fit.model
    if fit.estimator.wins_ is None:
        return 0
    scores = fit.training @ (model.mixing.T @ model.anchors).T + model.bias
    return len(model.bias) - len(set(scores.argmax(axis=1)))


def far_prototypes(fit):
    """Invented cases farther from every training row than most rows from theirs."""
    limit = np.quantile(fit.neighbours, 0.95)
    nearest = cdist(fit.model.anchors, fit.training).min(axis=1)
    return int((nearest > limit).sum()), len(nearest)


def check_solver(fit, lines):
    """The certificate as far as the estimator has one, and how the solver ended."""
    estimator = fit.estimator
    line = lines.pop("Optimality gap")
    if np.isfinite(estimator.gap_):
        gap = 100 * estimator.gap_ / abs(estimator.objective_)
        says(line["value"], "≤ # %", gap)
        words = (
            f"{estimator.certificate} can have an objective more than # % lower than #"
        )
        says(line["detail"], words, gap, estimator.objective_)
    else:
        assert line["value"] == "none" and "not convex" in line["detail"]
    n, line = estimator.history_.n_iter, lines.pop("Solver")
    assert line["value"].endswith(" s") or line["value"].endswith(" ms")
    assert line["detail"].startswith(f"{n} iteration{'s' * (n != 1)}, ")


def check_starts(fit, line):
    """Of the starts with all prototypes: how many came near the lowest objective."""
    most = max(one.n_prototypes for one in fit.estimator.starts_)
    last = [one for one in fit.estimator.starts_ if one.n_prototypes == most]
    objectives = np.array([one.objective for one in last])
    best, n = objectives.min(), len(last)
    says(line["value"], "best of #", n)
    left = sum(not one.finished for one in last)
    words = (
        "# of # came within 0.1 % of the lowest objective; the highest was # % above"
    )
    numbers = (objectives <= 1.001 * best).sum(), n, 100 * (objectives.max() / best - 1)
    ending = "; # left on the way" if 0 < left < n else ""
    says(line["detail"], words + ending, *numbers, *[left] * bool(ending))


def check_mixes(fit, lines):
    """What IMKPL says of its prototypes, from what each row gives to each."""
    model, labels = fit.model, fit.truth("train")
    kept = int((np.array(model.similarity.weights) > 0).sum())
    line = lines.pop("Kernels kept")
    says(line["value"], "# of #", kept, len(model.similarity.weights))
    for name, share in (("Interpretability", "ip_"), ("Discrimination", "dr_")):
        says(lines.pop(name)["value"], "# %", getattr(fit.estimator, share))
    for name in ("κ", "Start"):
        assert lines.pop(name, None)
    line = lines.pop("Prototypes per class")
    says(line["value"], "#", len(model.bias) / len(set(labels)))


@pytest.mark.parametrize(("method", "data"), NUMBERS)
def test_read_outs_of_numbers(method, data):
    fit = oracle.fit(method, data)
    sent, lines = picture(fit)
    strip = {"nonzeros": check_size(fit, lines), "r2": {}}
    usual = float(np.median(fit.truth("train")))
    for part, title in shown_parts(fit):
        truth, answers = fit.truth(part), fit.answers(part)
        errors = np.abs(truth - answers)
        line = lines.pop(f"{title} error")
        says(line["value"], "#", errors.mean())
        says(
            line["detail"],
            f"mean absolute error of # rows, in units of {fit.table.target}; 95 % "
            "interval #–#; training-median baseline (always #): #",
            *(len(errors), *oracle.mean_interval(errors)),
            *(usual, np.abs(truth - usual).mean()),
        )
        share = 1 - np.mean(errors**2) / np.var(truth)
        line = lines.pop(f"{title} R²")
        says(line["value"], "#", share)
        says(line["detail"], "root mean squared error #", np.sqrt(np.mean(errors**2)))
        name = "training" if part == "train" else part
        strip[name], strip["r2"][name] = errors.mean(), share
    shown = sent["strip"]
    assert shown.pop("r2") == pytest.approx(strip.pop("r2"))
    assert shown == pytest.approx(strip)
    truth, answers = fit.truth("validation"), fit.answers("validation")
    worst = int(np.abs(truth - answers).argmax())
    line = lines.pop("Largest error")
    says(line["value"], "#", abs(truth - answers)[worst])
    words = "validation row #: true #, predicted #"
    row = fit.parts["validation"][worst] + 1
    says(line["detail"], words, row, truth[worst], answers[worst])
    check_solver(fit, lines)
    assert not lines
