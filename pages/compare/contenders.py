"""What the compare page asks for, and what it shows of the contenders."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import session, widget_state
from pages.state.context import Context
from pages.ui import pin
from pages.ui.readouts import cluster_summary, duration, percent
from pages.ui.text import escape_markdown
from pages.work import cache
from pages.work.comparisons import AS_THEY_ARE, ContenderJob, Entry, settings_in_words
from smpcore import BASELINES, METHODS, SmpcoreError
from smpcore.evaluation import (
    BUDGET,
    LEVEL,
    ComparedModel,
    RegressionScores,
    Scores,
    class_numbers,
    count_answers,
    holm,
    holm_levels,
    paired_difference,
    title_of,
)

_SIZES = {
    "n_nonzeros": "non-zeros",
    "n_features": "columns used",
    "n_prototypes": "prototypes",
    "n_support_vectors": "support vectors",
    "flash_bytes": "flash bytes",
}


@dataclass(frozen=True, eq=False)
class Scored:
    """A contender and its losses on the rows that it is judged by.

    Parameters
    ----------
    entry : Entry
    contender : ComparedModel
    loss : ndarray of shape (n_rows,)
        0 or 1 of a classifier, the absolute error of a regression.
    operating : str
        Threshold and band that every page applies to this model, in words.
    counts : Scores, optional
        Of a classifier: rows by class and answer.
    errors : RegressionScores, optional
        Of a regression.
    """

    entry: Entry
    contender: ComparedModel
    loss: np.ndarray
    operating: str = ""
    counts: Scores | None = None
    errors: RegressionScores | None = None


def entries(context: Context) -> tuple[list[Entry], bool]:
    """Let the visitor choose who takes part, and whether they may search."""
    task = context.task
    methods = [key for key, row in METHODS.items() if task in row.estimators]
    rest = [key for key, row in BASELINES.items() if task in row.tasks]
    usual = [key for key in rest if not BASELINES[key].folded]
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    chosen = left.multiselect(
        "Methods",
        methods,
        format_func=title_of,
        **widget_state.several(
            f"compare_methods_{task}",
            methods,
            [context.method.key] if context.method.key in methods else methods[:1],
        ),
    )
    search = right.segmented_control(
        "Settings",
        [False, True],
        format_func=lambda yes: (
            f"best of {BUDGET} (cross-validated)" if yes else AS_THEY_ARE
        ),
        required=True,
        **widget_state.press("compare_search", (False, True), False),
        help="Current settings: your method as on Explore, the others at default "
        f"settings. Cross-validated: each tries {BUDGET} settings on the same folds "
        "of the training rows; the best is refitted on all training rows.",
    )
    baselines = st.multiselect(
        "Baselines",
        rest,
        format_func=title_of,
        **widget_state.several(f"compare_baselines_{task}", rest, usual),
    )
    found = [pin.entry(context, key) for key in chosen]
    found += [Entry(key) for key in baselines]
    a = session.get().pinned
    if a and _learns(a, task):
        found = [a, *(entry for entry in found if entry != a)]
    return found, search


def _learns(entry: Entry, task: str) -> bool:
    """Whether a pinned method has this task, with every value it was pinned at."""
    method = METHODS[entry.key]
    values = dict(entry.values)
    return task in method.estimators and method.valid_values(values, task) == values


def two(asked: list[Entry], found: list[Scored]) -> tuple[Scored, Scored] | None:
    """Let the visitor choose A and B among all who take part; None while one waits."""
    fitted = {one.entry.title: one for one in found}
    names = [entry.title for entry in asked]
    left, right = st.columns(2)
    a = left.selectbox("A", names, **widget_state.pick("compare_a", names, names[0]))
    others = [name for name in names if name != a]
    b = right.selectbox(
        "B", others, **widget_state.pick("compare_b", others, others[0])
    )
    if waited := [name for name in (a, b) if name not in fitted]:
        st.caption(escape_markdown(f"{waited[0]} is not fitted yet."))
        return None
    return fitted[a], fitted[b]


def problems(jobs: dict[Entry, ContenderJob]) -> list[str]:
    """Why there is no model, in a sentence for all contenders of the same reason."""
    names: dict[str, list[str]] = {}
    for entry, job in jobs.items():
        if job.missing:  # who it is stands before it, with the settings
            problem = job.missing.removeprefix(f"{title_of(entry.key)} ")
            names.setdefault(problem, []).append(entry.title)
    return [f"{', '.join(found)}: {problem}" for problem, found in names.items()]


def judged_by(data: cache.Parts) -> str:
    """The part whose rows judge: validation, or training where there is none."""
    return "validation" if len(data.split.validation) else "train"


def scored(
    jobs: dict[Entry, ContenderJob], context: Context, part: str
) -> list[Scored]:
    """Those that are fitted, the best first; the chosen one as every page shows it."""
    data = context.data
    X, y = data.of(part)
    found, classes, groups = [], data.dataset.classes, data.clusters(part)
    for entry, job in jobs.items():
        if job.contender is None:
            continue
        contender, operating = _as_shown(entry, job.contender, context)
        answers = contender.answers(X)
        if classes is None:
            errors = RegressionScores(y, answers, groups)
            found.append(Scored(entry, contender, errors.errors, errors=errors))
            continue
        numbers = [class_numbers(labels, classes) for labels in (y, answers)]
        counts = count_answers(*numbers, classes, groups)
        loss = (answers != y).astype(float)
        found.append(Scored(entry, contender, loss, operating, counts))
    return sorted(found, key=lambda one: one.loss.mean())


def _as_shown(
    entry: Entry, contender: ComparedModel, context: Context
) -> tuple[ComparedModel, str]:
    """The contender with the threshold moved on Trade-off, and that in words."""
    own = pin.entry(context)
    if contender.searched or entry != own or not context.operating:
        return contender, ""
    try:
        moved = context.with_threshold(contender.estimator)
    except SmpcoreError:  # a link may ask it of a model that cannot have it
        return contender, ""
    if moved is contender.estimator:
        return contender, ""
    return replace(contender, estimator=moved), context.operating


def _verdict(one: Scored, data: cache.Parts) -> str:
    """Its score with an interval, and of classes how it treats the rare ones."""
    n, mean = len(one.loss), one.loss.mean()
    if data.dataset.task == "regression":
        if n < 2:
            return f"absolute error of the only row: {mean:.4g}"
        half = 1.96 * one.loss.std(ddof=1) / np.sqrt(n)
        if one.errors is not None and one.errors.clusters is not None:
            half = one.errors.interval[1] - mean
        if not np.isfinite(half):
            return f"mean absolute error {mean:.4g} of a single group"
        return f"mean absolute error {mean:.4g} ± {half:.2g}{cluster_summary(data)}"
    low, high = one.counts.interval
    ends = f"{100 * low:.0f}–{100 * high:.0f} %"
    words = f"accuracy {percent(1 - mean)}, 95 % interval {ends}{cluster_summary(data)}"
    silent = ", ".join(f"{label!s:.24}" for label in one.counts.never_answered[:4])
    fair = f"; balanced accuracy {percent(one.counts.balanced_accuracy)}"
    return words + fair + (f"; classes never predicted: {silent}" if silent else "")


def _cost(contender: ComparedModel) -> str:
    """What is known of its size, and its time."""
    words = [
        f"{contender.sizes[name]:,.0f} {words}"
        for name, words in _SIZES.items()
        if np.isfinite(contender.sizes.get(name, np.nan))
    ]
    if contender.key in BASELINES and (remark := BASELINES[contender.key].remark):
        words.append(remark)
    return ", ".join([*words, duration(contender.seconds)])


def _settings(contender: ComparedModel) -> str:
    """Its settings, and how it came to them."""
    words = ", ".join(settings_in_words(contender.settings))
    how = (
        f"best of {BUDGET}, cross-validated" if contender.searched else "as on Explore"
    )
    if not words:
        return "default settings"
    return f"{words} ({how})"


def told(one: Scored, data: cache.Parts) -> str:
    """Score, cost and settings in a line."""
    words = (
        f"{_verdict(one, data)}. {_cost(one.contender)}; {_settings(one.contender)}."
    )
    return f"{words} {one.operating}." if one.operating else words


def differences(
    found: list[Scored], to: Scored, data: cache.Parts, part: str
) -> pd.DataFrame:
    """Each contender against one, on the same rows of a part."""
    groups = data.clusters(part)
    task = data.dataset.task
    rivals = [one for one in found if one.entry != to.entry]
    tested = [paired_difference(one.loss, to.loss, groups) for one in rivals]
    adjusted = holm([test.p_value for test in tested])
    levels = holm_levels([test.p_value for test in tested])
    tested = [
        paired_difference(one.loss, to.loss, groups, level)
        for one, level in zip(rivals, levels, strict=True)
    ]
    style = "{:+.4g}" if task == "regression" else "{:+.1%}"
    lines = []
    for one, test, p_value in zip(rivals, tested, adjusted, strict=True):
        ends = f"{style.format(test.low)} to {style.format(test.high)}"
        better = "better" if test.mean > 0 else "worse"
        lines.append(
            {
                "model": one.entry.title,
                "difference": style.format(test.mean),
                "simultaneous 95 % interval (Holm)": ends,
                "p (Holm)": "< 0.0001" if p_value < 1e-4 else f"{p_value:.4f}",
                "test": test.test,
                "result": better if p_value < LEVEL else "no clear difference",
            }
        )
    return pd.DataFrame(lines)
