"""What am I looking at? Choose or bring a table, give its columns roles, divide it."""

import streamlit as st

from pages.data import editor, openml, tabs, uploads
from pages.state import session
from pages.ui import workspace
from pages.ui.elements import expander, problems_shown
from pages.ui.text import message
from pages.work import cache
from smpcore import Dataset
from smpcore.datasets import Split, answered


def _facts(dataset: Dataset, division: Split) -> None:
    facts = {"Rows": dataset.n_samples, "Features": len(dataset.feature_columns)}
    if dataset.matrices:
        facts = {"Rows": dataset.n_samples, "Matrices": len(dataset.matrices)}
    if dataset.classes is not None:
        facts["Classes"] = len(dataset.classes)
    if dataset.is_image:
        facts |= dict(zip(("Height", "Width"), dataset.sample_shape, strict=False))
    if dataset.channels:
        facts |= {"Channels": len(dataset.channels), "Length": dataset.sample_shape[1]}
    facts |= {"Training": division.train.size, "Validation": division.validation.size}
    facts["Test"] = division.test.size
    if dataset.follow_up is not None:
        facts["No answer"] = int((~answered(dataset)[0]).sum())
    with st.container(horizontal=True):
        for name, count in facts.items():
            st.metric(name, f"{count:,}", width=110)
    message(st.caption, f"{dataset.description} Source: {dataset.source}.".strip())


session.current()
picker = st.container()
with expander("Upload data", "data_upload", "upload"):
    uploads.uploads()
with expander("Fetch from OpenML", "data_openml", "cloud_download"):
    openml.controls()
workspace.await_table(session.current())
workspace.opened_state()
uploads.same_columns()
with picker:
    editor.dataset_picker()
with problems_shown(st.error, stop=True):
    table, drawn = editor.shown()
    choice = session.current()
    dataset = cache.computed.with_question(table, choice.follow_up, choice.two_classes)
    editor.split_controls(dataset, drawn)
    division = editor.division_of(dataset, drawn)
_facts(dataset, division)
tabs.remarks(dataset, division, table)
tabs.show(dataset, division, table)
session.show_address(session.current())
