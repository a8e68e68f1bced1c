"""What holds of the papers, and what is measured here of every table and figure?"""

import streamlit as st

from pages.papers import experiments
from pages.state import session, widget_state
from pages.ui.elements import table
from pages.ui.text import message
from smpcore import METHODS
from smpcore.papers import EXPERIMENTS, by_name, overview

#: Of experiments that are of no single paper.
OWN = "Our own comparisons"

experiments.of_all_papers()
titles = {key: method.title for key, method in METHODS.items()} | {"all": OWN}
papers = [key for key in titles if any(one.paper == key for one in EXPERIMENTS)]
here = session.current().method
here = here if here in papers else None
paper = widget_state.choose_one(
    *(st, "Paper", papers, "papers_paper"),
    buttons=True,
    default=here,
    format_func=titles.get,
)
if paper in METHODS:
    st.caption(METHODS[paper].reference)
chosen = [one for one in EXPERIMENTS if one.paper == paper]
experiments.quotations(chosen)
experiments.forest(chosen)
lines = experiments.from_tables(overview, chosen)
lines = lines.assign(title=[one.title for one in chosen])
shown = lines[["title", "where", "conclusions", "numbers", "status"]]
table(shown.loc[:, (shown != "").any()])
names = {one.name: f"{one.where}: {one.title}" for one in chosen}
name = widget_state.choose_one(
    st, "Experiment", names, "papers_experiment", format_func=names.get
)
experiment = by_name(EXPERIMENTS, name)
st.markdown(f"**{experiment.where}: {experiment.title}**")
experiments.of_one(experiment)
message(st.markdown, experiment.protocol or experiment.impossible)
if not experiment.impossible:
    experiments.show(experiment)
