"""The sweeps of Trade-off: chosen or opened from a file, their points and charts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.state import session, widget_state
from pages.state.session import Slot
from pages.ui.elements import download, expander, problems_shown, table
from pages.ui.files import OpenFile, open_file
from pages.ui.text import escape_markdown, message, short_label
from pages.work import slots, studies
from pages.work.studies import SWEPT_GROUPS, SweepJob
from smpcore import BASELINES, METHODS, SmpcoreError, evaluation, figures
from smpcore.baselines import GROUPS
from smpcore.datasets import as_csv, plain_number, plural, text_features
from smpcore.evaluation import (
    CHIP_SIZES,
    SAMPLED,
    SIZES,
    baseline_paths,
    n_draws,
    title_of,
)
from smpcore.live import MEANINGS, Context, Parts, define, pairs
from smpcore.readouts import READOUTS

_FILE = Slot[OpenFile | None]("batch")
_MAJORITY_RECALL = Slot[float]("majority_recall")

#: Bytes of a file: a million fits take less.
MOST_BYTES = 200_000_000


@dataclass(frozen=True, eq=False)
class Opened:
    """The fits of a file, to be looked at like those of a sweep that is over."""

    name: str
    subject: evaluation.Subject
    table: pd.DataFrame
    n_folds_drawn: int = 0

    running, complete, problem, seconds_left, where = False, True, "", None, ""

    @property
    def keys(self) -> set[str]:
        """Methods and baselines that it has fits of."""
        return set(self.table["method"])

    @property
    def n_fits(self) -> int:
        """All of them."""
        return len(self.table)

    n_done = n_fits

    def look(self, score: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The fits, and the points that all folds have seen."""
        return self.table, evaluation.summary(self.table, score, self.n_folds_drawn)


def section(data: Parts) -> Opened | None:
    """The file picker, and what it has opened if that is of these data."""
    file = None
    with expander("Results of a batch run", "sweep_batch", "folder_open"):
        with problems_shown(st.error):
            file = open_file(
                _FILE,
                "file",
                _read,
                "A file that python -m smpcore.evaluation has written",
                ["parquet"],
                "It stays in the memory of this server while you are here.",
            )
    if file is None:
        return None
    opened = file.content
    if problem := _mismatch(opened.subject, data):
        message(st.warning, problem)
        return None
    message(st.caption, _summary(opened))
    repeats = n_draws(data.dataset, data.split.with_censored)
    return replace(opened, n_folds_drawn=opened.subject.n_folds * repeats)


def _read(file: Any) -> Opened:
    if file.size > MOST_BYTES:
        raise SmpcoreError(
            f"The file has {file.size:,} bytes; at most {MOST_BYTES:,} are opened."
        )
    return Opened(file.name, *evaluation.read_results(file.getvalue(), file.name))


def _mismatch(subject: evaluation.Subject, data: Parts) -> str:
    """Why the results do not belong to what the pages show; empty if they do."""
    here = data.dataset
    if (subject.digest, subject.task) != (here.digest, here.task):
        return (
            f"The opened results are of {subject.name[:100]!r}, not of the data that "
            "are chosen (or these were read, or their columns used, otherwise). Choose "
            "those on Data."
        )
    if subject.split != data.split.key:
        return (
            "The opened results are of these data, but of other training rows: choose "
            "the shares and the seed of the batch run on Data."
        )
    return ""


def _summary(opened: Opened) -> str:
    methods = [evaluation.title_of(key) for key in METHODS if key in opened.keys]
    if any(key in opened.keys for key in BASELINES):
        methods.append("baselines")
    words = (
        f"From {short_label(opened.name)}: {opened.n_fits:,} fits of "
        f"{', '.join(methods)} on {opened.subject.n_folds} folds, other "
        "parameters at their defaults. They stand in place of sweeps of the same "
        "methods here, and other methods are swept on the same folds."
    )
    if opened.subject.edition != evaluation.edition():
        words += (
            " They were made by another edition of this program or of its libraries: "
            "fitted here, a model may come out differently."
        )
    return words


#: A running sweep is looked at this often until there is a chart, and from then on; a
#: fine one adds to a chart that is there.
FIRST_SECONDS, NEXT_SECONDS, FINE_SECONDS = 0.25, 0.5, 1.0
#: First and fine sweep of a method; in place of the first one a file.
Pair = tuple[SweepJob | Opened, SweepJob | None]


@dataclass(frozen=True)
class SweepRequest:
    """What to sweep and how to show it."""

    data: Parts
    values: dict[str, dict[str, Any]]
    score: str
    size: str
    n_folds: int
    groups: tuple[str, ...]
    opened: Opened | None = None

    @property
    def task(self) -> str:
        """Of the data."""
        return self.data.dataset.task

    @property
    def larger_is_better(self) -> bool:
        """Of the score."""
        return evaluation.SCORES[self.task][self.score]

    def jobs(self) -> list[Pair]:
        """First and fine sweep of each method; first ones that are missing begin.

        So does one that nobody waited for any more, when a visit first comes to it.
        """
        visit = session.get()
        sweeps: list[Pair] = []
        for key, where in self._sweeps().items():
            first = studies.swept(*where, False)
            if key not in visit.met and first.done and not first.complete:
                first.start()
            visit.met.add(key)
            fine = studies.swept(*where, True) if key in visit.refined else None
            for sweep in filter(None, (first, fine)):
                sweep.join()
            sweeps.append((first, fine))
        return sweeps + ([(self.opened, None)] if self.opened else [])

    def refine(self) -> None:
        """Begin the fine sweep of each method, again where it was stopped."""
        session.get().refined |= set(self._sweeps())
        for _, fine in self.jobs():
            if fine and not fine.complete:
                fine.start()

    def _sweeps(self) -> dict[Any, tuple]:
        """Key of a sweep -> its arguments, in their order: the first method, what it
        is held against, and the others.
        """
        first, *others = self.values.items() or [("", {})]
        wanted = dict([first, *((group, {}) for group in self.groups), *others])
        wanted.pop("", None)
        there = self.opened.keys if self.opened else set()
        wanted = {key: v for key, v in wanted.items() if key not in there}
        for group in {BASELINES[key].group for key in there.intersection(BASELINES)}:
            wanted.pop(group, None)
        rows = self.data.dataset.digest, self.data.split.key, self.n_folds
        return {
            (*rows, key, pairs(values)): (self.data, key, pairs(values), self.n_folds)
            for key, values in wanted.items()
        }


@dataclass(frozen=True, eq=False)
class SweepResult:
    """What sweeps have found so far."""

    table: pd.DataFrame
    points: pd.DataFrame

    @property
    def of_methods(self) -> pd.DataFrame:
        """The points that can be opened, those worth it first."""
        of_methods = self.points[self.points["method"].isin(METHODS)]
        return of_methods.sort_values(["sparsest", "best", "front"], ascending=False)


def poll_interval(pairs: list[Pair]) -> float | None:
    """How often to look at sweeps; None if none is running."""
    running = [(first, fine) for first, fine in pairs if (fine or first).running]
    if not running:
        return None
    if not any(first.n_done for first, _ in pairs):
        return slots.poll_interval(FIRST_SECONDS)
    fine = all(fine for _, fine in running)
    return slots.poll_interval(FINE_SECONDS if fine else NEXT_SECONDS)


@slots.interactive_slot()
def gather(request: SweepRequest, pairs: list[Pair]) -> SweepResult:
    """Put sweeps together: of each method the fine one, once it has a point."""
    looks = []
    for first, fine in pairs:
        look = fine.look(request.score) if fine else None
        if look is None or look[1].empty:
            look = first.look(request.score)
        looks.append(look)
    table = pd.concat([fits for fits, _ in looks], ignore_index=True)
    parts = [points for _, points in looks]
    points = pd.concat([part for part in parts if len(part)] or parts[:1])
    mine = points["method"].isin(METHODS)
    front = table, request.size, request.score, request.larger_is_better
    of_methods, reference = evaluation.pareto_front(points[mine], *front), points[~mine]
    rivals = evaluation.smaller_and_as_good(
        of_methods, reference, request.size, request.larger_is_better
    )
    titles = [evaluation.title_of(key) for key in reference["method"]]
    of_methods["rival"] = [titles[i] if i >= 0 else "" for i in rivals]
    points = pd.concat([of_methods, reference.assign(rival="")])
    marks = ["front", "undecided", "best", "sparsest"]
    points[marks] = points[marks].eq(True)
    points["usual"] = points["method"].isin(
        request.opened.keys if request.opened else ()
    )
    # A click may come back when there are more points: a name says which was meant.
    points.index = [f"{p.method} {p.value!r}" for p in points.itertuples()]
    return SweepResult(table, points)


def label(point: Any) -> str:
    """A point in words."""
    if not point.parameter:
        return evaluation.title_of(point.method)
    known = METHODS.get(point.method)
    named = known.param(point.parameter).label if known else point.parameter
    return (
        f"{evaluation.title_of(point.method)}: {named} = {plain_number(point.value, 6)}"
    )


def use(request: SweepRequest, point: Any) -> None:
    """Make a point the model of every page, with the values of its sweep's request."""
    method = METHODS[point.method]
    usual = method.defaults(request.task)
    swept = {} if point.usual else request.values.get(point.method, {})
    values = {name: v for name, v in swept.items() if v != usual[name]}
    values[point.parameter] = method.param(point.parameter).clean(point.value)
    session.choose(replace(session.get().choice, method=point.method, values=values))


def in_use(context: Context, result: SweepResult, request: SweepRequest) -> str:
    """Which point is the model of every page now; empty if none is.

    The pointer reaches one of several points on one spot: the others are named.
    """
    points, method = result.of_methods, context.method
    usual = method.defaults(request.task).items()
    for place, point in points[points["method"] == method.key].iterrows():
        rest = {n: v for n, v in context.values.items() if n != point.parameter}
        is_here = context.values.get(point.parameter) == point.value
        if is_here and (not point.usual or rest.items() <= usual):
            spot = [request.size, "mean"]
            near = np.isclose(points[spot], point[spot].astype(float), rtol=1e-9)
            near = points[near.all(axis=1)].drop(place)
            same = "; ".join(label(other) for other in near.itertuples())
            text = f"Used on every page: {label(point)}, fitted on all training rows."
            if same:
                text += f" At the same position in the chart: {same}."
            return text
    return ""


def choose(context: Context, below: Any) -> SweepRequest:
    """Have the visitor choose what to sweep, or open a file below the results."""
    data, task, able = context.data, context.task, list(context.methods)
    first = [context.method.key] if context.method.key in able else able[:1]
    columns = st.columns([4, 2, 2, 1])
    chosen = columns[0].multiselect(
        "Methods",
        able,
        format_func=lambda key: METHODS[key].title,
        **widget_state.for_multiselect(f"sweep_methods_{task}", able, first),
    )
    score = widget_state.choose_one(
        *(columns[1], "Score", evaluation.SCORES[task], f"sweep_score_{task}"),
        format_func=_label,
        help=MEANINGS["balanced_accuracy" if task == "classification" else "r2"],
    )
    size = widget_state.choose_one(
        *(columns[2], "Against", evaluation.SIZES, "sweep_size"),
        format_func=_label,
        help="Flash and cycles of integer formats exclude the conversion of float "
        "inputs, which Export includes.",
    )
    groups = () if text_features(data.dataset) else _baselines(task)
    own_first = sorted(chosen, key=lambda key: key != context.method.key)
    values = {key: _values(context, key) for key in own_first}
    with below:
        opened = section(data)
    n_folds = _folds(columns[3], opened)
    # A file's fits are of all rows, and so are those that stand beside them.
    data = data if opened else studies.swept_part(data)
    _sample_named(data, context.data)
    return SweepRequest(data, values, score, size, n_folds, groups, opened)


def _sample_named(part: Parts, data: Parts) -> None:
    """Say that a sample is swept, if one is."""
    few, of_all = len(part.split.train), len(data.split.train)
    if few < of_all:
        st.caption(
            f"Folds of a sample: {few:,} of {of_all:,} training rows. A point that you "
            "use is fitted on all of them."
        )


def _label(key: str) -> str:
    return READOUTS[key].label


def _baselines(task: str) -> tuple[str, ...]:
    """The control of what is swept beside the methods."""
    groups = st.pills(
        "Baselines",
        SWEPT_GROUPS,
        selection_mode="multi",
        format_func=lambda group: ", ".join(
            evaluation.title_of(path.key)
            for path in evaluation.baseline_paths(task, (group,))
        ),
        **widget_state.for_multiselect("sweep_groups", SWEPT_GROUPS, ["usual"]),
        help=define("Selected prototypes"),
    )
    return tuple(groups)


def _folds(place: Any, opened: Opened | None) -> int:
    """The control of folds; scores of an opened file are beside those of its folds."""
    if opened:
        n_folds = opened.subject.n_folds
        help_ = "As in the file that is open: only scores of the same folds compare."
        place.number_input("Folds", value=n_folds, disabled=True, help=help_)
        return n_folds
    state = widget_state.for_value("sweep_folds", range(2, 11), 5)
    return int(place.number_input("Folds", 2, 10, **state))


def _values(context: Context, key: str) -> dict[str, Any]:
    """A method's values, the swept one at its default: it is the same sweep."""
    start = METHODS[key].defaults(context.task)
    if key != context.method.key:
        return start
    chosen = {name: context.values.get(name, start[name]) for name in start}
    swept = METHODS[key].sparsity
    return chosen | {swept: start[swept]}


#: Added where the folds are blocks in time.
IN_TIME = (
    " Folds are blocks in time: each is tested on a model trained on earlier blocks; "
    "the first block is never held out."
)


def _weighted(data: Parts) -> str:
    """What the scores of the folds are weighted for; empty if nothing."""
    words = data.weight_summary.partition("; intervals")[0]
    return escape_markdown(f" Rows are {words}.") if words else ""


def baseline_score(request: SweepRequest) -> float:
    """The score of one and the same answer to every training row."""
    y = request.data.of("train")[1]
    if request.task == "regression":
        if request.larger_is_better:
            return 0.0
        off = np.abs(y - request.data.training_median)
        return float(np.average(off, weights=request.data.weights("train")))
    labels, codes = np.unique(y, return_inverse=True)
    sums = np.bincount(codes, request.data.weights("train"))
    if request.score == "accuracy":
        return float(sums.max() / sums.sum())
    dataset, division = request.data.dataset, request.data.split
    depend = dataset.groups is not None or dataset.times is not None
    if np.bincount(codes).min() >= request.n_folds and not depend:
        return 1 / sums.size

    def recall() -> float:
        """Mean over folds that lack a class, as of the models beside it."""
        drawn = evaluation.folds(dataset, division.with_censored, request.n_folds)
        held = [set(dataset.y[fold.held_out]) for fold in drawn]
        return float(np.mean([(labels[sums.argmax()] in h) / len(h) for h in held]))

    key = dataset.digest, division.key, request.n_folds
    return _MAJORITY_RECALL.get_or_make(key, recall)


def baseline_name(request: SweepRequest) -> str:
    """What the baseline of `baseline_score` predicts for every row."""
    if request.task == "regression":
        return "Mean" if request.larger_is_better else "Training-median"
    return "Majority-class"


def as_table(result: SweepResult, request: SweepRequest) -> pd.DataFrame:
    """The points in words and numbers, the best first."""
    points = result.points.sort_values(
        "mean", ascending=not request.larger_is_better, kind="stable"
    )
    marks = {
        "best": "best mean",
        "sparsest": "sparsest within 1 SE",
        "front": "front",
        "undecided": "not significantly different from the front",
        "dead": "not better than the baseline",
    }
    sign = 1 if request.larger_is_better else -1
    points["dead"] = sign * (points["mean"] - baseline_score(request)) <= 1e-9
    remarks = [
        ", ".join(
            [words for name, words in marks.items() if getattr(point, name)]
            + ([f"dominated by baseline {point.rival}"] if point.rival else [])
        )
        for point in points.itertuples()
    ]
    columns = {
        "Model": [label(point) for point in points.itertuples()],
        _score_title(request): points["mean"].to_numpy().round(4),
        "Standard error": points["error"].to_numpy().round(4),
    }
    for name in SIZES:
        columns[READOUTS[name].label] = points[name].to_numpy().round(1)
    columns |= {"Folds": points["n"].to_numpy(), "Remarks": remarks}
    return pd.DataFrame(columns)


def _score_title(request: SweepRequest) -> str:
    """The score, an error with the unit of the target."""
    unit = request.data.unit_of_score(request.score)
    return READOUTS[request.score].label + unit


def _axis(size: str) -> str:
    """Title of a size, and how it is found where it is of a chip."""
    title = READOUTS[size].label
    if size not in CHIP_SIZES:
        return title
    if size.endswith(("int8", "int16")):
        title += ", without input conversion"
    return f"{title}, estimated on one fold"


@slots.interactive_slot()
def chart(
    result: SweepResult, request: SweepRequest, on_click: Callable[[], None]
) -> None:
    """The chart, and what it leaves out."""
    in_file = request.opened.keys if request.opened else set()
    methods = [key for key in METHODS if key in in_file or key in request.values]
    groups = GROUPS if in_file else request.groups
    baselines = [path.key for path in baseline_paths(request.task, groups)]
    score, size = _score_title(request), request.size
    figure = figures.tradeoff(
        result.points,
        size,
        {key: title_of(key) for key in (*methods, *baselines)},
        (f"{_axis(size)}, mean over folds", score),
        tuple(baselines),
    )
    if words := rivals(result, size):
        st.markdown(words)
    st.plotly_chart(
        figure,
        key="tradeoff_chart",
        on_select=on_click,
        selection_mode="points",
        alt=f"{score} against {READOUTS[size].label.lower()}; "
        "the table below has the same numbers",
    )
    _legend(result, request)


def _legend(result: SweepResult, request: SweepRequest) -> None:
    """What the marks of the chart mean, and what it does not show."""
    points = result.points
    st.caption(
        "Filled: on the Pareto front (without baselines). Hollow: not significantly "
        "different from the front (corrected resampled t-test, 5 %). Small: dominated. "
        "Bars: one standard error (SE), corrected for overlapping training sets. Grey: "
        "baselines at default settings."
        + ("" if request.data.dataset.times is None else IN_TIME)
        + _weighted(request.data),
        help=define("Pareto front"),
    )
    st.caption(
        f"{baseline_name(request)} baseline: {plain_number(baseline_score(request))}"
        f"{escape_markdown(request.data.target_unit) * (request.score == 'mae')}. "
        + repeats(request, result)
    )
    if names := sampled(result):
        st.caption(f"Fitted on a sample of the training rows: {names}.")
    absent = points[~np.isfinite(points[request.size].to_numpy(np.float64))]
    if len(absent):
        names = ", ".join(
            f"{label(p)} ({plain_number(p.mean, 3)})" for p in absent.itertuples()
        )
        st.caption(f"Not shown, as not measured on this axis: {names}.")


def sampled(result: SweepResult) -> str:
    """Baselines that were fitted on some of the rows, and on how many."""
    fits = result.table[result.table["status"].str.startswith(SAMPLED)]
    pairs = fits.drop_duplicates("method")[["method", "status"]].itertuples(index=False)
    return "; ".join(f"{title_of(key)} {words}" for key, words in pairs)


def rivals(result: SweepResult, size: str) -> str:
    """Whether a baseline is smaller and as good as points of the front, in words."""
    front = result.of_methods[result.of_methods["front"]]
    beaten = front[front["rival"] != ""]
    if len(beaten):
        names = "; ".join(dict.fromkeys(beaten["rival"]))
        many = len(front)
        count = "the only point" if many == 1 else f"{len(beaten)} of {many} points"
        return f"At least as good and smaller than {count} on the front: {names}."
    baselines = result.points[~result.points["method"].isin(METHODS)]
    if len(front) and baselines[size].notna().any():
        return "No smaller baseline is as good as a point on the front."
    return ""


def repeats(request: SweepRequest, result: SweepResult) -> str:
    """How often the folds were drawn, and how often Refine draws them."""
    most = n_draws(request.data.dataset, request.data.split.with_censored)
    if most == 1:
        return ""
    now = int(result.table["repeat"].max()) + 1
    times = f"{now} repeats were run" if now > 1 else f"Refine runs {most} repeats"
    return f"One repeat of cross-validation is noisy with so few rows: {times}."


def failures(result: SweepResult, score: str) -> list[str]:
    """Why fits failed, each reason once, with how often."""
    reasons = result.table.loc[result.table[score].isna(), "status"].value_counts()
    return [
        f"{plural(n, 'fit')} without a score: {text}" for text, n in reasons.items()
    ]


def unfinished(result: SweepResult, request: SweepRequest) -> str:
    """What has neither a point nor a reason for that, in a sentence; else empty."""
    failed = result.table.loc[result.table[request.score].isna(), "method"]
    remarks = {*result.points["method"], *failed}
    late = [title_of(key) for key in request.values if key not in remarks]
    filed = request.opened.keys if request.opened else set()
    if filed <= set(METHODS):
        paths = baseline_paths(request.task, request.groups)
        late += [title_of(path.key) for path in paths if path.key not in remarks]
    if not late:
        return ""
    return (
        f"No points yet for {', '.join(late)}: the sweep was stopped; Refine goes on."
    )


@slots.interactive_slot()
def points_table(result: SweepResult, request: SweepRequest) -> None:
    """The same numbers as a table, and every fit as CSV."""
    with expander("Show as a table", "sweep_table", "table"):
        table(as_table(result, request))
    csv = partial(as_csv, result.table)
    download("Download every fit as CSV", csv, "sweep.csv", key="sweep_csv")
