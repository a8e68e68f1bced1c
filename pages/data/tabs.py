"""The table of the Data page: what to know about it, and its sides, each on a tab."""

from dataclasses import replace

import numpy as np
import streamlit as st

from pages.data import all_rows, cleaning, editor, roles, time_to_event, uploads
from pages.state import session
from pages.state.session import Slot
from pages.ui.elements import problems_shown
from pages.ui.elements import table as show_table
from pages.ui.text import escape_markdown, message, short_label
from pages.work import server_files
from smpcore import Dataset, figures
from smpcore.datasets import (
    AFTERWARDS,
    Proposal,
    Split,
    find_duplicates,
    find_structure,
    late_columns,
    matrix_of,
    row_titles,
    used_matrices,
    weight_columns,
)

#: Rows that stand in training too, and what the values of the table show.
_CHECKED = Slot[tuple[int, list[Proposal]]]("checked")
#: Rows of a map at most; of more, so many spread evenly over the classes.
MOST_ROWS = 400


def remarks(dataset: Dataset, division: Split, table: Dataset) -> None:
    """What reading found, what stands in the way, and what is too good to be true."""
    if problem := editor.fit_problem(dataset):
        words = f"{problem} Until then the other pages show another table."
        message(st.warning, words, icon=":material/block:")
    if words := time_to_event.hint(dataset):
        message(st.warning, words, icon=":material/schedule:")
    repeated, proposals = _CHECKED.get_or_make(
        (dataset.digest, division.key),
        lambda: (
            find_duplicates(dataset, division),
            find_structure(dataset, division),
        ),
    )
    if repeated:
        st.warning(
            f"Rows of the validation and test parts that also stand in training: "
            f"{repeated:,}. The model may have memorised them."
        )
    named = [*weight_columns(dataset), *late_columns(dataset, proposals)]
    for proposal in [*proposals, *named]:
        _offer(table, proposal)
    notices = [*dataset.notices, *division.notices]
    if notices:
        st.info("\n".join(f"- {escape_markdown(notice)}" for notice in notices))
    uploads.read_otherwise(table)


def _offer(table: Dataset, proposal: Proposal) -> None:
    """Say what the values of a table show, with a button that does something for it."""
    if not (proposal.is_leak or table.private):
        return
    left, right = st, None
    if table.private and proposal.action:
        left, right = st.columns([3, 1])
    message(left.warning if proposal.is_leak else left.info, proposal.words)
    if right is not None and right.button(
        escape_markdown(proposal.action),
        key=f"proposal_{proposal.action}",
        icon=":material/auto_fix_high:",
        width="stretch",
    ):
        if proposal.question is not None:
            time_to_event.ask(proposal.question)
        changes = {"roles": proposal.roles, "cleaning": proposal.cleaning}
        roles.change_roles(table, **changes)


def balance(dataset: Dataset, division: Split) -> None:
    """Rows of each class in each part; of a number to predict, its distribution."""
    figure = figures.class_balance(dataset, division)
    what = "class" if dataset.task == "classification" else "range of the target"
    st.plotly_chart(figure, key="balance", alt=f"Rows of each {what} in each part")


def missing(dataset: Dataset, division: Split) -> None:
    """Which values are missing, and what becomes of them."""
    if dataset.frame[dataset.feature_columns].isna().any(axis=None):
        figure = figures.missing_values(dataset)
        st.plotly_chart(figure, key="missing", alt="Share of missing values by column")
        st.caption(
            "By default, a missing number becomes the median of the training rows; a "
            "missing category is none of the levels (of two it counts as the "
            "commoner). Clean, in Columns, sets it for each column."
        )
    else:
        st.success("No value is missing.")


@st.fragment
def scatter(dataset: Dataset, division: Split) -> None:
    """Two columns against each other."""
    names = [n for n, role in dataset.roles.items() if role in ("feature", AFTERWARDS)]
    if not names:
        return
    left, right = st.columns(2)
    first = left.selectbox("x axis", names, 0, short_label, key="scatter_x")
    last = min(1, len(names) - 1)
    second = right.selectbox("y axis", names, last, short_label, key="scatter_y")
    figure = figures.scatter(
        dataset, visible_rows(division, _is_open(dataset)), first, second
    )
    alt = f"{short_label(first)} against {short_label(second)}, by target"
    st.plotly_chart(figure, key="scatter", alt=alt)


def series(dataset: Dataset, division: Split) -> None:
    """A few series of each class."""
    rows = visible_rows(division, _is_open(dataset))
    words = "A few series of each class against time, a panel for each channel"
    st.plotly_chart(figures.series(dataset, rows), key="series", alt=words)
    st.caption("At most three series of each class, spread over its rows.")


def visible_rows(division: Split, open_test: bool) -> np.ndarray:
    """Rows that may be drawn: the test rows only if they are open."""
    if not open_test:
        st.caption("The test rows are not drawn: they stay closed.")
    parts = [division.train, division.validation, *([division.test] * open_test)]
    return np.sort(np.concatenate(parts))


def _is_open(dataset: Dataset) -> bool:
    return dataset.open_test or session.current().open_test


def used_by_models(dataset: Dataset) -> None:
    """The matrices, and a choice of those that models may use."""
    rows = [
        {
            "matrix": matrix.name,
            "smallest eigenvalue": matrix.least,
            "diagonal": "the same everywhere" if matrix.even else "varies",
        }
        for matrix in dataset.matrices
    ]
    show_table(rows)
    st.caption(
        "A model compares an input with the training rows only. A smallest eigenvalue "
        "of 0: there is no negative one."
    )
    choice, names = session.current(), [matrix.name for matrix in dataset.matrices]
    if len(names) < 2:
        return
    chosen = st.multiselect(
        "Matrices that models may use",
        names,
        [name for name in names if name not in choice.forbidden],
        short_label,
        key=f"matrices_{dataset.digest}_{hash(choice.forbidden)}",
    )
    forbidden = tuple(name for name in names if name not in chosen)
    if not chosen:
        st.warning("Choose at least one matrix.")
    elif forbidden != choice.forbidden:
        session.choose(replace(choice, forbidden=forbidden))
        if session.current() != choice:
            st.rerun()


@st.fragment
def map_of(dataset: Dataset, division: Split) -> None:
    """One matrix as a map."""
    names = [matrix.name for matrix in used_matrices(dataset)]
    name = st.selectbox("Matrix", names, 0, short_label, key="matrix_map")
    rows = visible_rows(division, _is_open(dataset))
    rows = rows[np.argsort(dataset.y[rows], kind="stable")]
    if len(rows) > MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(int)]
    K = matrix_of(dataset, name)[np.ix_(rows, rows)]
    figure = figures.similarity_map(K, dataset.y[rows], row_titles(dataset, rows))
    words = f"Similarities of {len(rows):,} rows by {short_label(name)}"
    st.plotly_chart(figure, key="similarity_map", alt=words)
    st.caption(f"{words}, sorted by {short_label(dataset.target)}, then by cluster.")


_CHARTS = {
    "Classes": balance,
    "Missing values": missing,
    "Two columns": scatter,
    "Series": series,
    "Map": map_of,
}


def show(dataset: Dataset, division: Split, table: Dataset) -> None:
    """Columns or matrices, the first rows, and charts."""
    names = ["Columns", "Table", "Classes", "Missing values", "Two columns"]
    names += ["Series"] if dataset.channels else []
    if dataset.matrices:
        names = ["Matrices", "Table", "Classes", "Map"]
    job = server_files.statistics(session.current().data, table)
    names += ["All rows"] if job else []
    tabs = dict(zip(names, st.tabs(names), strict=True))
    with tabs[names[0]]:
        _columns(table, division)
    some = time_to_event.answered_frame(dataset).iloc[:200, :200]

    def selected() -> None:
        places = st.session_state["table"].selection.rows
        session.select_rows(dataset, np.array(places, dtype=int))

    with tabs["Table"]:
        select = {"on_select": selected, "selection_mode": "multi-row"}
        show_table(some, hide_index=False, key="table", **select)
        st.caption(
            "At most the first 200 rows and columns. Selected rows light up on Explore."
        )
    for name in names[2:]:
        if name in _CHARTS:
            with tabs[name]:
                _CHARTS[name](dataset, division)
    if job:
        with tabs["All rows"], problems_shown():
            all_rows.show(job)
            all_rows.show_fit(session.resolved(), job.path)


def _columns(dataset: Dataset, division: Split) -> None:
    if dataset.matrices:
        roles.task(dataset)
        roles.outcome(dataset)
        used_by_models(dataset)
        return
    uploads.reading_settings(dataset)
    if dataset.private and session.current().follow_up is None:
        message(
            st.caption,
            f"Target: {short_label(dataset.target)}. If that is not right, "
            'give another column the role "target". A column that says which '
            'rows belong together (a patient, a machine) gets the role "group"; one of '
            'how many rows each row stands for gets "weight"; what is not known yet '
            'where the target is predicted gets "known afterwards".',
        )
        roles.likely_targets(dataset)
    roles.task(dataset)
    roles.outcome(dataset)
    roles.images(dataset)
    uploads.read_as_series(dataset)
    roles.sampling_rate(dataset)
    roles.features_of_series(dataset, division)
    time_to_event.section(dataset)
    roles.roles(dataset)
    cleaning.clean(dataset)
    if not dataset.private:
        st.caption("Roles can be changed in uploaded tables.")
        uploads.copy(dataset)
