"""Who takes part in Compare: controls, scores, and maps of regions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import session, widget_state
from pages.ui import workspace
from pages.ui.text import message
from pages.work import studies
from pages.work.studies import CURRENT_SETTINGS, CandidateJob, Entry, settings_in_words
from smpcore import BASELINES, METHODS, figures
from smpcore.datasets import plural, text_features
from smpcore.evaluation import (
    BUDGET,
    SCORES,
    ComparedModel,
    RegressionScores,
    Scores,
    class_numbers,
    score_answers,
    title_of,
)
from smpcore.live import Context, Parts, quality
from smpcore.readouts import READOUTS

#: What is shown of every model, after its scores.
_SIZES = (
    *("n_nonzeros", "n_features", "n_prototypes", "n_support_vectors"),
    "flash_bytes",
)


@dataclass(frozen=True, eq=False)
class Scored:
    """A candidate and its losses on the rows that it is judged by."""

    entry: Entry
    candidate: ComparedModel
    loss: np.ndarray
    scores: Scores | RegressionScores
    operating: str = ""

    def is_sampled(self, data: Parts) -> bool:
        """Whether it was fitted on a sample of the training rows."""
        return self.candidate.n_rows < len(data.split.train)

    def title(self, data: Parts) -> str:
        """Its title in tables, with the number of rows in its sample."""
        if not self.is_sampled(data):
            return self.entry.title
        return f"{self.entry.title} ({self.candidate.n_rows:,} rows)"


def controls(context: Context) -> tuple[list[Entry], bool]:
    """Let the visitor choose who takes part, and whether they may search."""
    task = context.task
    methods = list(context.methods)
    rest = [key for key, row in BASELINES.items() if task in row.tasks]
    rest = [] if text_features(context.dataset) else rest  # they need numbers
    usual = [key for key in rest if BASELINES[key].group == "usual"]
    left, right, last = st.columns([6, 4, 2], vertical_alignment="bottom")
    workspace.pin_button(context, last)
    chosen = left.multiselect(
        "Methods",
        methods,
        format_func=title_of,
        **widget_state.for_multiselect(
            f"compare_methods_{task}",
            methods,
            [context.method.key] if context.method.key in methods else methods[:1],
        ),
    )
    search = widget_state.choose_one(
        *(right, "Settings", (False, True), "compare_search"),
        buttons=True,
        format_func=lambda yes: (
            f"best of {BUDGET} (cross-validated)" if yes else CURRENT_SETTINGS
        ),
        help="Current settings: your method as on Explore, the others at default "
        f"settings. Cross-validated: each tries {BUDGET} settings on the same folds "
        "of the training rows; the best is refitted on all training rows.",
    )
    baselines = st.multiselect(
        "Baselines",
        rest,
        format_func=title_of,
        **widget_state.for_multiselect(f"compare_baselines_{task}", rest, usual),
    )
    candidates = [workspace.pinned_entry(context, key) for key in chosen]
    candidates += [Entry(key) for key in baselines]
    a = session.get().pinned
    if a and _learns(a, task):
        candidates = [a, *(entry for entry in candidates if entry != a)]
    return candidates, search


def _learns(entry: Entry, task: str) -> bool:
    """Whether a pinned method has this task, with every value it was pinned at."""
    method = METHODS[entry.key]
    values = dict(entry.values)
    return task in method.estimators and method.valid_values(values, task) == values


def choose(
    label: str, entries: list[Entry], scored: list[Scored]
) -> tuple[Scored | None, list[Entry]]:
    """Let the visitor choose one of all, None while it waits, and the rest of them."""
    fitted = {one.entry.title: one for one in scored}
    names = [entry.title for entry in entries]
    name = widget_state.choose_one(st, label, names, f"compare_{label.lower()}")
    if name not in fitted:
        message(st.caption, f"{name} is not fitted yet.")
    return fitted.get(name), [entry for entry in entries if entry.title != name]


def problems(jobs: dict[Entry, CandidateJob]) -> list[str]:
    """Why there is no model, in a sentence for all candidates of the same reason."""
    names: dict[str, list[str]] = {}
    for entry, job in jobs.items():
        if job.missing:  # who it is stands before it, with the settings
            problem = job.missing.removeprefix(f"{title_of(entry.key)} ")
            names.setdefault(problem, []).append(entry.title)
    return [
        f"{', '.join(candidates)}: {problem}" for problem, candidates in names.items()
    ]


def scored(
    jobs: dict[Entry, CandidateJob], context: Context, part: str
) -> list[Scored]:
    """Those that are fitted, the best first; the chosen one as every page shows it."""
    data = context.data
    X, y = data.of(part)
    candidates, classes = [], data.dataset.classes
    of_rows = data.clusters(part), data.weights(part)
    for entry, job in jobs.items():
        if job.candidate is not None:
            candidate, operating = _as_shown(entry, job.candidate, context)
            is_plain = candidate is job.candidate
            answers = job.answers(part) if is_plain else candidate.answers(X)
            scores = score_answers(y, answers, classes, *of_rows)
            loss = np.abs(answers - y) if classes is None else answers != y
            candidates.append(Scored(entry, candidate, loss * 1.0, scores, operating))
    weights = data.weights(part)
    return sorted(candidates, key=lambda one: np.average(one.loss, weights=weights))


def _as_shown(
    entry: Entry, candidate: ComparedModel, context: Context
) -> tuple[ComparedModel, str]:
    """The candidate with the threshold moved on Performance, and that in words."""
    chosen = workspace.pinned_entry(context)
    if candidate.searched or entry != chosen or not context.operating:
        return candidate, ""
    moved = context.with_threshold(candidate.estimator)
    if moved is candidate.estimator:
        return candidate, ""
    return replace(candidate, estimator=moved), context.operating


def overview(candidates: list[Scored], data: Parts, part: str) -> pd.DataFrame:
    """Scores, sizes and times of all models; and of prototypes, how readable they
    are.
    """
    (X, y), dataset, lines = data.of(part), data.dataset, []
    for one in candidates:
        values = {
            name: getattr(one.scores, name) * (100 if READOUTS[name].unit == "%" else 1)
            for name in sorted(SCORES[dataset.task])
        }
        values |= {name: one.candidate.sizes.get(name, np.nan) for name in _SIZES}
        values |= one.candidate.prototype_measures(X, y, dataset.classes)
        values["seconds"] = one.candidate.seconds
        columns = {
            READOUTS[name].column + data.unit_of_score(name): value
            for name, value in values.items()
        }
        lines.append({"model": one.title(data), **columns})
    return pd.DataFrame(lines).dropna(axis="columns", how="all")


def _settings(candidate: ComparedModel) -> str:
    """Its settings, and how it came to them."""
    words = ", ".join(settings_in_words(candidate.settings))
    origin = (
        f"best of {BUDGET}, cross-validated" if candidate.searched else "as on Explore"
    )
    if not words:
        return "default settings"
    return f"{words} ({origin})"


def summary(one: Scored, data: Parts) -> str:
    """Score and settings in a line."""
    words = [quality(one.scores, data), f"With {_settings(one.candidate)}."]
    if one.is_sampled(data):
        n_rows, n_all = one.candidate.n_rows, len(data.split.train)
        words.append(f"Fitted on a sample: {n_rows:,} of {n_all:,} training rows.")
    baseline = BASELINES.get(one.candidate.key)
    if baseline and baseline.remark:
        words.append(baseline.remark)
    if one.operating:
        words.append(f"{one.operating}.")
    return " ".join(words)


#: Nodes of a map along each axis, and rows that are drawn in it.
NODES, MOST_ROWS = 80, 300


class Maps:
    """Regions of several candidates on the same window with the same rows."""

    def __init__(self, context: Context, part: str) -> None:
        data = context.data
        self.view = studies.view(data, context.view)
        is_late = context.view["kind"] == "map" and self.view.far(2) is None
        self.job = studies.map_of(data) if is_late else None
        X, y = data.of(part)
        chosen = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
        self._X, self._chosen = X[chosen], chosen
        rows = getattr(data.split, part)[chosen]
        self.selected = session.are_selected(data.dataset, rows)
        self.xy = self.view.places(self._X, y[chosen])
        self._shown = self.view.left_out(self._X, self.view.lift(self.xy))
        self.classes = data.dataset.classes
        self._nodes = self.view.nodes(NODES)
        known = self.classes is not None
        self.truth = class_numbers(y[chosen], self.classes) if known else y[chosen]

    def answers(self, candidate: ComparedModel) -> np.ndarray:
        """Its answers at the nodes, shape (NODES, NODES)."""
        labels = candidate.answers(self._nodes)
        if self.classes is not None:
            labels = class_numbers(labels, self.classes)
        return labels.reshape(NODES, NODES)

    def of(self, one: Scored) -> Any:
        """The map of one candidate, its wrong answers ringed."""
        loss = one.loss[self._chosen]
        wrong = loss > 0 if self.classes is not None else loss > 2 * one.loss.mean()
        answers = self.answers(one.candidate)
        known = self.truth, wrong, self.classes, self.selected
        return figures.answer_map(self.view, answers, self.xy, *known)

    def agreement(self, one: Scored) -> str:
        """How true a map of classes is, in a sentence; empty for other pictures."""
        if self.classes is None or self.view.far(2) is None:
            return ""
        answers = one.candidate.answers
        share = (answers(self._shown) == answers(self._X)).mean()
        return f" The map did not know these rows and shows {share:.0%} as predicted."

    def difference(self, a: Scored, b: Scored) -> Any:
        """Where two candidates differ, and who is right."""
        differ = np.abs(self.answers(a.candidate) - self.answers(b.candidate))
        if self.classes is not None:
            differ = (differ > 0).astype(float)
        first, second = a.loss[self._chosen], b.loss[self._chosen]
        only = np.where(first < second, 0, np.where(second < first, 1, 2))
        words = ["only A correct", "only B correct", "both correct or both wrong"]
        where = "predictions of A and B differ"
        if self.classes is None:
            words = ["A closer", "B closer", "equally close"]
            where = "darker: larger difference"
        return figures.difference_map(self.view, differ, self.xy, only, [*words, where])


def note(maps: Maps, part: str) -> str:
    """What the maps show."""
    off = (
        "wrong" if maps.classes is not None else "error more than twice the mean error"
    )
    late = ""
    if maps.job is not None:
        waits = "A map is being laid out; this is the plane meanwhile."
        late = f"{maps.job.problem or waits} "
    words = f"Rows shown: {part}; ringed: {off}"
    if maps.selected.any():
        words += (
            f"; in a large circle: {plural(int(maps.selected.sum()), 'selected row')}"
        )
    return f"{late}{maps.view.note} {words}."
